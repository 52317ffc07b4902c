//! The implementation of [`ExecutionState`].

use core::ops::Range;

use aarch64_cpu::asm::barrier::{SY, dsb};
use aarch64_cpu::asm::wfi;
use aarch64_cpu::registers::{TPIDR_EL0, TPIDRRO_EL0, Writeable};
use abi::ObjectType;
use arch_arm::machine::{Booted, ExecutionState};
use arch_arm::platform::Platform;
use arch_arm::user_timer::InContext;
use kernel::arch::{BootSpace, PhysAddr};
use kernel::boot::{BootAllocator, RootTaskImage};
use kernel::cap::RawCap;
use kernel::cores::Irqs;
use kernel::invoke::{Error, Invocation, Outcome};
use kernel::object::{Thread, ThreadSlot};
use kernel::token::Ptr;
use kernel::{Kernel, Kernels};

use crate::boot::{self, Entered};
use crate::cap::{Capability, FrameCap, FrameSize};
use crate::context::Context;
use crate::kernel_space::{self, KERNEL_WINDOW};
use crate::paging::table::TABLE_BITS;
use crate::spaces::{self, Spaces};
use crate::{Armv8, cache, fpu, initial_space, invoke};

/// The execution state.
#[derive(Debug)]
pub enum Aarch64 {}

impl ExecutionState for Aarch64 {
    type Context = Context;
    type Cap = Capability;
    type Spaces<P: Platform> = Spaces;
    type Entered = Entered;
    #[cfg(feature = "smp")]
    type Remote = spaces::Remote;

    const ASID_CONTROL: Capability = Capability::AsidControl;

    fn boot<P: Platform>(
        kernels: &'static Kernels<Armv8<P>>,
        irqs: Irqs<Armv8<P>>,
        root_task: &RootTaskImage,
        entered: Entered,
    ) -> Booted<Self, P> {
        boot::boot(kernels, irqs, root_task, &entered)
    }

    #[cfg(feature = "smp")]
    fn boot_core<P: Platform>(
        kernels: &'static Kernels<Armv8<P>>,
        number: usize,
    ) -> Booted<Self, P> {
        boot::boot_core(kernels, number)
    }

    #[cfg(feature = "smp")]
    #[inline(always)]
    fn core_local() -> &'static crate::core_local::CoreLocal {
        crate::core_local::own()
    }

    fn wait_for_interrupt() {
        dsb(SY);
        wfi();
    }

    fn clean(range: Range<usize>) {
        cache::clean(range);
    }

    fn flush(data: bool, instructions: bool) {
        cache::flush(data, instructions);
    }

    #[inline(always)]
    fn to_virtual<P: Platform>(address: PhysAddr) -> usize {
        kernel_space::window(address)
    }

    #[inline(always)]
    fn to_physical<P: Platform>(address: usize) -> PhysAddr {
        PhysAddr(address.wrapping_sub(KERNEL_WINDOW))
    }

    fn new_spaces<P: Platform>(_core: usize) -> Spaces {
        Spaces::new(kernel_space::nothing())
    }

    #[inline(always)]
    fn load<P: Platform>(kernel: &mut Kernel<Armv8<P>>, thread: Ptr<Thread<Armv8<P>>>) {
        let root = kernel[thread].slots[ThreadSlot::VSpace as usize].raw();
        let known = kernel[thread].context.space;
        let space = Capability::space(root);
        kernel.objects[thread].context.space = kernel.arch.spaces.switch(space, known);
        let (writable, read_only) = kernel[thread].context.thread_local();
        TPIDR_EL0.set(writable as u64);
        TPIDRRO_EL0.set(read_only as u64);
    }

    #[cfg(feature = "smp")]
    fn perform<P: Platform>(spaces: &mut Spaces, remote: spaces::Remote) {
        spaces.perform(remote);
    }

    fn boot_space<P: Platform>(
        kernel: &mut Kernel<Armv8<P>>,
        boot: &mut BootAllocator<Armv8<P>>,
        range: Range<usize>,
    ) -> BootSpace<Capability> {
        initial_space::make(kernel, boot, range)
    }

    fn boot_map<P: Platform>(
        space: &BootSpace<Capability>,
        address: usize,
        frame: PhysAddr,
        executable: bool,
    ) -> Capability {
        initial_space::map(space, address, frame, executable)
    }

    fn start_fpu() {
        fpu::set_enabled(false);
    }

    #[inline(always)]
    fn set_fpu_enabled(enabled: bool) {
        fpu::set_enabled(enabled);
    }

    unsafe fn save_fpu(context: &mut Context) {
        // SAFETY: by contract.
        unsafe { fpu::fpu_save(&raw mut context.fpu) };
    }

    unsafe fn load_fpu(context: &Context) {
        // SAFETY: by contract.
        unsafe { fpu::fpu_load(&raw const context.fpu) };
    }

    fn saved_timer(context: &mut Context) -> &mut InContext {
        &mut context.timer
    }

    fn object_bits(kind: ObjectType) -> Option<usize> {
        Some(match kind {
            ObjectType::ArmVspace | ObjectType::ArmPageTable => TABLE_BITS,
            kind => FrameSize::of(kind)?.bits(),
        })
    }

    fn is_frame(kind: ObjectType) -> bool {
        FrameSize::of(kind).is_some()
    }

    #[inline(always)]
    fn create_object(kind: ObjectType, address: PhysAddr, device: bool) -> Capability {
        match kind {
            ObjectType::ArmVspace => Capability::VSpace {
                address,
                asid: None,
            },
            ObjectType::ArmPageTable => Capability::PageTable {
                address,
                mapping: None,
            },
            kind => match FrameSize::of(kind) {
                Some(size) => Capability::Frame(FrameCap::new(address, size, device)),
                None => unreachable!("the kernel passes only object types of the architecture"),
            },
        }
    }

    fn signal_cap(number: usize, target: usize) -> Capability {
        Capability::SgiSignal { number, target }
    }

    fn derive(cap: Capability) -> Result<Option<Capability>, Error> {
        invoke::derive(cap)
    }

    fn finalise<P: Platform>(kernel: &mut Kernel<Armv8<P>>, cap: Capability, last: bool) {
        invoke::finalise(kernel, cap, last);
    }

    #[inline(always)]
    fn invoke<P: Platform>(
        kernel: &mut Kernel<Armv8<P>>,
        invocation: &Invocation<Armv8<P>>,
        cap: RawCap,
    ) -> Outcome {
        invoke::invoke(kernel, invocation, cap)
    }
}

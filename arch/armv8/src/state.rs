//! The implementation of [`ExecutionState`].

use core::ops::Range;

use aarch64_cpu::asm::barrier::{SY, dsb};
use aarch64_cpu::asm::wfi;
use aarch64_cpu::registers::{TPIDR_EL0, TPIDRRO_EL0, Writeable};
use abi::Method;
use arch_arm::breakpoints::{InContext as Breakpoints, Registers, Stepping};
use arch_arm::cache::CacheOperation;
use arch_arm::cap::{Format, Root};
use arch_arm::machine::{Booted, ExecutionState};
use arch_arm::platform::Platform;
use arch_arm::psci::{self, Conduit};
use arch_arm::user_timer::InContext;
use kernel::arch::{BootSpace, PhysAddr};
use kernel::boot::{BootAllocator, RootTaskImage};
use kernel::cores::Irqs;
use kernel::invoke::{Error, Invocation, Outcome};
use kernel::object::{Thread, ThreadSlot};
use kernel::sched::Scheduler;
use kernel::token::Ptr;
use kernel::{ExclusiveKernel, Kernels};

use crate::boot::{self, Entered};
use crate::cap::{Capability, FrameCap, Mapping, Words64};
use crate::context::Context;
use crate::invoke::{self, page, page_table};
use crate::kernel_space::{self, KERNEL_WINDOW};
use crate::paging::table::Table;
use crate::spaces::{Asid, Spaces};
use crate::{Armv8, cache, debug, fpu, initial_space};

/// The execution state.
#[derive(Debug)]
pub enum Aarch64 {}

impl ExecutionState for Aarch64 {
    type Context = Context;
    type Format = Words64;
    type Spaces<P: Platform> = Spaces;
    type Entered = Entered;

    const USER_TOP: usize = invoke::USER_TOP;
    const CACHE_PIECE: usize = 4096;
    const LONG_ASSIGNMENT: bool = false;

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
    fn load<P: Platform>(kernel: &mut Scheduler<Armv8<P>>, thread: Ptr<Thread<Armv8<P>>>) {
        let root = kernel[thread].slots[ThreadSlot::VSpace as usize].raw();
        let known = kernel[thread].context.space;
        let space = Words64::decode_space(root);
        kernel.capabilities.objects[thread].context.space = kernel.arch.spaces.switch(space, known);
        let (writable, read_only) = kernel[thread].context.thread_local();
        TPIDR_EL0.set(writable as u64);
        TPIDRRO_EL0.set(read_only as u64);
    }

    fn boot_space<P: Platform>(
        kernel: &mut ExclusiveKernel<Armv8<P>>,
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

    const STEPPING: Stepping = Stepping::Flag;
    const INSTRUCTION_ALIGNMENT: usize = 4;

    fn start_breakpoints() -> bool {
        debug::start()
    }

    fn load_breakpoints(before: &Registers, wanted: &Registers) {
        debug::load(before, wanted);
    }

    fn debug(context: &Context) -> &Breakpoints {
        &context.debug
    }

    fn debug_mut(context: &mut Context) -> &mut Breakpoints {
        &mut context.debug
    }

    fn begin_step(context: &mut Context) {
        context.begin_step();
    }

    fn has_monitor() -> bool {
        boot::conduit() == Conduit::Monitor
    }

    fn call_monitor(words: [usize; 8]) -> [usize; 8] {
        psci::call_monitor(words)
    }

    fn root_operation(method: Method) -> Option<CacheOperation> {
        Some(match method {
            Method::ArmVspaceCleanData => CacheOperation::Clean,
            Method::ArmVspaceInvalidateData => CacheOperation::Invalidate,
            Method::ArmVspaceCleanInvalidateData => CacheOperation::CleanInvalidate,
            Method::ArmVspaceUnifyInstruction => CacheOperation::Unify,
            _ => return None,
        })
    }

    fn maintain_cache(operation: CacheOperation, range: Range<usize>) {
        cache::maintain(operation, range);
    }

    fn mapped_at<P: Platform>(
        kernel: &mut ExclusiveKernel<Armv8<P>>,
        root: Root<Words64>,
        address: usize,
    ) -> Result<Option<(usize, bool)>, Error> {
        invoke::mapped_at(kernel, root, address)
    }

    #[inline(always)]
    fn map_page<P: Platform>(
        kernel: &mut ExclusiveKernel<Armv8<P>>,
        invocation: &Invocation<Armv8<P>>,
        frame: FrameCap,
    ) -> Outcome {
        page::map(kernel, invocation, frame)
    }

    fn cache_range<P: Platform>(
        kernel: &mut ExclusiveKernel<Armv8<P>>,
        frame: &FrameCap,
        offsets: Range<usize>,
    ) -> Result<(Asid, bool, Range<usize>), Error> {
        page::cache_range(&kernel.arch.spaces, frame, offsets)
    }

    #[inline(always)]
    fn unmap_page<P: Platform>(kernel: &mut ExclusiveKernel<Armv8<P>>, frame: &FrameCap) {
        page::unmap(&mut kernel.arch.spaces, frame);
    }

    #[inline(always)]
    fn map_table<P: Platform>(
        kernel: &mut ExclusiveKernel<Armv8<P>>,
        root: Root<Words64>,
        table: PhysAddr,
        address: usize,
        _attributes: usize,
    ) -> Result<usize, Error> {
        page_table::map(kernel, root, table, address)
    }

    unsafe fn clear_table<P: Platform>(table: PhysAddr) {
        // SAFETY: by contract.
        unsafe { Table::at(table) }.clear();
    }

    #[inline(always)]
    fn unmap_table<P: Platform>(
        kernel: &mut ExclusiveKernel<Armv8<P>>,
        address: PhysAddr,
        mapping: Mapping,
    ) {
        page_table::unmap(&mut kernel.arch.spaces, address, mapping);
    }
}

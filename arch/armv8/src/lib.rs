//! The kernel's architecture ARMv8-A in AArch64: exceptions, caches, translation, floating point, and
//! the boot path up to the portable kernel. A platform adds its devices and its memory map
//! ([`Platform`]) and makes the image ([`kernel_image`]).
//!
//! The kernel runs at exception level 1. Section numbers of the *Arm Architecture Reference Manual for
//! A-profile architecture* are those of DDI 0487, issue J.a.
#![no_std]

mod boot;
mod cache;
mod cap;
mod context;
mod core_local;
mod device_tree;
mod fastpath;
mod fpu;
mod image;
mod initial_space;
mod invoke;
mod kernel_space;
mod paging;
mod panic;
mod ranges;
mod spaces;
mod trap;
mod user_access;

use core::ops::Range;

use aarch64_cpu::registers::{TPIDR_EL0, TPIDRRO_EL0, Writeable};
use abi::ObjectType;
use arch_arm::irq_control::{self, HasController};
use arch_arm::lines::Lines;
use arch_arm::timer::Timer;
use arch_arm::user_timer::{self, HasUserTimer, InContext, UserTimer};
use kernel::Kernel;
use kernel::arch::{Arch, BootSpace, Exit, Irq, PhysAddr};
use kernel::boot::BootAllocator;
use kernel::cap::RawCap;
use kernel::invoke::{Error, Invocation, Outcome};
use kernel::object::{Thread, ThreadSlot};
use kernel::time::{Clock, Ticks};
use kernel::token::Ptr;

pub use arch_arm::platform::{Platform, interrupts};
pub use boot::conduit;
pub use cap::{Capability, FrameCap, FrameSize, Mapping};
pub use context::{Context, FpuContext};
pub use fastpath::synchronous_exception;
pub use image::{IrqTable, KernelCell};
pub use kernel_space::{DEVICE_BASE, KERNEL_WINDOW, device_address};
pub use panic::panic;
pub use spaces::Asid;
pub use trap::fatal;

use paging::table::TABLE_BITS;

/// The architecture's state on one core of a platform.
pub struct Armv8<P: Platform> {
    lines: Lines<P::Controller>,
    timer: P::Timer,
    spaces: spaces::Spaces,
    fpu: fpu::Fpu<P>,
    user_timer: UserTimer<Self>,
}

impl<P: Platform> Armv8<P> {
    fn new((controller, timer): (P::Controller, P::Timer)) -> Self {
        Self::with(Lines::new(controller, P::TIMER_INTERRUPT), timer)
    }

    /// The state of a secondary core.
    #[cfg(feature = "smp")]
    fn of(core: usize, (controller, timer): (P::Controller, P::Timer)) -> Self {
        Self::with(Lines::of(core, controller, P::TIMER_INTERRUPT), timer)
    }

    fn with(lines: Lines<P::Controller>, timer: P::Timer) -> Self {
        Self {
            lines,
            timer,
            spaces: spaces::Spaces::new(kernel_space::nothing()),
            fpu: fpu::Fpu::start(),
            user_timer: UserTimer::new(),
        }
    }
}

impl<P: Platform> Arch for Armv8<P> {
    type Context = Context;
    type Cap = Capability;

    const INTERRUPTS: usize = interrupts::<P>();
    const SCHED_CONTROL_FIRST: bool = false;

    fn now(&self) -> Ticks {
        self.timer.now()
    }

    fn set_deadline(&mut self, deadline: Ticks) {
        self.timer.set_deadline(deadline);
    }

    fn clock(&self) -> Clock {
        self.timer.clock()
    }

    #[cfg(feature = "smp")]
    fn interrupt_core(&mut self, core: usize) {
        self.lines.interrupt_core(core);
    }

    fn interrupt_pending(&mut self) -> bool {
        self.lines.is_pending()
    }

    fn mask_interrupt(&mut self, irq: Irq, masked: bool) {
        self.lines.mask(irq, masked);
    }

    fn is_reserved(&self, irq: Irq) -> bool {
        Lines::<P::Controller>::is_reserved(irq, P::TIMER_INTERRUPT)
    }

    fn plain_interrupt(&self, number: usize) -> Result<Irq, Error> {
        irq_control::line::<P::Controller>(number)
    }

    #[inline(always)]
    fn to_virtual(address: PhysAddr) -> usize {
        kernel_space::window(address)
    }

    #[inline(always)]
    fn to_physical(address: usize) -> PhysAddr {
        PhysAddr(address.wrapping_sub(KERNEL_WINDOW))
    }

    fn switch_to(kernel: &mut Kernel<Self>, next: Option<Ptr<Thread<Self>>>) {
        // The idle loop uses no state of threads, so all of it may stay loaded. Only on several cores the
        // owner of the floating-point registers may continue on another core, so they are saved.
        let Some(thread) = next else {
            #[cfg(feature = "smp")]
            {
                fpu::release_owner(kernel);
                core_local::own().set_current(None);
            }
            return;
        };
        let root = kernel[thread].slots[ThreadSlot::VSpace as usize].raw();
        let known = kernel[thread].context.space;
        let space = Capability::space(root);
        kernel.objects[thread].context.space = kernel.arch.spaces.switch(space, known);
        let (writable, read_only) = kernel[thread].context.thread_local();
        TPIDR_EL0.set(writable as u64);
        TPIDRRO_EL0.set(read_only as u64);
        fpu::switch_to(kernel, thread);
        user_timer::switch_to(kernel, thread);
        #[cfg(feature = "smp")]
        core_local::own().set_current(Some(&kernel[thread].context));
    }

    #[cfg(feature = "smp")]
    fn write_back_thread(kernel: &mut Kernel<Self>, thread: Ptr<Thread<Self>>) {
        fpu::release(kernel, thread);
    }

    fn release_thread(kernel: &mut Kernel<Self>, thread: Ptr<Thread<Self>>) {
        fpu::release(kernel, thread);
        user_timer::release(kernel, thread);
    }

    #[cfg(feature = "smp")]
    type Remote = spaces::Remote;

    #[cfg(feature = "smp")]
    fn perform(kernel: &mut Kernel<Self>, remote: spaces::Remote) {
        kernel.arch.spaces.perform(remote);
    }

    #[cfg(feature = "smp")]
    fn holds(&self, thread: Ptr<Thread<Self>>) -> bool {
        self.fpu.owner() == Some(thread) || self.user_timer.holds(thread)
    }

    fn thread_flags_changed(kernel: &mut Kernel<Self>, thread: Ptr<Thread<Self>>) {
        if kernel[thread].fpu_disabled() {
            fpu::release(kernel, thread);
        }
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
    fn create_object(&mut self, kind: ObjectType, address: PhysAddr, device: bool) -> Capability {
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

    fn derive(&mut self, cap: Capability) -> Result<Option<Capability>, Error> {
        invoke::derive(cap)
    }

    fn finalise(kernel: &mut Kernel<Self>, cap: Capability, last: bool) {
        invoke::finalise(kernel, cap, last);
    }

    #[inline(always)]
    fn invoke(kernel: &mut Kernel<Self>, invocation: &Invocation<Self>, cap: RawCap) -> Outcome {
        invoke::invoke(kernel, invocation, cap)
    }

    fn invoke_irq_control(kernel: &mut Kernel<Self>, invocation: &Invocation<Self>) -> Outcome {
        irq_control::invoke(kernel, invocation)
    }

    fn initial_cap(slot: usize) -> Option<Capability> {
        (slot == abi::slots::ASID_CONTROL).then_some(Capability::AsidControl)
    }

    fn boot_space(
        kernel: &mut Kernel<Self>,
        boot: &mut BootAllocator<Self>,
        range: Range<usize>,
    ) -> BootSpace<Capability> {
        initial_space::make(kernel, boot, range)
    }

    fn boot_map(
        &mut self,
        space: &BootSpace<Capability>,
        virtual_address: usize,
        frame: PhysAddr,
        executable: bool,
    ) -> Capability {
        initial_space::map(space, virtual_address, frame, executable)
    }

    fn put_byte(byte: u8) {
        P::put_byte(byte);
    }

    fn exit(exit: Exit) -> ! {
        P::exit(exit);
        panic::halt()
    }

    fn optional_syscall(kernel: &mut Kernel<Self>, call: abi::Syscall) -> bool {
        use abi::registers::{CAP, INFO};
        use kernel::arch::UserContext;

        #[cfg(all(feature = "debug", feature = "smp"))]
        if call == abi::Syscall::DebugSendIpi {
            return irq_control::send_for_debugging(kernel);
        }
        if call != abi::Syscall::BenchmarkFlushCaches || !cfg!(feature = "bench") {
            return false;
        }
        let Some(thread) = kernel.core.current else {
            return false;
        };
        let context = &kernel[thread].context;
        let (instructions, data) = match (context.get(CAP), context.get(INFO)) {
            (0, _) => (true, true),
            (_, kinds) => (kinds & 1 != 0, kinds & 2 != 0),
        };
        cache::flush(data, instructions);
        true
    }

    fn clean_new_memory(address: PhysAddr, bytes: usize) {
        let start = Self::to_virtual(address);
        cache::clean(start..start + bytes);
    }
}

impl<P: Platform> HasController for Armv8<P> {
    type Controller = P::Controller;

    const TIMER: Irq = P::TIMER_INTERRUPT;

    fn lines(&mut self) -> &mut Lines<P::Controller> {
        &mut self.lines
    }

    fn acknowledge_timer(&mut self) {
        self.timer.acknowledge();
    }

    fn signal_cap(number: usize, target: usize) -> Capability {
        Capability::SgiSignal { number, target }
    }
}

impl<P: Platform> HasUserTimer for Armv8<P> {
    type Timer = P::Timer;

    fn user_timer(&mut self) -> (&mut P::Timer, &mut UserTimer<Self>) {
        (&mut self.timer, &mut self.user_timer)
    }

    fn saved_timer(context: &mut Context) -> &mut InContext {
        &mut context.timer
    }
}

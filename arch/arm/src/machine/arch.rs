//! The implementation of the portable kernel's architecture traits.

use core::ops::Range;

use abi::ObjectType;
use kernel::arch::{Arch, BootSpace, Exit, Irq, PhysAddr, UserContext};
use kernel::boot::BootAllocator;
use kernel::cap::RawCap;
use kernel::invoke::{Error, Invocation, Outcome};
use kernel::object::{Breakpoint, BreakpointNumbers, Thread};
use kernel::sched::Scheduler;
use kernel::time::{Clock, Ticks};
use kernel::token::Ptr;
use kernel::{ExclusiveKernel, Kernel};

use super::{ExecutionState, Machine, debug, fpu, invoke, panic};
use crate::cap::{Capability, Format, Size};
use crate::irq_control::{self, HasController};
use crate::lines::Lines;
use crate::platform::{Platform, interrupts};
use crate::spaces::{AddressSpaces, Remote};
use crate::timer::Timer;
use crate::user_timer::{self, HasUserTimer, InContext, UserTimer};

impl<V: ExecutionState, P: Platform> Arch for Machine<V, P> {
    type Context = V::Context;
    type Cap = Capability<V::Format>;

    const INTERRUPTS: usize = interrupts::<P>();
    const SCHED_CONTROL_FIRST: bool = false;

    fn now(&self) -> Ticks {
        self.timer.now()
    }

    fn set_deadline(&mut self, deadline: Ticks) {
        self.timer.set_deadline(deadline);
    }

    fn clock(&self) -> &Clock {
        self.timer.clock()
    }

    fn interrupt_pending(&mut self) -> bool {
        self.lines.is_pending()
    }

    #[cfg(feature = "smp")]
    fn other_interrupt_pending(&mut self) -> bool {
        self.lines.is_pending_beside(P::DATA.timer_interrupt)
    }

    fn mask_interrupt(&mut self, irq: Irq, masked: bool) {
        self.lines.mask(irq, masked);
    }

    fn is_reserved(&self, irq: Irq) -> bool {
        Lines::<P::Controller>::is_reserved(irq, P::DATA.timer_interrupt)
    }

    fn plain_interrupt(&self, number: usize) -> Result<Irq, Error> {
        irq_control::line::<P::Controller>(number)
    }

    #[inline(always)]
    fn to_virtual(address: PhysAddr) -> usize {
        V::to_virtual::<P>(address)
    }

    #[inline(always)]
    fn to_physical(address: usize) -> PhysAddr {
        V::to_physical::<P>(address)
    }

    fn switch_to(kernel: &mut Scheduler<Self>, next: Option<Ptr<Thread<Self>>>) {
        // The idle loop uses no state of threads, so all of it may stay loaded. On several cores, though, the
        // owner of the floating-point registers may continue on another core, so they are saved.
        let Some(thread) = next else {
            #[cfg(feature = "smp")]
            {
                fpu::release_owner(kernel);
                V::core_local().set_current(None);
            }
            return;
        };
        V::load(kernel, thread);
        fpu::switch_to(kernel, thread);
        user_timer::switch_to(kernel, thread);
        debug::switch_to(kernel, thread);
        #[cfg(feature = "smp")]
        V::core_local().set_current(Some(Thread::context_of(thread)));
    }

    type Remote = Remote<V::Format>;

    #[cfg(feature = "smp")]
    fn interrupt_core(&mut self, core: usize) {
        self.lines.interrupt_core(core);
    }

    fn perform(kernel: &mut Scheduler<Self>, remote: Remote<V::Format>) {
        kernel.arch.spaces.perform(remote);
    }

    fn holds(&self, thread: Ptr<Thread<Self>>) -> bool {
        self.fpu.owner == Some(thread) || self.user_timer.holds(thread)
    }

    fn write_back_thread(kernel: &mut Scheduler<Self>, thread: Ptr<Thread<Self>>) {
        fpu::release(kernel, thread);
    }

    fn release_thread(kernel: &mut Scheduler<Self>, thread: Ptr<Thread<Self>>) {
        fpu::release(kernel, thread);
        user_timer::release(kernel, thread);
    }

    fn thread_flags_changed(kernel: &mut Scheduler<Self>, thread: Ptr<Thread<Self>>) {
        if kernel[thread].fpu_disabled() {
            fpu::release(kernel, thread);
        }
    }

    fn breakpoint_numbers(&self) -> Option<BreakpointNumbers> {
        debug::numbers(self)
    }

    fn set_breakpoint(
        kernel: &mut Scheduler<Self>,
        thread: Ptr<Thread<Self>>,
        number: usize,
        breakpoint: Option<Breakpoint>,
    ) -> Result<(), Error> {
        debug::set(kernel, thread, number, breakpoint)
    }

    fn breakpoint(
        kernel: &Scheduler<Self>,
        thread: Ptr<Thread<Self>>,
        number: usize,
    ) -> Option<Breakpoint> {
        debug::get(kernel, thread, number)
    }

    fn step(
        kernel: &mut Scheduler<Self>,
        thread: Ptr<Thread<Self>>,
        number: Option<usize>,
        instructions: usize,
    ) -> Result<bool, Error> {
        debug::step(kernel, thread, number, instructions)
    }

    fn object_bits(kind: ObjectType) -> Option<usize> {
        Capability::<V::Format>::object_bits(kind)
    }

    fn is_frame(kind: ObjectType) -> bool {
        <V::Format as Format>::Size::of(kind).is_some()
    }

    #[inline(always)]
    fn create_object(
        &mut self,
        kind: ObjectType,
        address: PhysAddr,
        device: bool,
    ) -> Capability<V::Format> {
        Capability::create(kind, address, device)
    }

    fn finalise(kernel: &mut ExclusiveKernel<Self>, cap: Capability<V::Format>, last: bool) {
        invoke::finalise(kernel, cap, last);
    }

    #[inline(always)]
    fn invoke(
        kernel: &mut ExclusiveKernel<Self>,
        invocation: &Invocation<Self>,
        cap: RawCap,
    ) -> Outcome {
        invoke::invoke(kernel, invocation, cap)
    }

    fn invoke_irq_control(
        kernel: &mut ExclusiveKernel<Self>,
        invocation: &Invocation<Self>,
    ) -> Outcome {
        irq_control::invoke(kernel, invocation)
    }

    fn initial_cap(slot: usize) -> Option<Capability<V::Format>> {
        match slot {
            abi::slots::ASID_CONTROL => Some(Capability::AsidControl),
            abi::slots::SMC if abi::config::SMC && V::has_monitor() => {
                Some(Capability::Smc { badge: 0 })
            }
            _ => None,
        }
    }

    fn boot_space(
        kernel: &mut ExclusiveKernel<Self>,
        boot: &mut BootAllocator<Self>,
        range: Range<usize>,
    ) -> BootSpace<Capability<V::Format>> {
        V::boot_space(kernel, boot, range)
    }

    fn boot_map(
        &mut self,
        space: &BootSpace<Capability<V::Format>>,
        virtual_address: usize,
        frame: PhysAddr,
        executable: bool,
    ) -> Capability<V::Format> {
        V::boot_map::<P>(space, virtual_address, frame, executable)
    }

    fn put_byte(byte: u8) {
        P::put_byte(byte);
    }

    fn exit(exit: Exit) -> ! {
        P::exit(exit);
        panic::halt::<V>()
    }

    fn optional_syscall(kernel: &mut Kernel<Self>, call: abi::Syscall) -> bool {
        use abi::registers::{CAP, INFO};
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
        V::flush(data, instructions);
        true
    }

    fn clean_new_memory(address: PhysAddr, bytes: usize) {
        let start = Self::to_virtual(address);
        V::clean(start..start + bytes);
    }
}

impl<V: ExecutionState, P: Platform> HasController for Machine<V, P> {
    type Controller = P::Controller;

    const TIMER: Irq = P::DATA.timer_interrupt;

    fn lines(&mut self) -> &mut Lines<P::Controller> {
        &mut self.lines
    }

    fn acknowledge_timer(&mut self) {
        self.timer.acknowledge();
    }

    fn signal_cap(number: usize, target: usize) -> Capability<V::Format> {
        Capability::SgiSignal { number, target }
    }
}

impl<V: ExecutionState, P: Platform> HasUserTimer for Machine<V, P> {
    type Timer = P::Timer;

    fn user_timer(&mut self) -> (&mut P::Timer, &mut UserTimer<Self>) {
        (&mut self.timer, &mut self.user_timer)
    }

    fn saved_timer(context: &mut V::Context) -> &mut InContext {
        V::saved_timer(context)
    }
}

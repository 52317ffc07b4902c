//! The implementation of the portable kernel's architecture traits.

use core::ops::Range;

use aarch32_cpu::register::{SysRegWrite, Tpidruro, Tpidrurw};
use abi::ObjectType;
use kernel::Kernel;
use kernel::arch::{Arch, ArchCap, BootSpace, Exit, Irq, PhysAddr, UserContext};
use kernel::boot::BootAllocator;
use kernel::cap::RawCap;
use kernel::invoke::{Answer, Error, Invocation, Outcome};
use kernel::object::{Thread, ThreadSlot};
use kernel::time::{Clock, Ticks};
use kernel::token::Ptr;

#[cfg(feature = "smp")]
use super::core_local;
use super::{KERNEL_BASE, Machine, Version, fpu, panic, translation};
#[cfg(feature = "smp")]
use crate::aarch32::Remote;
use crate::aarch32::{
    self, Aarch32, CacheOperation, Capability, Context, FrameSize, HardwareAsid, Spaces,
};
use crate::irq_control::{self, HasController};
use crate::lines::Lines;
use crate::platform::{Platform, interrupts};
use crate::timer::Timer;
use crate::user_timer::{self, HasUserTimer, InContext, UserTimer};

impl<V: Version, P: Platform> Arch for Machine<V, P> {
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
        address
            .0
            .wrapping_sub(P::RAM.start.0)
            .wrapping_add(KERNEL_BASE)
    }

    #[inline(always)]
    fn to_physical(address: usize) -> PhysAddr {
        PhysAddr(
            address
                .wrapping_sub(KERNEL_BASE)
                .wrapping_add(P::RAM.start.0),
        )
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
        kernel.objects[thread].context.space = kernel.arch.spaces.switch(root, known);
        let (writable, read_only) = kernel[thread].context.thread_local();
        // SAFETY: only users use these registers.
        unsafe {
            <Tpidrurw as SysRegWrite>::write_raw(writable as u32);
            <Tpidruro as SysRegWrite>::write_raw(read_only as u32);
        }
        fpu::switch_to(kernel, thread);
        user_timer::switch_to(kernel, thread);
        #[cfg(feature = "smp")]
        core_local::own().set_current(Some(&kernel[thread].context));
    }

    #[cfg(feature = "smp")]
    type Remote = Remote;

    #[cfg(feature = "smp")]
    fn perform(kernel: &mut Kernel<Self>, remote: Remote) {
        kernel.arch.spaces.perform(remote);
    }

    #[cfg(feature = "smp")]
    fn holds(&self, thread: Ptr<Thread<Self>>) -> bool {
        self.fpu.owner() == Some(thread) || self.user_timer.holds(thread)
    }

    #[cfg(feature = "smp")]
    fn write_back_thread(kernel: &mut Kernel<Self>, thread: Ptr<Thread<Self>>) {
        fpu::release(kernel, thread);
    }

    fn release_thread(kernel: &mut Kernel<Self>, thread: Ptr<Thread<Self>>) {
        fpu::release(kernel, thread);
        user_timer::release(kernel, thread);
    }

    fn thread_flags_changed(kernel: &mut Kernel<Self>, thread: Ptr<Thread<Self>>) {
        if kernel[thread].fpu_disabled() {
            fpu::release(kernel, thread);
        }
    }

    fn object_bits(kind: ObjectType) -> Option<usize> {
        aarch32::object_bits(kind)
    }

    fn is_frame(kind: ObjectType) -> bool {
        FrameSize::of(kind).is_some()
    }

    #[inline(always)]
    fn create_object(&mut self, kind: ObjectType, address: PhysAddr, device: bool) -> Capability {
        aarch32::create_object(kind, address, device)
    }

    fn derive(&mut self, cap: Capability) -> Result<Option<Capability>, Error> {
        aarch32::derive(cap)
    }

    fn finalise(kernel: &mut Kernel<Self>, cap: Capability, last: bool) {
        aarch32::finalise(kernel, cap, last);
    }

    #[inline(always)]
    fn invoke(kernel: &mut Kernel<Self>, invocation: &Invocation<Self>, cap: RawCap) -> Outcome {
        if let Capability::SgiSignal { number, target } = Capability::decode(cap) {
            kernel.arch.lines.send_signal(number, target);
            return Ok(Answer::Nothing);
        }
        aarch32::invoke(kernel, invocation, cap)
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
        aarch32::boot_space(kernel, boot, range)
    }

    fn boot_map(
        &mut self,
        space: &BootSpace<Capability>,
        virtual_address: usize,
        frame: PhysAddr,
        executable: bool,
    ) -> Capability {
        aarch32::boot_map::<Self>(space, virtual_address, frame, executable)
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

impl<V: Version, P: Platform> Aarch32 for Machine<V, P> {
    fn spaces(&mut self) -> &mut Spaces<Self> {
        &mut self.spaces
    }

    fn table_base(directory: PhysAddr) -> usize {
        directory.0 | V::WALK
    }

    #[inline(always)]
    fn install(base: usize, asid: HardwareAsid, without: usize) {
        translation::install::<V>(base, asid, without);
    }

    fn clean_table(range: Range<usize>) {
        V::clean_table(range);
    }

    #[cfg(feature = "smp")]
    fn on_other_cores(kernel: &mut Kernel<Self>, remote: Remote) {
        kernel.on_other_cores(remote);
    }

    #[cfg(feature = "smp")]
    fn invalidate_space_locally(asid: HardwareAsid) {
        translation::invalidate_space_locally::<V>(asid);
    }

    fn invalidate_page(asid: HardwareAsid, address: usize) {
        translation::invalidate_page::<V>(asid, address);
    }

    fn invalidate_space(asid: HardwareAsid) {
        translation::invalidate_space::<V>(asid);
    }

    fn maintain_cache(operation: CacheOperation, range: Range<usize>) {
        V::maintain(operation, range);
    }
}

impl<V: Version, P: Platform> HasController for Machine<V, P> {
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

impl<V: Version, P: Platform> HasUserTimer for Machine<V, P> {
    type Timer = P::Timer;

    fn user_timer(&mut self) -> (&mut P::Timer, &mut UserTimer<Self>) {
        (&mut self.timer, &mut self.user_timer)
    }

    fn saved_timer(context: &mut Context) -> &mut InContext {
        &mut context.timer
    }
}

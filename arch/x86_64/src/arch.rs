//! The implementation of the portable kernel's architecture trait.

use core::ops::Range;

use abi::config::HARDWARE_DEBUG;
use abi::{ObjectType, Syscall, slots};
use kernel::arch::{Arch, ArchCap, BootSpace, Exit, Irq, PhysAddr};
use kernel::boot::BootAllocator;
use kernel::cap::{Cap as AnyCap, RawCap};
use kernel::invoke::{Error, Invocation, Outcome};
use kernel::object::{Breakpoint, BreakpointNumbers, Thread, ThreadSlot};
use kernel::sched::{CORES, Scheduler};
use kernel::time::{Clock, Ticks};
use kernel::token::Ptr;
use kernel::{ExclusiveKernel, Kernel};

use crate::cap::{self, Cap};
use crate::context::{Context, KnownSpace};
use crate::paging::{USER_TOP, tlb, window};
use crate::{
    Platform, X86_64, bases, debug, fpu, irq_control, lines, optional, ports, space, timer,
};

impl<P: Platform> Arch for X86_64<P> {
    type Context = Context;
    type Cap = Cap;

    const INTERRUPTS: usize = lines::COUNT;
    const SCHED_CONTROL_FIRST: bool = true;
    /// Time stamp counters are reset together with the processors, and invariant (Intel SDM vol. 3, "Time-Stamp Counter").
    const IS_CLOCK_SHARED: bool = false;

    fn now(&self) -> Ticks {
        Ticks(timer::time_stamp())
    }

    fn set_deadline(&mut self, deadline: Ticks) {
        self.timer.arm(&mut self.local_apic, deadline);
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn interrupt_pending(&mut self) -> bool {
        self.local_apic.is_pending()
    }

    /// The request register keeps an interrupt of the timer until it is taken.
    fn other_interrupt_pending(&mut self) -> bool {
        self.local_apic.is_pending_beside_timer()
    }

    fn mask_interrupt(&mut self, irq: Irq, masked: bool) {
        self.lines.set_masked(irq, masked);
    }

    fn is_reserved(&self, irq: Irq) -> bool {
        lines::is_reserved(irq)
    }

    /// I/O APICs have no natural numbering of interrupts, so the plain method is refused.
    fn plain_interrupt(&self, _number: usize) -> Result<Irq, Error> {
        Err(Error::IllegalOperation)
    }

    fn to_virtual(address: PhysAddr) -> usize {
        window::to_virtual(address)
    }

    fn to_physical(address: usize) -> PhysAddr {
        window::to_physical(address)
    }

    #[inline]
    fn switch_to(kernel: &mut Scheduler<Self>, next: Option<Ptr<Thread<Self>>>) {
        let Some(next) = next else {
            // The idle loop needs no state of threads, so all of it stays loaded for its owner. On several
            // cores, though, the owner may continue on another core.
            if CORES > 1 {
                write_back(kernel);
            }
            return kernel.arch.core.set_current(None);
        };
        switch_space(kernel, next);
        load_bases(kernel, next);
        fpu::switch_to(kernel, next);
        if HARDWARE_DEBUG {
            debug::switch_to(kernel, next);
        }
        let registers = Context::registers_of(Thread::context_of(next));
        kernel.arch.core.set_current(Some(registers));
    }

    fn release_thread(kernel: &mut Scheduler<Self>, thread: Ptr<Thread<Self>>) {
        fpu::release(kernel, thread);
        if kernel.arch.bases_of == Some(thread) {
            kernel.capabilities.objects[thread].context.save_bases();
            kernel.arch.bases_of = None;
        }
    }

    type Remote = space::Remote;

    #[cfg(feature = "smp")]
    fn interrupt_core(&mut self, core: usize) {
        self.interrupt(core);
    }

    fn perform(kernel: &mut Scheduler<Self>, remote: space::Remote) {
        space::perform(kernel, remote);
    }

    fn holds(&self, thread: Ptr<Thread<Self>>) -> bool {
        self.bases_of == Some(thread) || self.fpu.owner() == Some(thread)
    }

    fn thread_flags_changed(kernel: &mut Scheduler<Self>, thread: Ptr<Thread<Self>>) {
        if kernel[thread].fpu_disabled() {
            fpu::release(kernel, thread);
        }
        if kernel.core.current == Some(thread) {
            fpu::switch_to(kernel, thread);
        }
    }

    fn breakpoint_numbers(&self) -> Option<BreakpointNumbers> {
        Some(BreakpointNumbers {
            instruction: 0..debug::COUNT,
            data: 0..debug::COUNT,
            address_end: USER_TOP,
        })
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
        debug::get(&kernel[thread].context.debug, number)
    }

    fn step(
        kernel: &mut Scheduler<Self>,
        thread: Ptr<Thread<Self>>,
        _number: Option<usize>,
        instructions: usize,
    ) -> Result<bool, Error> {
        debug::step(kernel, thread, instructions);
        Ok(false)
    }

    fn object_bits(kind: ObjectType) -> Option<usize> {
        cap::object_bits(kind)
    }

    fn is_frame(kind: ObjectType) -> bool {
        cap::is_frame(kind)
    }

    #[inline(always)]
    fn create_object(&mut self, kind: ObjectType, address: PhysAddr, device: bool) -> Cap {
        cap::create(kind, address, device)
    }

    fn finalise(kernel: &mut ExclusiveKernel<Self>, cap: Cap, last: bool) {
        space::finalise(kernel, cap, last);
    }

    #[inline(always)]
    fn invoke(
        kernel: &mut ExclusiveKernel<Self>,
        invocation: &Invocation<Self>,
        cap: RawCap,
    ) -> Outcome {
        match Cap::decode(cap) {
            Cap::Frame(_) => space::invoke_frame(kernel, invocation, cap),
            Cap::Table(cap) => space::invoke_table(kernel, invocation, cap),
            Cap::AsidControl => space::invoke_control(kernel, invocation),
            Cap::AsidPool(cap) => space::invoke_pool(kernel, invocation, cap),
            Cap::PortControl => ports::invoke_control(kernel, invocation),
            Cap::Ports(cap) => ports::invoke(kernel, invocation, cap),
            Cap::Root(_) | Cap::Inert(_) => Err(Error::IllegalOperation.into()),
        }
    }

    fn invoke_irq_control(
        kernel: &mut ExclusiveKernel<Self>,
        invocation: &Invocation<Self>,
    ) -> Outcome {
        irq_control::invoke(kernel, invocation)
    }

    fn initial_cap(slot: usize) -> Option<Cap> {
        match slot {
            slots::ASID_CONTROL => Some(Cap::AsidControl),
            slots::IO_PORT_CONTROL => Some(Cap::PortControl),
            _ => None,
        }
    }

    fn boot_space(
        kernel: &mut ExclusiveKernel<Self>,
        boot: &mut BootAllocator<Self>,
        range: Range<usize>,
    ) -> BootSpace<Cap> {
        space::boot_space(kernel, boot, range)
    }

    fn boot_map(
        &mut self,
        space: &BootSpace<Cap>,
        virtual_address: usize,
        frame: PhysAddr,
        _executable: bool,
    ) -> Cap {
        space::boot_map(space, virtual_address, frame)
    }

    fn put_byte(byte: u8) {
        P::put_byte(byte);
    }

    fn exit(exit: Exit) -> ! {
        P::exit(exit)
    }

    fn optional_syscall(kernel: &mut Kernel<Self>, call: Syscall) -> bool {
        optional::handle(kernel, call)
    }
}

/// The root page table of a thread, if its address space still has its identifier.
fn root_of<P: Platform>(
    kernel: &Scheduler<X86_64<P>>,
    thread: Ptr<Thread<X86_64<P>>>,
) -> Option<PhysAddr> {
    let AnyCap::Arch(Cap::Root(root)) = kernel[thread].cap(ThreadSlot::VSpace) else {
        return None;
    };
    let current = kernel.arch.asids.root(&kernel.objects, root.asid?);
    current.filter(|current| *current == root.address)
}

/// Switches to the address space of a thread. The result of the last lookup is reused, unless the thread
/// has another address space, or any address space has lost its identifier since.
#[inline(always)]
fn switch_space<P: Platform>(kernel: &mut Scheduler<X86_64<P>>, next: Ptr<Thread<X86_64<P>>>) {
    let cap = kernel[next].slots[ThreadSlot::VSpace as usize].raw();
    let (space, generation) = (cap.first_word(), kernel.arch.asids.generation());
    let known = kernel[next].context.space;
    if known.space == space && known.generation == generation {
        return kernel.arch.activate(known.root);
    }
    let root = root_of(kernel, next);
    if let Some(root) = root {
        kernel.capabilities.objects[next].context.space = KnownSpace {
            space,
            generation,
            root,
        };
    }
    let kernel_root = kernel.arch.kernel_space.root();
    kernel.arch.activate(root.unwrap_or(kernel_root));
}

/// Loads a thread's FS and GS bases into the registers, and saves the previous ones to the context of
/// their owner.
fn load_bases<P: Platform>(kernel: &mut Scheduler<X86_64<P>>, next: Ptr<Thread<X86_64<P>>>) {
    if Ptr::is_same(kernel.arch.bases_of, Some(next)) {
        return;
    }
    let before = kernel.arch.bases_of.replace(next);
    if bases::has_instructions()
        && let Some(owner) = before
    {
        let bases = kernel.capabilities.objects[next].context.take_bases();
        let bases = bases::exchange(bases);
        kernel.capabilities.objects[owner].context.put_bases(bases);
        return;
    }
    if let Some(owner) = before {
        kernel.capabilities.objects[owner].context.save_bases();
    }
    bases::clear_selectors();
    kernel.capabilities.objects[next].context.load_bases();
}

/// Saves the register state of threads that is loaded.
fn write_back<P: Platform>(kernel: &mut Scheduler<X86_64<P>>) {
    let arch = &kernel.arch;
    for thread in [arch.bases_of, arch.fpu.owner()].into_iter().flatten() {
        X86_64::release_thread(kernel, thread);
    }
}

impl<P: Platform> X86_64<P> {
    /// Switches to a root page table.
    #[inline(always)]
    fn activate(&mut self, root: PhysAddr) {
        if self.active_root != root {
            self.active_root = root;
            #[cfg(feature = "harden-spectre")]
            crate::speculation::invalidate_branch_predictor();
            #[cfg(feature = "harden-meltdown")]
            if self.core.set_user_root(root) {
                return;
            }
            // SAFETY: the kernel's half was installed when the address space got its identifier; its
            // finaliser switches to another root before the root is deleted.
            unsafe { tlb::load_root(root) };
        }
    }

    /// Switches to the page tables without a user half.
    pub(crate) fn deactivate(&mut self) {
        self.activate(self.kernel_space.root());
    }
}

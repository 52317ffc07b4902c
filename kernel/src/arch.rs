//! The only interface to the hardware.
//!
//! The kernel is generic over [`Arch`] and monomorphised once per platform. An implementation is a value: it
//! is part of the kernel's state and holds the architecture's state (address-space identifiers, owner of the
//! floating-point unit, ...), so a simulator can implement it with a clock and interrupts of its own.

use core::ops::Range;

use abi::{ObjectType, Rights};

use crate::boot::BootAllocator;
use crate::invoke::{Error, Invocation, Outcome};
use crate::object::{Breakpoint, BreakpointNumbers, Thread};
use crate::sched::Scheduler;
use crate::slot::RawCap;
use crate::time::{Clock, Ticks};
use crate::token::Ptr;
use crate::{ExclusiveKernel, Kernel};

/// A physical address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct PhysAddr(pub usize);

/// Number of an interrupt line, in the numbering of the user interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Irq(pub usize);

/// The source of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// The core's timer.
    Timer,
    /// An interrupt line for users.
    Line(Irq),
    /// An IPI: another core has remotely modified this core, or makes a remote call.
    Core,
    /// A spurious interrupt: there is nothing to handle.
    Spurious,
}

/// The saved registers of a thread, floating-point state included.
///
/// Registers are named by their index in [`abi::registers`]. A context has two program counters: the
/// *restart* address, that of the instruction which entered the kernel, and the *next* one, where the thread
/// continues when its system call is complete. The architecture's trap entry sets both: for a system call the
/// restart address is that of the system-call instruction and the next one is the address after it; for
/// exceptions and interrupts both are the interrupted instruction.
pub trait UserContext: Sized {
    /// The context of a new thread: user mode, interrupts enabled, everything else zero.
    fn new() -> Self;

    /// Register `index`; [`abi::registers::PC`] is the restart address.
    fn get(&self, index: usize) -> usize;

    /// Sets register `index` to a value from user mode, sanitised: flags keep the processor in user mode with
    /// interrupts enabled, addresses are canonical. [`abi::registers::PC`] sets both program counters.
    fn set(&mut self, index: usize, value: usize);

    /// Sets the base of thread-local storage, for `TCB_SetTLSBase` and the system call `SetTLSBase`. A base
    /// that the processor does not accept changes nothing.
    fn set_tls_base(&mut self, base: usize) {
        self.set(abi::registers::TLS_BASE, base);
    }

    /// Sets a general register of a system call's result (badge, message information, message words)
    /// without any check.
    fn set_result(&mut self, index: usize, value: usize);

    /// The address after the last system call.
    fn next_pc(&self) -> usize;

    /// The thread executes its system call, or faulting instruction, again, or the instruction at an address that a user
    /// has written to [`abi::registers::PC`]: the next address is set to the restart address.
    fn restart(&mut self);

    /// A thread that was stopped while running continues at its next instruction when it restarts: the
    /// restart address is set to the next address.
    fn complete_system_call(&mut self);

    /// The thread continues at `address`; the restart address stays. Undoes [`UserContext::restart`].
    fn set_next_pc(&mut self, address: usize);
}

/// The frame of a frame capability, as the kernel needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Physical address.
    pub address: PhysAddr,
    /// log2 of the size.
    pub bits: usize,
    /// Device memory: the kernel never touches it.
    pub device: bool,
    /// What users can do with the frame through the capability.
    pub rights: Rights,
}

/// A capability to an object of the architecture: page tables, frames, ASIDs, I/O ports.
pub trait ArchCap: Copy + core::fmt::Debug + PartialEq {
    /// Packs the capability; the tag is odd.
    fn encode(self) -> RawCap;

    /// Unpacks a capability that [`ArchCap::encode`] packed.
    fn decode(raw: RawCap) -> Self;

    /// Physical memory that the object occupies, as start and log2 of the size; `None` for objects
    /// without memory (ports, controls).
    fn memory(self) -> Option<(PhysAddr, usize)>;

    /// Whether a capability of this kind, if original, is the parent of `other`: the same object, or
    /// a range that contains the other's.
    fn same_region(self, other: Self) -> bool;

    /// Whether both refer to the same object, so that neither is the last capability to it.
    fn same_object(self, other: Self) -> bool;

    /// Whether `self`, placed after `parent` in the derivation tree, starts a subtree of its own and becomes
    /// an original capability, as for I/O ports issued from their control.
    fn is_issued_from(self, _parent: Self) -> bool {
        false
    }

    /// Whether this capability was issued from `IRQControl` (software-generated interrupts on Arm).
    fn is_issued_from_irq_control(self) -> bool {
        false
    }

    /// The frame, if this is a frame capability.
    fn frame(self) -> Option<Frame>;

    /// The same for a packed capability, of any kind. IPC finds message buffers with it.
    #[inline(always)]
    fn packed_frame(raw: RawCap) -> Option<Frame> {
        if raw.tag() & 1 == 0 {
            return None;
        }
        Self::decode(raw).frame()
    }

    /// Whether this is the root of an address space with an identifier, so that threads can use it.
    fn is_address_space(self) -> bool;

    /// The capability that a copy of this one becomes; `Ok(None)` if it cannot be copied.
    ///
    /// # Errors
    /// Those that the ABI defines (page tables that are not mapped).
    fn derive(self) -> Result<Option<Self>, Error>;

    /// The capability with its rights restricted to `rights`.
    fn mask_rights(self, rights: Rights) -> Self;

    /// The capability with new data (badge, guard or device identifier), `None` if the data is not valid. Most
    /// kinds ignore it. `moved`: the capability is moved, not copied.
    fn update_data(self, _moved: bool, _data: usize) -> Option<Self> {
        Some(self)
    }
}

/// What the architecture returns about the initial address space at boot.
#[derive(Clone, Copy, Debug)]
pub struct BootSpace<C> {
    /// Root of the initial address space, with ASID 1.
    pub root: C,
    /// The initial ASID pool.
    pub asid_pool: C,
}

/// The exit status of a run, which [`Arch::exit`] reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The run succeeded.
    Success,
    /// The system or the kernel failed.
    Failure,
}

/// An architecture, together with the platform it runs on.
pub trait Arch: Sized + 'static {
    /// Saved registers of a thread.
    type Context: UserContext;
    /// Capabilities of the architecture.
    type Cap: ArchCap;

    /// Number of interrupt lines that users can request, numbered from 0.
    const INTERRUPTS: usize;
    /// Whether SchedControl capabilities come before the paging structures among the initial slots
    /// (x86) or after the extra boot information (Arm).
    const SCHED_CONTROL_FIRST: bool;

    /// The largest amount of work of a long operation between two preemption points, roughly in instructions.
    /// Tests set it lower, to preempt operations everywhere.
    const WORK_PER_PREEMPTION_POINT: usize = 1000;

    /// Whether fast paths read the clock even where they need not: then they charge the same ticks as the
    /// slow path, and tests can compare both.
    fn reads_clock_in_fast_paths(&self) -> bool {
        false
    }

    /// Whether the kernel takes its fast paths.
    fn has_fast_paths(&self) -> bool {
        true
    }

    // ---- time

    /// Whether all cores read one counter. Otherwise each has its own; all start at one time, and have one rate.
    const IS_CLOCK_SHARED: bool = true;

    /// The time since boot. Never decreases.
    fn now(&self) -> Ticks;
    /// Programs this core's timer. A deadline that has passed fires immediately.
    fn set_deadline(&mut self, deadline: Ticks);
    /// The relation of ticks to microseconds.
    fn clock(&self) -> &Clock;

    // ---- interrupts

    /// Whether an interrupt is pending: called at preemption points.
    fn interrupt_pending(&mut self) -> bool;
    /// The same while the timer is off, in kernels for several cores; an interrupt from before does not count.
    fn other_interrupt_pending(&mut self) -> bool {
        self.interrupt_pending()
    }
    /// Masks or unmasks a line.
    fn mask_interrupt(&mut self, irq: Irq, masked: bool);
    /// Whether the kernel reserves this line for itself.
    fn is_reserved(&self, irq: Irq) -> bool;
    /// Handles the plain `IRQControl_Get`, which some platforms refuse or number differently: the line to which
    /// `number` is mapped.
    ///
    /// # Errors
    /// The error for the caller.
    fn plain_interrupt(&self, number: usize) -> Result<Irq, Error>;

    // ---- memory

    /// The kernel's address of RAM at a physical address.
    fn to_virtual(address: PhysAddr) -> usize;
    /// The physical address of RAM at one of the kernel's addresses.
    fn to_physical(address: usize) -> PhysAddr;

    // ---- threads

    /// Makes `next` (`None`: the idle loop) the thread that this core returns to: address space, thread-local
    /// storage, floating point. Called once at the end of each kernel entry in which the current thread, or
    /// its address space or registers, changed.
    fn switch_to(kernel: &mut Scheduler<Self>, next: Option<Ptr<Thread<Self>>>);
    /// The thread is being deleted, or moves to another core: write back everything that this core's
    /// registers hold of it and forget it.
    fn release_thread(kernel: &mut Scheduler<Self>, thread: Ptr<Thread<Self>>);
    /// An invocation has set or cleared [`abi::thread_flags::FPU_DISABLED`] of a thread.
    fn thread_flags_changed(kernel: &mut Scheduler<Self>, thread: Ptr<Thread<Self>>);

    // ---- cores: only used in kernels for several cores

    /// A remote call of the architecture: an operation that one core requests of another.
    type Remote: Copy;
    /// Sends an IPI, by which another core enters the kernel with [`Interrupt::Core`].
    fn interrupt_core(&mut self, _core: usize) {}
    /// Carries out a remote call for the core in exclusive mode, which waits for it.
    fn perform(kernel: &mut Scheduler<Self>, remote: Self::Remote);
    /// Called repeatedly while this core waits for another.
    fn wait_for(_core: usize) {
        crate::sync::spin_loop();
    }
    /// Whether this core's registers hold state of a thread that its context does not.
    fn holds(&self, thread: Ptr<Thread<Self>>) -> bool;
    /// Another core reads or changes the context of a thread: write back what this core's registers hold of it,
    /// as far as invocations of the thread can read or set it.
    fn write_back_thread(kernel: &mut Scheduler<Self>, thread: Ptr<Thread<Self>>) {
        Self::release_thread(kernel, thread);
    }

    // ---- breakpoints: only used in builds with the option `hwdebug`

    /// The numbers of breakpoints of a thread, if the processor has breakpoints.
    fn breakpoint_numbers(&self) -> Option<BreakpointNumbers> {
        None
    }
    /// Sets breakpoint `number`, or clears it. If the thread is current, [`Arch::switch_to`] follows.
    ///
    /// # Errors
    /// If the hardware has no such breakpoint, or it is in use for single stepping.
    fn set_breakpoint(
        _kernel: &mut Scheduler<Self>,
        _thread: Ptr<Thread<Self>>,
        _number: usize,
        _breakpoint: Option<Breakpoint>,
    ) -> Result<(), Error> {
        Err(Error::IllegalOperation)
    }
    /// Breakpoint `number`, if it is set.
    fn breakpoint(
        _kernel: &Scheduler<Self>,
        _thread: Ptr<Thread<Self>>,
        _number: usize,
    ) -> Option<Breakpoint> {
        None
    }
    /// Stops the thread after so many instructions, or never (0). Returns whether that uses breakpoint
    /// `number`; without a number it is the breakpoint in use.
    ///
    /// # Errors
    /// If the hardware cannot do this.
    fn step(
        _kernel: &mut Scheduler<Self>,
        _thread: Ptr<Thread<Self>>,
        _number: Option<usize>,
        _instructions: usize,
    ) -> Result<bool, Error> {
        Err(Error::IllegalOperation)
    }

    // ---- objects and capabilities

    /// log2 of the size of an object of one of the architecture's types; `None` for other types.
    fn object_bits(kind: ObjectType) -> Option<usize>;
    /// Whether objects of this type may be made of device memory.
    fn is_frame(kind: ObjectType) -> bool;
    /// Makes an object from zeroed memory (untouched device memory for device frames).
    fn create_object(&mut self, kind: ObjectType, address: PhysAddr, device: bool) -> Self::Cap;
    /// A capability is deleted. `last` says that no other capability refers to the object.
    fn finalise(kernel: &mut ExclusiveKernel<Self>, cap: Self::Cap, last: bool);
    /// Performs an invocation of a packed capability of the architecture.
    ///
    /// # Errors
    /// The ABI's error; then nothing has changed.
    fn invoke(
        kernel: &mut ExclusiveKernel<Self>,
        invocation: &Invocation<Self>,
        cap: RawCap,
    ) -> Outcome;
    /// Performs a method of `IRQControl` that only this architecture has.
    ///
    /// # Errors
    /// As for [`Arch::invoke`]; [`Error::IllegalOperation`] where there is no such method.
    fn invoke_irq_control(
        kernel: &mut ExclusiveKernel<Self>,
        invocation: &Invocation<Self>,
    ) -> Outcome;
    /// The architecture's capability in an initial slot (5 ASIDControl, 7 I/O port control, ...), if it
    /// exists before the first address space.
    fn initial_cap(slot: usize) -> Option<Self::Cap>;

    // ---- boot

    /// Builds the initial address space: its root and every paging structure that `range` needs.
    /// Capabilities of the structures are given to [`BootAllocator::provide`] in the ABI's order.
    fn boot_space(
        kernel: &mut ExclusiveKernel<Self>,
        boot: &mut BootAllocator<Self>,
        range: Range<usize>,
    ) -> BootSpace<Self::Cap>;
    /// Maps one 4 KiB frame, readable and writable, and returns its capability.
    fn boot_map(
        &mut self,
        space: &BootSpace<Self::Cap>,
        virtual_address: usize,
        frame: PhysAddr,
        executable: bool,
    ) -> Self::Cap;

    // ---- console and the end of a run

    /// Writes one byte to the kernel's console.
    fn put_byte(byte: u8);
    /// Ends the run by the means of the board; halts if it has none.
    fn exit(exit: Exit) -> !;

    // ---- system calls that only some builds have

    /// Handles an optional system call of this architecture (dangerous MSR access, cache flushes of
    /// benchmarks, ...). Returns whether it did.
    fn optional_syscall(_kernel: &mut Kernel<Self>, _call: abi::Syscall) -> bool {
        false
    }

    /// Makes cleared memory visible where the hardware needs it: to page-table walkers and to devices that do
    /// not snoop the caches.
    fn clean_new_memory(_address: PhysAddr, _bytes: usize) {}
}

//! The portable part of the Escapement kernel.
//!
//! # Beliefs, in order of weight
//! 1. Time is a resource like memory: nobody runs without a scheduling context, nobody takes more
//!    than it holds, and the kernel itself runs on somebody's budget.
//! 2. The delay that one thread can cause another is bounded by numbers in the system description,
//!    never by how many threads exist.
//! 3. Mechanism in the kernel, policy outside. What a user-level server can do, the kernel does not.
//! 4. One source of truth: the interface is written once, in the crate [`abi`], and both sides
//!    compile it.
//! 5. Unsafe code is a thin shell around a safe core that also runs on the host, under test.
//! 6. What is not measured is not claimed.
//!
//! # The house
//! Each floor uses only the floors below it.
//!
//! | floor | rooms | holds |
//! |---|---|---|
//! | ground | [`time`], [`budget`], [`collections`], [`token`] | units, replenishment arithmetic, queues, handles |
//! | 1 | [`arch`] | the only door to hardware |
//! | 2 | [`cap`] | capabilities, slots, derivation tree |
//! | 3 | [`object`] | the objects and the rules that concern one of them alone |
//! | 4 | [`sched`] | who runs: ready and release queues, charging, domains, timer |
//! | 5 | [`ipc`] | what happens between threads: transfer, donation, replies, signals, faults |
//! | 6 | [`invoke`] | requests to objects: decode, check, perform |
//! | 7 | [`fastpath`], [`syscall`], [`boot`] | fast paths; the dispatcher; the first thread |
//! | beside | [`cores`], `sync`, [`trace`], [`console`], `threads`, `invariants` | the cores, and what is between them; the log; words to people; what always holds |
//!
//! # The way of a system call
//! The architecture saves the registers and calls [`Kernel::handle_syscall`]. The dispatcher finds the
//! capability, [`invoke`] decodes the message (all checks before any change) and performs it, [`sched`]
//! picks a thread once, and the architecture returns to it.
#![cfg_attr(not(test), no_std)]

/// Writes the fields of a struct of the type `Self` to where it shall be, but some that are written
/// separately. A field that is missing does not compile.
macro_rules! make_fields {
    ($place:expr, { $($(#[$attribute:meta])* $field:ident: $value:expr),* $(,)? } and $($other:ident),*) => {{
        let _ = |all: &Self| {
            let Self { $($(#[$attribute])* $field: _,)* $($other: _),* } = all;
        };
        $($(#[$attribute])* (&raw mut (*$place).$field).write($value);)*
    }};
}

pub mod arch;
pub mod boot;
pub mod budget;
pub mod cap;
pub mod collections;
pub mod console;
pub mod cores;
pub mod fastpath;
#[cfg(any(test, feature = "invariants"))]
pub mod invariants;
pub mod invoke;
pub mod ipc;
pub mod object;
pub mod sched;
#[cfg(feature = "smp")]
pub mod sync;
pub mod syscall;
mod threads;
pub mod time;
pub mod token;
pub mod trace;

use core::mem::MaybeUninit;
use core::ops::{Index, IndexMut};

use arch::Arch;
use cores::{Gate, Irqs};
use object::DomainSchedule;
use sched::Core;
use token::{Objects, Ptr};

/// All mutable state of the kernel, as one core sees it; handed out once per kernel entry.
///
/// Objects are reached by indexing with their handles: `kernel[thread].priority`.
///
/// The order is for fast paths in assembly, which reach what is beside the beginning of `core`.
#[repr(C)]
pub struct Kernel<A: Arch> {
    /// The token for kernel objects.
    pub objects: Objects,
    /// The architecture and its state.
    pub arch: A,
    /// Its place among the kernels of other cores.
    pub(crate) gate: Gate<A>,
    /// What belongs to this core.
    pub core: Core<A>,
    /// The interrupt lines.
    pub irqs: Irqs<A>,
    /// The youngest thread, for people who ask what there is.
    #[cfg(feature = "debug")]
    threads: Option<Ptr<object::Thread<A>>>,
    /// The domain schedule.
    pub domains: DomainSchedule,
    /// What is remembered for the checks after each entry.
    #[cfg(any(test, feature = "invariants"))]
    pub watch: invariants::Watch<A>,
}

pub use cores::Kernels;

impl<A: Arch> Kernel<A> {
    /// Makes the kernel of a machine that has no thread yet, where it shall be.
    ///
    /// # Safety
    /// At most one kernel may exist for a set of objects (see [`Objects::new`]), or one for each core, which
    /// take turns through the gate.
    pub(crate) unsafe fn make_in(
        memory: &mut MaybeUninit<Self>,
        arch: A,
        irqs: Irqs<A>,
        gate: Gate<A>,
    ) -> &mut Self {
        let id = gate.core();
        let place = memory.as_mut_ptr();
        // SAFETY: the memory is the kernel's, of which all fields are written; and the caller makes only
        // one kernel.
        unsafe {
            make_fields!(place, {
                objects: Objects::new(),
                irqs: irqs,
                #[cfg(feature = "debug")]
                threads: None,
                domains: DomainSchedule::new(),
                arch: arch,
                #[cfg(any(test, feature = "invariants"))]
                watch: invariants::Watch::new(),
                gate: gate,
            } and core);
            Core::make_at(&raw mut (*place).core, id);
            memory.assume_init_mut()
        }
    }
}

impl<A: Arch, T> Index<Ptr<T>> for Kernel<A> {
    type Output = T;

    #[inline(always)]
    fn index(&self, object: Ptr<T>) -> &T {
        &self.objects[object]
    }
}

impl<A: Arch, T> IndexMut<Ptr<T>> for Kernel<A> {
    #[inline(always)]
    fn index_mut(&mut self, object: Ptr<T>) -> &mut T {
        &mut self.objects[object]
    }
}

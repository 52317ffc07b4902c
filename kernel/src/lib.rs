//! The portable part of the Escapement kernel.
//!
//! # Beliefs, in order of weight
//! 1. Time is a resource like memory: no thread runs without a scheduling context, none consumes more
//!    than its context holds, and the kernel's own execution is charged to a scheduling context.
//! 2. The delay that one thread can cause another is bounded by numbers in the system description,
//!    never by how many threads exist.
//! 3. Mechanism in the kernel, policy outside. What a user-level server can do, the kernel does not.
//! 4. One source of truth: the interface is written once, in the crate [`abi`], and both sides
//!    compile it.
//! 5. Unsafe code is a thin shell around a safe core that also runs on the host, under test.
//! 6. What is not measured is not claimed.
//!
//! # Structure
//! Each layer uses only the layers below it (`cargo xtask check`; `docs/src/inside/house.md` has the exceptions).
//!
//! | layer | modules | contents |
//! |---|---|---|
//! | 0 | [`error`], [`time`], [`token`], [`collections`], `sync`, [`budget`] | errors, units, handles, queues, locks, replenishment arithmetic |
//! | 1 | [`cap`] | capabilities, slots, derivation tree |
//! | 2 | [`object`] | the objects, and the rules that concern a single object |
//! | 3 | [`cores`] | the kernels of the cores, the entry lock, remote accesses |
//! | 4 | [`sched`] | scheduling: ready and release queues, charging, domains, timer |
//! | 5 | [`ipc`] | communication between threads: transfer, donation, replies, signals, faults |
//! | 6 | `entry` | the beginning and the end of a kernel entry |
//! | 7 | [`invoke`] | invocations of objects: decode, check, perform |
//! | 8 | [`fastpath`] | fast paths |
//! | 9 | [`syscall`], [`boot`] | the dispatcher; the first thread |
//! | none | [`arch`], [`trace`], [`console`], `threads`, `invariants` | the only interface to the hardware; the log; text for people; invariants |
//!
//! # The path of a system call
//! The architecture saves the registers and calls [`CoreHandle::handle_syscall`](cores::CoreHandle::handle_syscall). The dispatcher looks up the
//! capability, [`invoke`] decodes the message (all checks before any change) and performs it, [`sched`] picks
//! a thread once, and the architecture returns to it.
#![cfg_attr(not(test), no_std)]

/// Writes the fields of a struct of type `Self` in place, except some that are written separately. A missing
/// field is a compile-time error.
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
mod entry;
pub mod error;
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
use cores::{EntryLock, Irqs};
use object::DomainSchedule;
use sched::Core;
use token::{Objects, Ptr};

/// All mutable state of the kernel, as one core sees it. A core gets to it by entering, through
/// [`cores::CoreHandle`].
///
/// Objects are accessed by indexing with their handles: `kernel[thread].priority`.
///
/// The order of fields is for fast paths in assembly, which reach the fields next to the beginning of `core`.
#[repr(C)]
pub struct Kernel<A: Arch> {
    /// The token for kernel objects.
    pub objects: Objects,
    /// The architecture and its state.
    pub arch: A,
    /// This core's side of the entry lock.
    pub(crate) entry_lock: EntryLock<A>,
    /// The scheduling state of this core.
    pub core: Core<A>,
    /// The table of interrupt lines.
    pub irqs: Irqs<A>,
    /// The head of the list of all threads, the youngest one, for debug output.
    #[cfg(feature = "debug")]
    threads: Option<Ptr<object::Thread<A>>>,
    /// The domain schedule.
    pub domains: DomainSchedule,
    /// State that is kept for the invariant checks after each entry.
    #[cfg(any(test, feature = "invariants"))]
    pub watch: invariants::Watch<A>,
}

pub use cores::Kernels;

impl<A: Arch> Kernel<A> {
    /// Makes the kernel of a machine that has no thread yet, in place.
    ///
    /// # Safety
    /// At most one kernel may exist for a set of objects (see [`Objects::new`]), or one for each core if the
    /// entry lock orders their accesses.
    pub(crate) unsafe fn make_in(
        memory: &mut MaybeUninit<Self>,
        arch: A,
        irqs: Irqs<A>,
        entry_lock: EntryLock<A>,
    ) -> &mut Self {
        let id = entry_lock.core();
        let kernel = memory.as_mut_ptr();
        // SAFETY: the kernel owns the memory, and all fields are written; the caller makes only one kernel.
        unsafe {
            make_fields!(kernel, {
                objects: Objects::new(),
                irqs: irqs,
                #[cfg(feature = "debug")]
                threads: None,
                domains: DomainSchedule::new(),
                arch: arch,
                #[cfg(any(test, feature = "invariants"))]
                watch: invariants::Watch::new(),
                entry_lock: entry_lock,
            } and core);
            Core::make_at(&raw mut (*kernel).core, id);
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

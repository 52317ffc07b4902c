//! The portable part of the Escapement kernel.
//!
//! # Principles
//! Where two of them conflict, the earlier one counts (`docs/src/README.md` has the same list).
//!
//! 1. Time is a resource like memory: no thread runs without a scheduling context, none uses more than its budget, and
//!    the kernel's own execution is charged to a context.
//! 2. The delay that one thread can cause another is bounded by numbers in the system description, not by the number of
//!    threads.
//! 3. Mechanism in the kernel, policy outside.
//! 4. One source of truth: the interface is defined once, in the crate [`abi`], and kernel and user programs compile it.
//! 5. Unsafe code is a thin shell around a safe core that also runs on the host, under test.
//! 6. What is not measured is not claimed.
//!
//! # Structure
//! Each layer uses only the layers below it (`cargo xtask check`; `docs/src/inside/structure.md` says more). The state of a
//! core is four types, one inside the other; each dereferences to the next lower one, so that no method of a lower
//! layer can call one of a higher layer.
//!
//! | layer | modules | contents | methods of |
//! |---|---|---|---|
//! | 0 | [`error`], [`time`], [`token`], [`collections`], `sync`, [`config`], [`budget`] | errors, units, handles, queues, locks, replenishment arithmetic | |
//! | 1 | [`slot`] | where capabilities are stored | |
//! | 2 | [`object`] | the objects, and the rules that concern a single object | |
//! | 3 | [`cap`] | capabilities, derivation tree, lookup | [`Capabilities`](cap::Capabilities) |
//! | 4 | [`cores`] | the kernels of the cores, the state of the entry lock | |
//! | 5 | [`sched`] | scheduling: ready and release queues, charging, domains, timer, remote accesses | [`Scheduler`](sched::Scheduler) |
//! | 6 | [`ipc`] | communication between threads: transfer, donation, replies, signals, faults | [`Ipc`] |
//! | 7 | `entry` | the beginning and the end of a kernel entry | [`Kernel`] |
//! | 8 | [`invoke`] | invocations of objects: decode, check, perform | [`Invocation`](invoke::Invocation), [`ExclusiveKernel`] |
//! | 9 | [`fastpath`] | fast paths | [`Kernel`] |
//! | 10 | [`syscall`], [`boot`] | the dispatcher; the first thread | [`Kernel`] |
//! | none | [`arch`], [`log`], [`console`], `threads`, `debugger`, `instruments`, `tracing`, `invariants` | the only interface to the hardware; the log; the console; the list of threads; constants for debuggers; state of kernels that observe themselves; trace events; invariants | |
//!
//! # The path of a system call
//! The architecture saves the registers and calls [`Local::handle_syscall`](cores::Local::handle_syscall) or another
//! function of [`syscall`]. Fast paths are tried first. If none is eligible, the dispatcher looks up the capability, [`ipc`]
//! sends the message, or [`invoke`] decodes it (all checks before any change) and performs it, [`sched`] picks a thread
//! once, and the architecture returns to it.
#![cfg_attr(not(test), no_std)]
#![cfg_attr(target_os = "none", feature(optimize_attribute))]

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

/// The state of a layer dereferences to that of the next lower layer, which it contains.
macro_rules! contains {
    ($upper:ident, $lower:ident, $field:tt) => {
        impl<A: Arch> core::ops::Deref for $upper<A> {
            type Target = $lower<A>;

            #[inline(always)]
            fn deref(&self) -> &$lower<A> {
                &self.$field
            }
        }

        impl<A: Arch> core::ops::DerefMut for $upper<A> {
            #[inline(always)]
            fn deref_mut(&mut self) -> &mut $lower<A> {
                &mut self.$field
            }
        }
    };
}

/// Implements `Clone` and `Copy` without bounds on the type's parameters.
macro_rules! copyable {
    ($([$($parameters:tt)*] $type:ty),*) => {$(
        impl<$($parameters)*> Clone for $type {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<$($parameters)*> Copy for $type {}
    )*};
}

pub mod arch;
pub mod boot;
pub mod budget;
pub mod cap;
pub mod collections;
pub mod config;
pub mod console;
pub mod cores;
#[cfg(feature = "debug")]
mod debugger;
mod entry;
pub mod error;
pub mod fastpath;
mod instruments;
#[cfg(any(test, feature = "invariants"))]
pub mod invariants;
pub mod invoke;
pub mod ipc;
pub mod log;
pub mod object;
pub mod sched;
pub mod slot;
pub mod sync;
pub mod syscall;
#[cfg(feature = "debug")]
mod threads;
pub mod time;
pub mod token;
mod tracing;

use core::mem::MaybeUninit;

use arch::Arch;
use cores::{EntryLock, Irqs};
use ipc::Ipc;

pub use cores::Kernels;

/// All mutable state of the kernel, as one core sees it. A core obtains it by entering the kernel, through
/// [`cores::CoreHandle`].
///
/// Each layer with state has a type of its own, which contains that of the next lower layer and dereferences to it:
/// `Kernel`, [`Ipc`], [`sched::Scheduler`], [`cap::Capabilities`]. So a method can be called from its layer and from
/// higher ones, and nowhere else.
#[repr(transparent)]
pub struct Kernel<A: Arch>(Ipc<A>);

impl<A: Arch> Kernel<A> {
    /// Makes the kernel of a machine that has no thread yet, in place.
    ///
    /// # Safety
    /// At most one kernel may exist for a set of objects (see [`token::Objects::new`]), or one for each core if the
    /// entry lock orders their accesses.
    pub(crate) unsafe fn make_in(
        memory: &mut MaybeUninit<Self>,
        arch: A,
        irqs: Irqs<A>,
        entry_lock: EntryLock<A>,
    ) -> &mut Self {
        let kernel = memory.as_mut_ptr();
        // SAFETY: the kernel owns the memory, and all of it is written; the caller makes only one kernel.
        unsafe {
            Ipc::make_at(&raw mut (*kernel).0, arch, irqs, entry_lock);
            memory.assume_init_mut()
        }
    }
}

contains!(Kernel, Ipc, 0);

/// The same in exclusive mode, with access to the other cores ([`ExclusiveKernel::exclusive`]). Operations that need it,
/// such as the invocations of objects, are methods or take this as a parameter: they cannot be called in shared mode.
#[repr(transparent)]
pub struct ExclusiveKernel<A: Arch>(Kernel<A>);

contains!(ExclusiveKernel, Kernel, 0);

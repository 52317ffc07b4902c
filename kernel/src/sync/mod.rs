//! Locks between cores.
//!
//! A kernel for one core has none of this. The feature `smp` compiles it; the features `mcs` and `clh` select
//! another lock than the default. All three are *fair*: cores get the lock in the order of their requests, so
//! that a core waits for each other core at most once. A bound on the delay requires this: an unfair lock has
//! none.
//!
//! | lock | a core spins on | memory | a release writes to |
//! |---|---|---|---|
//! | [`Ticket`] | one word that all cores read | two words | that word, which all others then read |
//! | [`Mcs`] | a word of its own | a line for each core | the word of the successor |
//! | [`Clh`] | the word of the predecessor | a line for each core and one more | its own word |
//!
//! Nothing is allocated: each core's queue node is part of the lock, and is found by the core's number. So
//! there are no pointers, and no unsafe code but the one access to the protected value.
//!
//! The same files run under loom, which tries all orders in which cores can see each other's writes; see
//! `tests/locks-loom/`.

mod atomic;
mod big_reader;
mod clh;
mod guarded;
mod lock;
mod mailbox;
mod mcs;
mod ticket;

pub use atomic::spin_loop;
pub use big_reader::{BigReaderLock, SHARED, UNLOCKED};
pub use clh::Clh;
pub use guarded::{CoreToken, Guarded};
pub use lock::Lock;
pub use mailbox::Mailbox;
pub use mcs::Mcs;
pub use ticket::Ticket;

/// The lock selected for this build.
#[cfg(not(any(feature = "mcs", feature = "clh")))]
pub type KernelLock<const CORES: usize> = Ticket<CORES>;
/// The lock selected for this build.
#[cfg(feature = "mcs")]
pub type KernelLock<const CORES: usize> = Mcs<CORES>;
/// The lock selected for this build.
#[cfg(all(feature = "clh", not(feature = "mcs")))]
pub type KernelLock<const CORES: usize> = Clh<CORES>;

//! Locks between cores.
//!
//! A kernel for one core has none of this; the feature `smp` compiles it, and chooses with `mcs` or
//! `clh` another lock than the default. All three are *fair*: cores get the lock in the order in which
//! they asked for it, so that a core waits for each other core once at most. This is what a bound on
//! the delay takes: with a lock that is not fair there is none.
//!
//! | lock | a core waits at | memory | whoever lets go writes to |
//! |---|---|---|---|
//! | [`Ticket`] | one word that all look at | two words | that word, which all others then read |
//! | [`Mcs`] | a word of its own | a line for each core | the word of the next |
//! | [`Clh`] | the word of the one before | a line for each core and one more | its own word |
//!
//! Nothing is allocated: what a core needs in order to wait is a place in the lock, found by the core's
//! number. So there are no pointers either, and no unsafe code but the one access to what is guarded.
//!
//! The same files run under loom, which tries all orders in which cores can see each other's writes;
//! see `tests/loom/`.

mod atomic;
mod clh;
mod guarded;
mod lock;
mod mailbox;
mod mcs;
mod ticket;
mod world;

pub use atomic::spin_loop;
pub use clh::Clh;
pub use guarded::{CoreToken, Guarded};
pub use lock::Lock;
pub use mailbox::Mailbox;
pub use mcs::Mcs;
pub use ticket::Ticket;
pub use world::{INSIDE, OUTSIDE, World};

/// The lock of this build.
#[cfg(not(any(feature = "mcs", feature = "clh")))]
pub type KernelLock<const CORES: usize> = Ticket<CORES>;
/// The lock of this build.
#[cfg(feature = "mcs")]
pub type KernelLock<const CORES: usize> = Mcs<CORES>;
/// The lock of this build.
#[cfg(all(feature = "clh", not(feature = "mcs")))]
pub type KernelLock<const CORES: usize> = Clh<CORES>;

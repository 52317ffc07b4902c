//! Locks for the queue of a kernel's entry lock, compared with each other. The ticket lock is the kernel's, compiled
//! for user programs.
//!
//! All three are *fair*: cores get the lock in the order of their requests, so that a core waits for each other core
//! at most once.
//!
//! | lock | a core spins on | memory | a release writes to |
//! |---|---|---|---|
//! | [`Ticket`] | one word that all cores read | two words | that word, which all others then read |
//! | [`Mcs`] | a word of its own | a line for each core | the word of the successor |
//! | [`Clh`] | the word of the predecessor | a line for each core and one more | its own word |
//!
//! Nothing is allocated: each core's queue node is part of the lock, and is found by the core's number. So there are
//! no pointers, and no unsafe code but the one access to the protected value.
//!
//! `tests/locks-loom/` runs the same files under loom.

#[expect(unused_imports, reason = "these locks use only a part of it")]
#[path = "../../../../kernel/src/sync/atomic.rs"]
mod atomic;
mod clh;
mod guarded;
mod lock;
mod mcs;
#[path = "../../../../kernel/src/sync/ticket.rs"]
mod ticket;

pub use atomic::spin_loop;
pub use clh::Clh;
pub use guarded::{CoreToken, Guarded};
pub use lock::Lock;
pub use mcs::Mcs;
pub use ticket::Ticket;

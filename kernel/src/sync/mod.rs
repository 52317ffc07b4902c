//! Locks between cores. A kernel for one core uses only the [ticket lock](Ticket), for console and trace.
//!
//! The [entry lock](BigReaderLock) contains a ticket lock, which orders the cores that wait for it. MCS and CLH
//! locks are compared with it in `benches/component/src/locks/`.
//!
//! The same files run under loom, which tries all orders in which cores can see each other's writes; see
//! `tests/locks-loom/`.

mod atomic;
mod big_reader;
mod mailbox;
mod ticket;

pub use atomic::spin_loop;
pub use big_reader::{BigReaderLock, SHARED, UNLOCKED};
pub use mailbox::Mailbox;
pub use ticket::Ticket;

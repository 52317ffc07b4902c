//! Locks between cores. A kernel for one core has none of this.
//!
//! The [entry lock](BigReaderLock), and the [lock](Ticket) that orders the cores which wait for it. Its like, MCS and
//! CLH locks, are compared with it in `benches/component/src/locks/`.
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

//! What the kernel means: a model that a person can read, and that runs.
//!
//! It follows the ABI's rules of behaviour and the book, and cares for nothing but being clear: objects
//! are entries of lists, queues are vectors, and everything is copied and compared freely. The kernel
//! and the model run the same histories, and whoever disagrees is wrong (`tests/` of this crate).
//!
//! | file | says |
//! |---|---|
//! | [`state`] | what exists |
//! | [`refills`] | budgets and their replenishment |
//! | [`schedule`] | who runs, and who pays |
//! | [`messages`] | endpoints, notifications, replies, donation |
//! | [`faults`] | faults and timeouts |
//! | [`caps`] | capabilities and where they come from |
//! | [`invoke`] | requests to objects |
//! | [`entry`] | ways into the kernel |
//!
//! It knows one core, one domain, one CNode for all, messages without capabilities, and of memory only
//! that objects come from somewhere.

#![allow(missing_docs, reason = "a model should be read whole; its names are its documentation")]

pub mod caps;
pub mod entry;
pub mod faults;
pub mod invoke;
pub mod messages;
pub mod refills;
pub mod schedule;
pub mod state;

pub use entry::{Call, Event};
pub use state::{Id, Model, Time};

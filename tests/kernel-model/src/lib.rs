//! A model of the kernel's meaning that is readable and executable.
//!
//! It follows the ABI's behavioural rules and the book, and its only aim is clarity: objects are list
//! entries, queues are vectors, and everything is copied and compared freely. The kernel and the
//! model run the same histories; any difference is an error in one of them (`tests/` of this crate).
//!
//! | file | says |
//! |---|---|
//! | [`state`] | the objects |
//! | [`refills`] | budgets and their replenishment |
//! | [`schedule`] | scheduling, and charging of budget |
//! | [`messages`] | endpoints, notifications, replies, donation |
//! | [`thresholds`] | the budget that a sender must have |
//! | [`limits`] | call chains, and what servers may use of a context |
//! | [`faults`] | faults and timeouts |
//! | [`caps`] | capabilities and their derivation |
//! | [`invoke`] | invocations of objects |
//! | [`entry`] | kernel entries |
//!
//! It has one core, one domain, one CNode for all threads and messages without capabilities; memory
//! is only the source of objects.

#![allow(missing_docs, reason = "a model should be read whole; its names are its documentation")]

pub mod caps;
pub mod entry;
pub mod faults;
pub mod invoke;
pub mod limits;
pub mod messages;
pub mod refills;
pub mod schedule;
pub mod state;
pub mod thresholds;

pub use entry::{Call, Event};
pub use state::{Id, Model, Time};

//! Runs threads as a [`schedulers::Policy`] decides, by deadlines or by quanta, on one core or several.
//!
//! A [`Dispatcher`] belongs to one thread, the scheduler, whose priority is higher than that of its tasks. It turns
//! messages into the events of the policy, and the actions of the policy into system calls. What tells it the time,
//! and ends the turn of a task on its own core, is a [`Source`].
//!
//! A task is a thread of the scheduler's address space. Its work gets a [`Job`], by which it reports what a scheduler
//! must know. Jobs that may be aborted, or preempted by jobs that use the same, hold no locks and use no heap.
//!
//! A [`guard::Guard`] carries out the decisions of a [`schedulers::SharedServer`]. The book describes the library in
//! `docs/src/concepts/scheduler-library.md`.

#![cfg_attr(target_os = "none", no_std)]
#![forbid(unsafe_code)]

mod carry_out;
mod dispatcher;
mod elsewhere;
pub mod guard;
mod job;
pub mod source;
mod worker;

pub use dispatcher::{Configuration, Counts, Dispatcher, Event, NotAdded};
pub use job::{Arrivals, Job};
pub use source::Source;

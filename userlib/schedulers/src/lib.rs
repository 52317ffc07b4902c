//! The decisions of user-level schedulers, without system calls, so that the same code runs on the target and
//! in tests on the host.
//!
//! A [`Cluster`] schedules [`Task`]s earliest deadline first on a set of cores: one core (P-EDF), some
//! (C-EDF) or all (G-EDF). The program around it reports events, such as the completion of a job, and carries
//! out the [`Action`]s that the cluster decides on. Memory is bounded by two constants, the number of cores
//! and of tasks; nothing is allocated.
//!
//! [`Pfair`] schedules by quanta instead, so that each task always has its share of the cores (PD²). [`Quanta`] makes actions
//! of that: it has the same [`Policy`] as a cluster.
//!
//! A [`SharedServer`] decides which client's request a server serves next, and [`Lenders`] on which reservation it
//! runs: [`McIpc`] by the protocol of that name, [`OneQueue`] by plain queues. [`Nested`] is for
//! servers that call one another.
//!
//! The book describes the library in `docs/src/concepts/scheduler-library.md`.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod admission;
mod cluster;
mod edf_vd;
mod fraction;
mod many_cores;
mod overheads;
mod pfair;
mod policy;
mod queue;
mod shared;
mod task;
#[cfg(test)]
mod tests;
mod time;

pub use admission::{Admission, OneCore, Unchecked, Unschedulable};
pub use cluster::{Action, Cluster, Completion, Core, Error, LowTasks, Mode, Refusal};
pub use edf_vd::{EdfVd, NotAccepted};
pub use many_cores::{ManyCores, NotShown};
pub use overheads::{Charged, NotCharged, Overheads};
pub use pfair::{Overload, Pfair, Quanta, Weight};
pub use policy::Policy;
pub use queue::Queue;
pub use shared::{
    Aborted, Caller, Client, Decision, Discipline, Invoked, Lenders, McIpc, Nested, NotLater,
    OneQueue, Replied, Service, SharedServer, SharingError, Step,
};
pub use task::{Arrivals, Criticality, Overrun, Task, TaskId};
pub use time::{Duration, Instant};

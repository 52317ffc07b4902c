//! Will it be in time? Analyses of task sets, budgets, partitions and guests.
//!
//! Every function here is pure: from typed values to a typed result, without files or clocks. A result is a
//! [`Finding`], which names the [`Method`] that found it, with its source and its assumptions; whatever cannot
//! be analysed is an [`Error`], which is one sentence.
//!
//! | module | contents |
//! |---|---|
//! | [`model`] | tasks, contexts, servers, cores, overheads |
//! | [`supply`] | how much processor time a window of time surely contains |
//! | [`fixed`] | fixed priorities: response times, blocking, priority assignment, mixed criticality |
//! | [`edf`] | earliest deadline first on one processor: demand, response times, virtual deadlines |
//! | [`global`] | earliest deadline first on several cores |
//! | [`partition`], [`budget`], [`sensitivity`] | what to choose, and how much room is left |
//! | [`guests`] | guests of a hypervisor: their interfaces, and what a switch between guests costs |
//! | [`tables`] | time tables: synthesis, super-schedules, an independent check |
//! | [`shared`] | servers shared between criticalities |
//! | [`generate`] | random task sets |
//!
//! The chapter "Analysis" of the book explains each method with an example, whose numbers are tested.

pub mod budget;
pub mod edf;
mod error;
mod fault;
mod finding;
pub mod fixed;
pub mod generate;
pub mod global;
pub mod guests;
pub mod model;
pub mod partition;
mod search;
pub mod sensitivity;
pub mod shared;
pub mod supply;
pub mod tables;
mod time;

pub use error::{Error, Result};
pub use finding::{Finding, Method, Verdict};
pub use time::{Ratio, Time};

// The tests are in a folder of their own, and name this crate as others do.
#[cfg(test)]
extern crate self as schedulability;
#[cfg(test)]
#[path = "../tests/suite/mod.rs"]
mod suite;

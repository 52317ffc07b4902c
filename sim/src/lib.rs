//! Programs against the kernel on the host, in virtual time.
//!
//! A scenario is a root task: it makes objects and threads through the userlib, and each thread is a
//! closure that makes system calls through the userlib as well. The kernel is the one that is
//! shipped, on the architecture without hardware of [`host_machine`]. Closures run as coroutines: one
//! runs until it makes a system call or states how long it works ([`work`]), so all time is virtual,
//! and a run depends only on the scenario and its seed.
//!
//! The page "The simulator" of the book is the tutorial.
//!
//! [`System`] takes the description of a system, and its components' behaviour from a test.

mod chart;
mod device;
mod history;
mod platform;
mod program;
pub mod scenarios;
mod setup;
mod simulation;
mod stage;
mod system;
mod trace;

pub use chart::{Window, chart, table};
pub use device::{Interrupt, Timer};
pub use history::{Actor, History, Job, Mark, Status};
pub use program::START;
pub use setup::{Setup, ThreadBuilder};
pub use simulation::{Options, Simulation};
pub use stage::{fault, note, now, random, work};
pub use system::{Observed, Run, System};
pub use trace::{chrome, csv};
pub use userlib::{Microseconds, Startup};

/// Milliseconds.
pub const fn ms(time: u64) -> Microseconds {
    Microseconds::from_millis(time)
}

/// Microseconds.
pub const fn us(time: u64) -> Microseconds {
    Microseconds(time)
}

//! Earliest deadline first on one processor.

mod demand;
mod response;
mod virtual_deadlines;

pub(crate) use demand::last_deadline;
pub use demand::{DEMAND, Misfit, Section, demand, first_misfit, schedulable};
pub use response::{RESPONSE_TIME, response_times};
pub use virtual_deadlines::{EDF_VD, VirtualDeadlines, virtual_deadlines};

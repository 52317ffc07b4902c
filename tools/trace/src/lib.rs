//! Reads traces of the kernel, rebuilds the states of threads, contexts and cores from their events, checks them
//! against rules, and exports them.
//!
//! The page "Traces" of the book is the tutorial; the format is on the page "The trace format".

mod budget;
mod collect;
mod compare;
mod configured;
mod corrected;
mod entries;
pub mod export;
mod fields;
mod file;
mod gaps;
mod inversion;
mod jobs;
mod replenishments;
mod requests;
mod rules;
pub mod serve;
mod state;
mod summary;
mod timeline;
mod trace;
mod used_budgets;

pub use budget::remaining_budget;
pub use collect::{Follower, collect};
pub use compare::Comparison;
pub use configured::{Configured, configured};
pub use corrected::{Corrected, Correction, NotCorrectable, calls};
pub(crate) use corrected::{cost, sum};
pub use entries::{Count, Entries, entries};
pub use file::{Answer, File, Unreadable};
pub use gaps::{Gap, gaps};
pub use inversion::{Inversion, inversions};
pub use jobs::{Jobs, jobs};
pub use replenishments::{Odd, Replenishment, Replenishments};
pub use requests::requests;
pub use rules::{Complaint, check};
pub use state::{Activity, Context, ContextKey, Core, Known, State, Status, Thread, ThreadKey};
pub use summary::summary;
pub use timeline::{Added, ContextLane, Marked, Moved, Span, ThreadLane, Timeline, record};
pub use trace::{Lost, Numbered, Trace};
pub use used_budgets::{UsedBudgets, used_budgets};

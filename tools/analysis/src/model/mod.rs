//! What is analysed. Values are checked when they are made, so that analyses need not.

mod arrivals;
mod context;
mod core;
mod overheads;
mod task;

pub use self::arrivals::Arrivals;
pub use self::context::{Context, Replenishment};
pub use self::core::{Call, Core, Priority, Server, ServerId, Thread, Waits};
pub use overheads::{OVERHEADS, Overheads, PASSES, Releases, charge};
pub(crate) use task::utilisation;
pub use task::{Parameters, Task};

/// The most tasks of a set.
pub const MOST: usize = 1 << 16;

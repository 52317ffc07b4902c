//! The requests to the supervisor of a described system by components whose description says `asks-supervisor`.

use crate::Microseconds;
use crate::protocol::Text;

crate::value! {
    /// How a component ended, or used up its time, the last time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum End {
        /// It has not.
        None,
        /// It has faulted.
        Fault,
        /// It has panicked.
        Panic,
        /// It has used up its time, and the supervisor handles that.
        Timeout,
        /// It was done.
        Done,
    }
}

crate::value! {
    /// The state of a component.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Report {
        /// Its name.
        pub name: Text<32>,
        /// Whether it runs on the time of its callers. Then it has budget and period until it first waits.
        pub is_passive: bool,
        /// The time that it may use in each period.
        pub budget: Microseconds,
        /// The time after which used budget comes back.
        pub period: Microseconds,
        /// The time used on its own context since the start, as far as no watcher has taken it.
        pub used: Microseconds,
        /// Whether it has ended, and does not start again.
        pub has_stopped: bool,
        /// How often it has failed or used up its time.
        pub failures: u32,
        /// How it did the last time.
        pub last: End,
    }
}

crate::value! {
    /// The memory of a component, in bytes, and how much of it was used at the most.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Memory {
        /// Its stack.
        pub stack: usize,
        /// The most that it has used of this, since its start.
        pub stack_used: usize,
        /// Its heap.
        pub heap: usize,
        /// The most that it has used of this.
        pub heap_used: usize,
    }
}

crate::value! {
    /// Why a component does not start again.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum NotAgain {
        /// There is no such component.
        Unknown,
        /// It has stopped for good.
        Stopped,
        /// Its description has no restart, so nothing is prepared for one.
        Unprepared,
    }
}

crate::protocol! {
    /// Requests to the supervisor, which serves them on its own budget.
    pub mod requests, version 1 {
        /// The state of a component, by its place in the description; none after the last one.
        fn report(index: usize) -> Option<Report>;
        /// The memory of a component, by its place; none after the last one, or if it has more than can be looked at. The
        /// supervisor reads all of it that is not used.
        fn memory(index: usize) -> Option<Memory>;
        /// Starts a component again, as after a fault; this does not count for its limit of restarts.
        fn restart(name: Text<32>) -> Result<(), NotAgain>;
    }
}

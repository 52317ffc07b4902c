//! Faults put in on purpose: parts of analyses that only this crate's own tests can leave out, to show that comparisons
//! notice it.

/// What is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The blocking of a busy window.
    Blocking,
    /// The requests that a thread's jobs make.
    Requests,
    /// What a server's servers do.
    NestedRequests,
    /// The jitter of others.
    JitterOfOthers,
    /// A task's own jitter.
    OwnJitter,
    /// All jobs of a busy window but the first.
    LaterJobs,
    /// The jobs of a burst but the first.
    Bursts,
    /// The time without supply.
    Blackout,
    /// That a budget may come late after one that came early.
    SlidingBudget,
    /// That the list of replenishments may be full.
    FullList,
    /// The last job of the demand in a window.
    LastJob,
    /// Critical sections under EDF.
    Sections,
    /// Jitter under EDF.
    ShorterDeadlines,
    /// Busy windows in which a job is not released at their begin.
    Offsets,
    /// The work of jobs that arrived before the window of a job, under global EDF.
    CarryIn,
    /// The same in the test BAR.
    CarryInOfBar,
    /// The task that can delay all others, in tests by density.
    LargestDensity,
    /// What must be executed before a window ends, though it is due later.
    ForcedForward,
    /// The own cost of a late job, in bounds of tardiness.
    OwnCost,
    /// The jobs of low tasks before the level is raised.
    LowTasks,
    /// Virtual deadlines.
    VirtualDeadlines,
    /// Context switches.
    Switches,
    /// The latency of releases.
    Latency,
    /// The passes that a scheduler's thread takes for releases.
    Passes,
}

#[cfg(test)]
std::thread_local! {
    static SELECTED: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
}

/// From now on, analyses of this thread have a fault, or none.
#[cfg(test)]
pub(crate) fn select(fault: Option<Fault>) {
    SELECTED.set(fault);
}

/// Whether a fault is selected.
#[cfg(test)]
pub(crate) fn is(fault: Fault) -> bool {
    SELECTED.get() == Some(fault)
}

/// Whether a fault is selected: never.
#[cfg(not(test))]
pub(crate) const fn is(_: Fault) -> bool {
    false
}

/// The value, or nothing if the fault is selected that leaves it out.
pub(crate) fn unless<T: Default>(fault: Fault, value: T) -> T {
    if is(fault) { T::default() } else { value }
}

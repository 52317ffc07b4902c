//! Tests of whole schedules, in a simulation that knows only the actions.

mod admission;
mod example;
mod levels;
mod links;
mod many_cores;
mod overheads;
mod pfair;
mod queues;
mod shared;
mod simso;
mod simulation;
mod vectors;

/// A fault that is put in on purpose: a negative control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The ready task with the smallest number is taken for the head of the ready queue.
    WrongHead,
    /// A job that departs leaves its link behind.
    ForgottenLink,
    /// A job displaces one of the same deadline if its task was added later.
    TiesDisplace,
}

/// What is left out of the rules for nested servers: negative controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NestedFault {
    None,
    /// A free server serves any call, whatever requests with earlier tickets may still need.
    NoTickets,
    /// Nested calls of orphans wait.
    NoRefusal,
    /// A client lends only to its own request, not to those for which that waits.
    NoInheritance,
    /// A core with an orphan has another request in progress.
    NoBackPressure,
}

/// What is left out of PD²: negative controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PfairFault {
    None,
    /// The b-bit, and with it the group deadline, which decides among windows that overlap.
    NoBit,
    /// The group deadline.
    NoGroup,
    /// The windows after a wait are not later.
    NoShift,
}

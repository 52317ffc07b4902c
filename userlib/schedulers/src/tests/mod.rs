//! Tests of whole schedules, in a simulation that knows only the actions.

mod admission;
mod example;
mod levels;
mod links;
mod many_cores;
mod queues;
mod shared;
mod simso;
mod simulation;

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

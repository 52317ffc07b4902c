//! Notifications: each is a word of binary semaphores.

use super::{SchedContext, Thread, WaitQueue};
use crate::arch::Arch;
use crate::token::Ptr;

/// The state of a notification.
pub enum NotificationState<A: Arch> {
    /// No signal is pending, and no thread waits.
    Idle,
    /// Threads wait for a signal.
    Waiting(WaitQueue<A>),
    /// Signals are pending; their badges, combined.
    Active(usize),
}

copyable!([A: Arch] NotificationState<A>);

/// A notification.
pub struct Notification<A: Arch> {
    /// Its state.
    pub state: NotificationState<A>,
    /// The thread that receives signals while it waits at an endpoint.
    pub bound_thread: Option<Ptr<Thread<A>>>,
    /// The scheduling context that is lent to a passive thread when a signal wakes it.
    pub sched_context: Option<Ptr<SchedContext<A>>>,
    /// The owning core, or [`NO_CORE`](super::NO_CORE).
    pub core: u8,
}

impl<A: Arch> Notification<A> {
    /// A notification as retype creates it.
    pub const fn new() -> Self {
        Self {
            state: NotificationState::Idle,
            bound_thread: None,
            sched_context: None,
            core: 0,
        }
    }

    /// The threads that wait.
    pub const fn waiters(&self) -> WaitQueue<A> {
        match self.state {
            NotificationState::Waiting(queue) => queue,
            NotificationState::Idle | NotificationState::Active(_) => WaitQueue::EMPTY,
        }
    }

    /// Sets the threads that wait.
    pub fn set_waiters(&mut self, queue: WaitQueue<A>) {
        self.state = if queue.is_empty() {
            NotificationState::Idle
        } else {
            NotificationState::Waiting(queue)
        };
    }
}

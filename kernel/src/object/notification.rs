//! Notifications: words of binary semaphores.

use super::{SchedContext, Thread, WaitQueue};
use crate::arch::Arch;
use crate::token::Ptr;

/// What a notification holds.
pub enum NotificationState<A: Arch> {
    /// Nothing.
    Idle,
    /// Threads that wait.
    Waiting(WaitQueue<A>),
    /// The badges of the signals that nobody has taken yet.
    Active(usize),
}

impl<A: Arch> Clone for NotificationState<A> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<A: Arch> Copy for NotificationState<A> {}

/// A notification.
pub struct Notification<A: Arch> {
    /// What it holds.
    pub state: NotificationState<A>,
    /// The thread that receives signals while it waits at an endpoint.
    pub bound_thread: Option<Ptr<Thread<A>>>,
    /// The time that a passive thread gets when it is woken.
    pub sched_context: Option<Ptr<SchedContext<A>>>,
    /// The core that it belongs to, if it belongs to one.
    pub core: u8,
}

impl<A: Arch> Notification<A> {
    /// A notification as retype makes it.
    pub const fn new() -> Self {
        Self {
            state: NotificationState::Idle,
            bound_thread: None,
            sched_context: None,
            core: 0,
        }
    }
}

impl<A: Arch> Default for Notification<A> {
    fn default() -> Self {
        Self::new()
    }
}

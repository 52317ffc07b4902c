//! Cancellation of blocking operations.

use super::Ipc;
use crate::arch::{Arch, UserContext};
use crate::object::{PendingFault, Reply, Thread, ThreadState, WaitQueue};
use crate::token::Ptr;

impl<A: Arch> Ipc<A> {
    /// Cancels the operation that a thread is blocked on; the thread becomes inactive. Its pending fault is
    /// discarded. No scheduling context moves.
    pub(crate) fn cancel_ipc(&mut self, thread: Ptr<Thread<A>>) {
        self[thread].fault = PendingFault::None;
        self.stop_idling(thread);
        match self[thread].state {
            ThreadState::BlockedOnSend { endpoint, .. } => self.leave_endpoint(endpoint, thread),
            ThreadState::BlockedOnReceive { endpoint, reply } => {
                if let Some(reply) = reply {
                    self[reply].set_thread(None);
                }
                self.leave_endpoint(endpoint, thread);
            }
            ThreadState::BlockedOnNotification { notification } => {
                let mut queue = self[notification].waiters();
                queue.remove(&mut self.objects, thread);
                self[notification].set_waiters(queue);
            }
            ThreadState::BlockedOnReply { reply } | ThreadState::BlockedOnReturn { reply } => {
                self.unlink_call(thread, reply);
            }
            ThreadState::Inactive | ThreadState::Running | ThreadState::Restart => return,
        }
        self[thread].state = ThreadState::Inactive;
    }

    /// Sets the priority of a thread, and moves a thread in a wait queue to the place of its new priority.
    pub(crate) fn requeue_waiting(&mut self, thread: Ptr<Thread<A>>, priority: u8) {
        match self[thread].state {
            ThreadState::BlockedOnSend { endpoint, .. }
            | ThreadState::BlockedOnReceive { endpoint, .. } => {
                let cursor = self.cancel_cursor_of(endpoint);
                self.leave_endpoint(endpoint, thread);
                self[thread].priority = priority;
                self.wait_at(endpoint, thread);
                // The cursor of a badge cancellation may be past the new place.
                if let Some(cursor) = cursor {
                    self.cancel_if_matching(thread, &cursor);
                }
            }
            ThreadState::BlockedOnNotification { notification } => {
                let mut queue = self[notification].waiters();
                queue.remove(&mut self.objects, thread);
                self[thread].priority = priority;
                queue.insert(&mut self.objects, thread);
                self[notification].set_waiters(queue);
            }
            _ => self[thread].priority = priority,
        }
    }

    /// Cancels the operation that a thread is blocked on, and restarts it; a thread with a pending fault becomes
    /// inactive instead.
    pub(super) fn cancel_and_restart(&mut self, thread: Ptr<Thread<A>>) {
        let has_fault = self[thread].fault.is_some();
        self.cancel_ipc(thread);
        if has_fault {
            self.trace_stopped(thread);
        } else {
            self.wake(thread, ThreadState::Restart);
        }
    }

    /// Restarts the first thread of the wait queue of an object that is being deleted: the thread's lookup will
    /// fail. Returns whether there was one.
    pub(crate) fn restart_first_of(&mut self, queue: WaitQueue<A>) -> bool {
        let first = queue.first(&self.objects);
        if let Some(thread) = first {
            self.cancel_and_restart(thread);
        }
        first.is_some()
    }

    /// Stops a thread.
    pub(crate) fn suspend(&mut self, thread: Ptr<Thread<A>>) {
        if let ThreadState::Running = self[thread].state {
            self[thread].context.complete_system_call();
        }
        self.cancel_ipc(thread);
        self.cancel_yield_to(thread);
        self.leave_scheduler(thread);
        self[thread].state = ThreadState::Inactive;
        self.trace_stopped(thread);
        self.stop_if_current(thread);
    }

    /// Resumes a stopped thread: it executes its instruction again.
    pub(crate) fn resume(&mut self, thread: Ptr<Thread<A>>) {
        if !self[thread].is_runnable() {
            self.cancel_ipc(thread);
            self.wake(thread, ThreadState::Restart);
        }
    }

    /// Unlinks a reply object from its thread, because its last capability is being deleted. If the thread
    /// is the caller of the innermost call, it gets its context back. A call with a limit fails instead.
    pub(crate) fn clear_reply(&mut self, reply: Ptr<Reply<A>>) {
        let Some(thread) = self[reply].thread() else {
            return;
        };
        match self[thread].state {
            ThreadState::BlockedOnReply { .. } if !self.is_limited(reply) => {
                self.pop_call(thread, reply);
                self.trace_stopped(thread);
            }
            _ => self.take_reply(thread, reply),
        }
        debug_assert!(self[reply].thread().is_none(), "it is unlinked");
    }

    /// Takes a reply object from the thread `user`, for example because another thread receives with it. The wait of
    /// `user` is cancelled; a call with a limit fails instead.
    #[cold]
    pub(super) fn take_reply(&mut self, user: Ptr<Thread<A>>, reply: Ptr<Reply<A>>) {
        if self.is_limited(reply) {
            self.fail_call(user, reply);
        } else {
            self.cancel_ipc(user);
            self.trace_stopped(user);
        }
    }
}

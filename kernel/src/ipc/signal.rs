//! Notifications: signal, wait, and lending of a notification's scheduling context.

use abi::registers::CAP;

use super::Ipc;
use crate::arch::{Arch, UserContext};
use crate::object::{Notification, NotificationState, Thread, ThreadState};
use crate::token::Ptr;
use crate::tracing::Move;

impl<A: Arch> Ipc<A> {
    /// Signals a notification.
    pub(crate) fn signal(&mut self, notification: Ptr<Notification<A>>, badge: usize) {
        match self[notification].state {
            NotificationState::Active(word) => {
                self[notification].state = NotificationState::Active(word | badge);
            }
            NotificationState::Waiting(mut queue) => {
                let Some(thread) = queue.first(&self.objects) else {
                    return;
                };
                queue.remove(&mut self.objects, thread);
                self[notification].set_waiters(queue);
                self.deliver(notification, thread, badge);
            }
            NotificationState::Idle => {
                let bound = self[notification].bound_thread.filter(|thread| {
                    matches!(self[*thread].state, ThreadState::BlockedOnReceive { .. })
                });
                match bound {
                    Some(thread) => {
                        self.cancel_ipc(thread);
                        self.deliver(notification, thread, badge);
                    }
                    None => self[notification].state = NotificationState::Active(badge),
                }
            }
        }
    }

    /// Wakes a thread with a signal.
    fn deliver(
        &mut self,
        notification: Ptr<Notification<A>>,
        thread: Ptr<Thread<A>>,
        badge: usize,
    ) {
        self[thread].context.set_result(CAP, badge);
        self.lend_context(notification, thread);
        self.wake(thread, ThreadState::Running);
    }

    /// Waits for a signal.
    pub(crate) fn wait(
        &mut self,
        thread: Ptr<Thread<A>>,
        notification: Ptr<Notification<A>>,
        blocking: bool,
    ) {
        match self[notification].state {
            NotificationState::Active(word) => {
                self[notification].state = NotificationState::Idle;
                self[notification].core = self[thread].core;
                self[thread].context.set_result(CAP, word);
                self.lend_context(notification, thread);
                self.switch_to_migrated(thread);
            }
            _ if !blocking => self[thread].context.set_result(CAP, 0),
            _ => self.wait_in(notification, thread),
        }
    }

    fn wait_in(&mut self, notification: Ptr<Notification<A>>, thread: Ptr<Thread<A>>) {
        self.return_lent_context(thread, notification);
        self.leave_scheduler(thread);
        self[thread].state = ThreadState::BlockedOnNotification { notification };
        self.trace_blocked(thread);
        let mut queue = self[notification].waiters();
        let core = queue.core_with(self[notification].core, self[thread].core);
        self[notification].core = core;
        queue.insert(&mut self.objects, thread);
        self[notification].state = NotificationState::Waiting(queue);
    }

    /// Lends the notification's scheduling context to a passive thread, unless another thread has it.
    pub(crate) fn lend_context(
        &mut self,
        notification: Ptr<Notification<A>>,
        thread: Ptr<Thread<A>>,
    ) {
        if self[thread].sched_context.is_none()
            && let Some(context) = self[notification].sched_context
            && self[context].thread.is_none()
        {
            if self[context].owner.is_none() {
                let criticality = self[thread].criticality;
                self[context].set_criticality(criticality);
            }
            self.trace_move(context, Some(thread), Move::Signal);
            self.donate(context, thread);
            self.wake_context(thread);
        }
    }

    /// Takes a lent context back from a thread that is about to block.
    pub(crate) fn return_lent_context(
        &mut self,
        thread: Ptr<Thread<A>>,
        notification: Ptr<Notification<A>>,
    ) {
        if let Some(context) = self[thread].sched_context
            && self[notification].sched_context == Some(context)
        {
            self.trace_move(context, None, Move::Take);
            self.take_context(context);
            self.drop_orphan_limit(context);
        }
    }
}

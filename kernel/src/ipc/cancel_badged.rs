//! `CNode_CancelBadgedSends`: cancels the sends of all senders with one badge, preemptibly.
//!
//! Senders with another badge stay in the queue, so a cancellation that is preempted needs a cursor: the next
//! sender to examine. The cursor is stored in the thread at the root of the queue, and a bit in the endpoint
//! shows whether there is one. If the next sender leaves the queue, the cursor advances.
//!
//! An endpoint has one cursor at a time. A thread that starts another cancellation first completes the
//! one in progress, and then starts its own without a preemption point in between. Cancellations are
//! numbered. A preempted caller keeps its number; if, when it continues, the endpoint has no cursor with
//! this number, another thread has completed the cancellation. Senders that begin to wait after the start
//! of a cancellation are not affected by it: each sender stores the number of the latest cancellation at
//! that time.

use super::Ipc;
use crate::arch::Arch;
use crate::error::Preempted;
use crate::object::{CancelCursor, Endpoint, EndpointState, Progress, Thread, ThreadState};
use crate::sched::work;
use crate::token::Ptr;

impl<A: Arch> Ipc<A> {
    /// Restarts all threads that wait to send with this badge.
    ///
    /// # Errors
    /// [`Preempted`]: `caller` must restart its system call.
    pub(crate) fn cancel_badged_sends(
        &mut self,
        caller: Ptr<Thread<A>>,
        endpoint: Ptr<Endpoint<A>>,
        badge: usize,
    ) -> Result<(), Preempted> {
        let mut own = match core::mem::take(&mut self[caller].progress) {
            Progress::CancelCursor {
                endpoint: blocked_on,
                number,
            } if blocked_on == endpoint => Some(number),
            _ => None,
        };
        loop {
            match (self.cancel_cursor_of(endpoint), own) {
                (None, None) => match self.begin_cancelling(endpoint, badge) {
                    Some(number) => own = Some(number),
                    None => return Ok(()),
                },
                (None, Some(_)) => return Ok(()),
                (Some(cursor), Some(number)) if cursor.number != number => return Ok(()),
                (Some(cursor), _) => {
                    let is_over = self.step(endpoint, cursor);
                    // No preemption point between the end of another thread's cancellation and the start
                    // of this one.
                    if !is_over && self.preempt_between(work::WAITER).is_err() {
                        if let Some(number) = own {
                            let endpoint = endpoint.into();
                            self[caller].progress = Progress::CancelCursor { endpoint, number };
                        }
                        return Err(Preempted);
                    }
                }
            }
        }
    }

    /// The badge cancellation cursor of an endpoint.
    pub(super) fn cancel_cursor_of(&self, endpoint: Ptr<Endpoint<A>>) -> Option<CancelCursor<A>> {
        if !self[endpoint].is_cancelling() {
            return None;
        }
        self[self[endpoint].queue().root()?].cursor
    }

    fn set_cancel_cursor(&mut self, endpoint: Ptr<Endpoint<A>>, cursor: Option<CancelCursor<A>>) {
        let root = self[endpoint].queue().root();
        if let Some(root) = root {
            self[root].cursor = cursor;
        }
        self[endpoint].set_cancelling(root.is_some() && cursor.is_some());
    }

    /// Begins a cancellation and returns its number; `None` if no sender waits.
    fn begin_cancelling(&mut self, endpoint: Ptr<Endpoint<A>>, badge: usize) -> Option<u64> {
        let EndpointState::Sending(queue) = self[endpoint].state() else {
            return None;
        };
        let next = queue.first(&self.objects)?;
        self.exclusive()
            .each_core(|kernel| kernel.core.cancels += 1);
        let number = self.core.cancels;
        let cursor = CancelCursor {
            next,
            badge,
            number,
        };
        self.set_cancel_cursor(endpoint, Some(cursor));
        Some(number)
    }

    /// Examines one sender. Returns whether it was the last.
    fn step(&mut self, endpoint: Ptr<Endpoint<A>>, cursor: CancelCursor<A>) -> bool {
        let thread = cursor.next;
        let next = self[endpoint].queue().after(&self.objects, thread);
        self.set_cancel_cursor(endpoint, next.map(|next| CancelCursor { next, ..cursor }));
        self.cancel_if_matching(thread, &cursor);
        next.is_none()
    }

    /// Takes a sender out of the queue and restarts it, if the cancellation applies to it.
    pub(super) fn cancel_if_matching(&mut self, thread: Ptr<Thread<A>>, cursor: &CancelCursor<A>) {
        let is_meant = self[thread].last_cancel < cursor.number
            && matches!(
                self[thread].state,
                ThreadState::BlockedOnSend { badge, .. } if badge == cursor.badge
            );
        if is_meant {
            self.cancel_and_restart(thread);
        }
    }

    /// Takes a sender out of the queue of an endpoint that has a cursor. The removal may change the root of
    /// the queue, in which the cursor is stored, and the cursor must not point to the removed sender.
    #[cold]
    pub(super) fn leave_while_cancelling(
        &mut self,
        endpoint: Ptr<Endpoint<A>>,
        thread: Ptr<Thread<A>>,
    ) {
        let mut cursor = self.cancel_cursor_of(endpoint);
        self.set_cancel_cursor(endpoint, None);
        if let Some(current) = cursor
            && current.next == thread
        {
            let next = self[endpoint].queue().after(&self.objects, thread);
            cursor = next.map(|next| CancelCursor { next, ..current });
        }
        self.leave_endpoint(endpoint, thread);
        self.set_cancel_cursor(endpoint, cursor);
    }
}

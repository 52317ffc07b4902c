//! `CNode_CancelBadgedSends`: cancels the sends of all senders with one badge, preemptibly.
//!
//! An endpoint has one badge cancellation cursor at a time (module `ipc::cancel_badged`). A thread that starts another
//! cancellation first completes the one in progress, and then starts its own without a preemption point in between.
//! Cancellations are numbered. A preempted caller keeps its number; if, when it continues, the endpoint has no cursor with
//! this number, another thread has completed the cancellation. Senders that begin to wait after the start of a cancellation
//! are not affected by it: each sender stores the number of the latest cancellation at that time.

use crate::ExclusiveKernel;
use crate::arch::Arch;
use crate::error::Preempted;
use crate::object::{CancelCursor, Endpoint, EndpointState, Progress, Thread};
use crate::sched::work;
use crate::token::Ptr;

impl<A: Arch> ExclusiveKernel<A> {
    /// Restarts all threads that wait to send with this badge.
    ///
    /// # Errors
    /// [`Preempted`]: `caller` must restart its system call.
    pub(super) fn cancel_badged_sends(
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
                    let is_over = self.cancel_next(endpoint, cursor);
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
}

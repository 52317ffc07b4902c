//! `CNode_CancelBadgedSends`: cancels the sends of all senders with one badge, preemptibly.
//!
//! Senders with another badge stay in the queue, so a cancellation that is preempted needs a cursor: the
//! next sender to examine. The cursor is stored in the thread at the root of the queue, and a bit in the
//! endpoint tells whether there is one. If the next sender leaves the queue, the cursor advances.
//!
//! An endpoint has one cursor at a time. A thread that starts another cancellation first completes the
//! one in progress, and then starts its own without a preemption point in between. Cancellations are
//! numbered. A preempted caller keeps its number; if, when it continues, the endpoint has no cursor with
//! this number, another thread has completed the cancellation. Senders that begin to wait after the start
//! of a cancellation are not affected by it: each sender stores the number of the latest cancellation at
//! that time.

use crate::Kernel;
use crate::arch::Arch;
use crate::object::{Endpoint, EndpointState, Membership, Progress, Sweep, Thread, ThreadState};
use crate::sched::work;
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Restarts all threads that wait to send with this badge. Returns whether the operation is complete;
    /// if not, `caller` must restart its system call.
    pub(crate) fn cancel_badged_sends(
        &mut self,
        caller: Ptr<Thread<A>>,
        endpoint: Ptr<Endpoint<A>>,
        badge: usize,
    ) -> bool {
        let mut own = match core::mem::take(&mut self[caller].progress) {
            Progress::Sweep {
                endpoint: place,
                number,
            } if place == endpoint => Some(number),
            _ => None,
        };
        loop {
            match (self.sweep_of(endpoint), own) {
                (None, None) => match self.begin_sweep(endpoint, badge) {
                    Some(number) => own = Some(number),
                    None => return true,
                },
                (None, Some(_)) => return true,
                (Some(sweep), Some(number)) if sweep.number != number => return true,
                (Some(sweep), _) => {
                    let is_over = self.step(endpoint, sweep);
                    // No preemption point between the end of another thread's cancellation and the start
                    // of this one.
                    if !is_over && self.should_preempt(work::WAITER) {
                        if let Some(number) = own {
                            self[caller].progress = Progress::Sweep { endpoint, number };
                        }
                        return false;
                    }
                }
            }
        }
    }

    /// The badge cancellation cursor of an endpoint.
    pub(super) fn sweep_of(&self, endpoint: Ptr<Endpoint<A>>) -> Option<Sweep<A>> {
        if !self[endpoint].is_swept() {
            return None;
        }
        match self[endpoint].state() {
            EndpointState::Sending(queue) => self[queue.root()?].sweep,
            _ => None,
        }
    }

    fn set_sweep(&mut self, endpoint: Ptr<Endpoint<A>>, sweep: Option<Sweep<A>>) {
        let root = match self[endpoint].state() {
            EndpointState::Sending(queue) => queue.root(),
            _ => None,
        };
        if let Some(root) = root {
            self[root].sweep = sweep;
        }
        self[endpoint].set_swept(root.is_some() && sweep.is_some());
    }

    /// Begins a cancellation and returns its number; `None` if no sender waits.
    fn begin_sweep(&mut self, endpoint: Ptr<Endpoint<A>>, badge: usize) -> Option<u64> {
        let EndpointState::Sending(queue) = self[endpoint].state() else {
            return None;
        };
        let next = queue.first(&self.objects)?;
        self.each_core(|kernel| kernel.core.sweeps += 1);
        let number = self.core.sweeps;
        let sweep = Sweep {
            next,
            badge,
            number,
        };
        self.set_sweep(endpoint, Some(sweep));
        Some(number)
    }

    /// Examines one sender. Returns whether it was the last.
    fn step(&mut self, endpoint: Ptr<Endpoint<A>>, sweep: Sweep<A>) -> bool {
        let thread = sweep.next;
        let next = self.sender_behind(endpoint, thread);
        self.set_sweep(endpoint, next.map(|next| Sweep { next, ..sweep }));
        self.sweep_out(endpoint, thread, &sweep);
        next.is_none()
    }

    fn sender_behind(
        &self,
        endpoint: Ptr<Endpoint<A>>,
        thread: Ptr<Thread<A>>,
    ) -> Option<Ptr<Thread<A>>> {
        match self[endpoint].state() {
            EndpointState::Sending(queue) => queue.queue().after(&self.objects, thread),
            _ => None,
        }
    }

    /// Takes a sender out of the queue and restarts it, if the cancellation applies to it.
    pub(super) fn sweep_out(
        &mut self,
        endpoint: Ptr<Endpoint<A>>,
        thread: Ptr<Thread<A>>,
        sweep: &Sweep<A>,
    ) {
        let is_meant = self[thread].last_sweep < sweep.number
            && matches!(
                self[thread].state,
                ThreadState::BlockedOnSend { badge, .. } if badge == sweep.badge
            );
        if is_meant {
            self.leave_endpoint(endpoint, thread);
            self.restart_or_give_up(thread);
        }
    }

    /// Takes a sender out of the queue of an endpoint that has a cursor. The removal may change the root of
    /// the queue, in which the cursor is stored, and the cursor must not point to the removed sender.
    #[cold]
    pub(super) fn leave_swept(&mut self, endpoint: Ptr<Endpoint<A>>, thread: Ptr<Thread<A>>) {
        let mut sweep = self.sweep_of(endpoint);
        self.set_sweep(endpoint, None);
        if let Some(current) = sweep
            && current.next == thread
        {
            let next = self.sender_behind(endpoint, thread);
            sweep = next.map(|next| Sweep { next, ..current });
        }
        if let EndpointState::Sending(mut queue) = self[endpoint].state() {
            queue.remove(&mut self.objects, thread);
            self[thread].membership = Membership::None;
            self[endpoint].set_state(EndpointState::Sending(queue));
        }
        self.set_sweep(endpoint, sweep);
    }
}

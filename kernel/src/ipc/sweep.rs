//! `CNode_CancelBadgedSends`: going through all senders of an endpoint, a few at a time.
//!
//! The senders that a sweep has passed stay where they are, so a sweep that stops must remember its
//! place. It is the next sender to be looked at, noted with the root of the queue, and the endpoint is
//! marked so that nobody else has to look for the note. Whoever leaves the queue moves the place on.
//!
//! An endpoint has one sweep at a time. Who wants another one completes the first and begins their own,
//! without a pause in between. A thread that stopped in its own knows it by its number: when it comes
//! back and that sweep is gone, somebody has completed it. A thread that begins to send while a sweep
//! goes on is not meant by it, so each sender notes the number of the last sweep that it has not missed.

use crate::Kernel;
use crate::arch::Arch;
use crate::object::{Endpoint, EndpointState, Membership, Progress, Sweep, Thread, ThreadState};
use crate::sched::work;
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Threads that wait to send with this badge try again. Returns whether all is done; if not,
    /// `caller` shall ask again.
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
                    // Between the end of another's sweep and our own there is no pause.
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

    /// The sweep that an endpoint is in.
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

    /// Begins a sweep and returns its number, if anybody waits to send.
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

    /// Looks at one sender. Returns whether it was the last.
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

    /// Sends a sender back to where it came from, if a sweep means it.
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

    /// Takes a sender out of the queue of an endpoint that is being swept: the note of the sweep's
    /// place stays with the root, and the place with somebody in the queue.
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

//! On which context the server runs.

use core::cmp::Reverse;
use core::mem;

use schedulers::{Client, SharedServer};
use userlib::cap::YieldTarget;
use userlib::{Message, Microseconds, Result};

use super::service::{Guard, Hold};
use super::{Event, NotServed, Words};

impl<Q, const CLUSTERS: usize, const CORES: usize, const TASKS: usize>
    Guard<Q, CLUSTERS, CORES, TASKS>
where
    Q: SharedServer<Priority = Reverse<u8>>,
{
    /// The cluster decides anew what its cores run, and whose contexts it offers.
    pub(super) fn decide(&mut self, cluster: usize) {
        self.decisions[cluster] += 1;
        let tasks = self.seats.scheduled(cluster);
        let offered = self.lenders.offer(cluster, self.decisions[cluster], tasks);
        debug_assert!(offered.is_ok(), "the cluster exists");
    }

    /// Lets the server run on the context that pays now. A client whose budget turns out to have ended is aborted, and one
    /// whose objects are gone is lost, so this ends after a step for each client.
    ///
    /// # Errors
    /// Of the kernel, if it refuses what is done with the server.
    pub(super) fn lend(&mut self, observe: &mut impl FnMut(Event)) -> Result {
        loop {
            let wanted = match self.hold {
                Hold::Begins => None,
                _ => self.lenders.lender(&self.queues, &self.decisions),
            };
            if wanted == self.lender {
                return Ok(());
            }
            match (self.lender, wanted) {
                (None, Some(wanted)) => self.give(wanted, observe)?,
                _ => self.check_lender(observe),
            }
        }
    }

    /// Gives the server the context of a client that waits. If that has no budget, the request is aborted.
    fn give(&mut self, client: Client, observe: &mut impl FnMut(Event)) -> Result {
        let Some(seat) = self.seats.get(client) else {
            // The offer is older than the loss of its seat.
            self.decide(client.cluster);
            return Ok(());
        };
        if seat.context.unbind_object(seat.thread).is_err() {
            self.lose(client, observe);
            return Ok(());
        }
        // Higher-priority threads of the lender's core preempt the server as they would preempt the lender.
        self.server
            .tcb
            .set_priority(self.authority, seat.priority)?;
        if self.hold == Hold::TimedOut {
            self.held.send(Message::empty(0));
            self.hold = Hold::Nothing;
        }
        let bound = seat.context.bind(self.server.tcb);
        self.lender = Some(client);
        match bound {
            Ok(()) => self.check_budget(client, observe),
            Err(_) => self.lose(client, observe),
        }
        Ok(())
    }

    /// Aborts the request of the client on whose context the server runs if the budget has ended.
    pub(super) fn check_budget(&mut self, client: Client, observe: &mut impl FnMut(Event)) {
        let Some(seat) = self.seats.get(client) else {
            return;
        };
        // It has a lower priority: the call only tells.
        match seat.context.yield_to_target() {
            Ok((consumed, target)) => {
                seat.drained = seat.drained + consumed;
                if target == YieldTarget::OutOfTime {
                    self.abort(client, observe);
                }
            }
            Err(_) => self.lose(client, observe),
        }
    }

    /// Takes back the context of a lender that goes on waiting.
    fn take_back(&mut self, client: Client, observe: &mut impl FnMut(Event)) {
        let Some(seat) = self.seats.get(client) else {
            self.lender = None;
            return;
        };
        if seat.context.unbind_object(self.server.tcb).is_err() {
            return self.lose(client, observe);
        }
        self.lender = None;
        // The kernel refuses it if the budget has ended. Then the thread gets it when its wait has ended.
        if seat.context.bind(seat.thread).is_err() {
            seat.is_apart = true;
            self.abort(client, observe);
        }
    }

    /// Aborts the client's request, because its budget has ended.
    pub(super) fn abort(&mut self, client: Client, observe: &mut impl FnMut(Event)) {
        if self.queues.abort(client).is_ok() {
            self.finish(client, Err(NotServed::Aborted), observe);
            observe(Event::Aborted(client));
        }
    }

    /// Ends the client's wait; returns what it has used of its budget.
    pub(super) fn finish(
        &mut self,
        client: Client,
        answer: core::result::Result<Words, NotServed>,
        observe: &mut impl FnMut(Event),
    ) -> Microseconds {
        let Some(seat) = self.seats.get(client) else {
            return Microseconds(0);
        };
        seat.end_wait(answer);
        let (context, thread) = (seat.context, seat.thread);
        let mut is_free = mem::take(&mut seat.is_apart);
        let mut done = Ok(());
        if self.lender == Some(client) {
            done = context.unbind_object(self.server.tcb);
            self.lender = None;
            is_free = true;
        }
        let used = context.consumed();
        let drained = seat.drained + used.unwrap_or(Microseconds(0));
        seat.wake.signal();
        if is_free {
            // After the signal: contexts without budget are not bound to threads that wait.
            done = done.and_then(|()| context.bind(thread));
        }
        if done.and(used.map(drop)).is_err() {
            self.lose(client, observe);
        }
        self.decide(client.cluster);
        drained
    }

    /// Takes the context of the lender back, which shows whether the server still had it; [`lend`](Self::lend) gives it again.
    pub(super) fn check_lender(&mut self, observe: &mut impl FnMut(Event)) {
        if let Some(lender) = self.lender {
            self.take_back(lender, observe);
        }
    }

    /// The client's thread or context is gone, or is bound to something else: it is no client any more.
    pub(super) fn lose(&mut self, client: Client, observe: &mut impl FnMut(Event)) {
        if let Some(seat) = self.seats.take(client) {
            if self.lender == Some(client) {
                self.lender = None;
                // Whatever is wrong with it: the server is not to have it any more.
                let _already_free = seat.context.unbind_object(self.server.tcb);
            }
            let _no_request = self.queues.abort(client);
            self.decide(client.cluster);
            observe(Event::Lost(client));
        }
    }
}

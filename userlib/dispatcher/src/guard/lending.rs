//! On which context the server runs.

use core::cmp::Reverse;

use schedulers::{Client, SharedServer};
use userlib::cap::YieldTarget;
use userlib::{Message, Microseconds, Result};

use super::Words;
use super::seats::Phase;
use super::service::{Event, Guard, Hold};

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

    /// Lets the server run on the context that pays now. A client whose budget turns out to have ended is aborted, so this
    /// ends after a step for each client.
    pub(super) fn lend(&mut self, observe: &mut impl FnMut(Event)) -> Result {
        let before = self.lender;
        loop {
            let wanted = self.lenders.lender(&self.queues, &self.decisions);
            if wanted == self.lender {
                break;
            }
            if let Some(lender) = self.lender {
                self.take_back(lender, observe)?;
            } else if let Some(lender) = wanted
                && !self.give(lender)?
            {
                self.abort(lender, observe)?;
            }
        }
        if self.lender != before {
            observe(Event::Lent(self.lender));
        }
        Ok(())
    }

    /// Gives the server the context of a client that waits; returns whether that has budget.
    fn give(&mut self, client: Client) -> Result<bool> {
        let Some(seat) = self.seats.get(client) else {
            return Ok(false);
        };
        seat.context.unbind_object(seat.thread)?;
        // Higher-priority threads of the lender's core preempt the server as they would preempt the lender.
        self.server.set_priority(self.authority, seat.priority)?;
        if self.hold == Hold::TimedOut {
            self.held.send(Message::empty(0));
            self.hold = Hold::Nothing;
        }
        seat.context.bind(self.server)?;
        self.lender = Some(client);
        // It has a lower priority: the call only tells.
        let (consumed, target) = seat.context.yield_to_target()?;
        seat.drained = seat.drained + consumed;
        Ok(target != YieldTarget::OutOfTime)
    }

    /// Takes back the context of a lender that goes on waiting.
    fn take_back(&mut self, client: Client, observe: &mut impl FnMut(Event)) -> Result {
        if let Some(seat) = self.seats.get(client) {
            seat.context.unbind_object(self.server)?;
            self.lender = None;
            // The kernel refuses it if the budget has ended.
            if seat.context.bind(seat.thread).is_err() {
                self.lender = Some(client);
                seat.context.bind(self.server)?;
                return self.abort(client, observe);
            }
        }
        Ok(())
    }

    /// Aborts the client's request, because its budget has ended.
    pub(super) fn abort(&mut self, client: Client, observe: &mut impl FnMut(Event)) -> Result {
        if self.queues.abort(client).is_ok() {
            self.finish(client, None)?;
            observe(Event::Aborted(client));
        }
        Ok(())
    }

    /// Ends the client's wait, with an answer or without; returns what it has used of its budget.
    pub(super) fn finish(&mut self, client: Client, answer: Option<Words>) -> Result<Microseconds> {
        let Some(seat) = self.seats.get(client) else {
            return Ok(Microseconds(0));
        };
        seat.phase = match answer {
            Some(_) => Phase::Computes,
            None => Phase::Away,
        };
        seat.answer.put(answer);
        let (context, thread) = (seat.context, seat.thread);
        let is_lender = self.lender == Some(client);
        if is_lender {
            context.unbind_object(self.server)?;
            self.lender = None;
        }
        let drained = seat.drained + context.consumed()?;
        seat.wake.signal();
        if is_lender {
            // After the signal: contexts without budget are not bound to threads that wait.
            context.bind(thread)?;
        }
        self.decide(client.cluster);
        Ok(drained)
    }
}

//! On which context the server runs.

use core::cmp::Reverse;

use schedulers::{Client, SharedServer};
use userlib::{Message, Microseconds, Result};

use super::seats::Budget;
use super::service::{Guard, Hold};
use super::{Event, NotServed, Words};

impl<Q, const CLUSTERS: usize, const CORES: usize, const TASKS: usize>
    Guard<Q, CLUSTERS, CORES, TASKS>
where
    Q: SharedServer<Priority = Reverse<u8>>,
{
    /// The cluster decides again what its cores run, and whose contexts it offers.
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
            let lender = self.seats.lender(0);
            if wanted == lender {
                return Ok(());
            }
            match (lender, wanted) {
                (None, Some(wanted)) => {
                    if self.hold == Hold::TimedOut {
                        self.held.send(Message::empty(0));
                        self.hold = Hold::Nothing;
                    }
                    let budget = self.seats.give(0, wanted)?;
                    self.act_on(wanted, budget, observe);
                }
                _ => self.check_lender(observe),
            }
        }
    }

    /// Takes the context of the lender back, which shows whether the server still had it; [`lend`](Self::lend) gives it again.
    pub(super) fn check_lender(&mut self, observe: &mut impl FnMut(Event)) {
        if let Some((lender, budget)) = self.seats.take_back(0) {
            self.act_on(lender, budget, observe);
        }
    }

    /// Aborts the client's request if its budget has ended, and removes a client that is lost.
    pub(super) fn act_on(
        &mut self,
        client: Client,
        budget: Budget,
        observe: &mut impl FnMut(Event),
    ) {
        match budget {
            Budget::Lasts => {}
            Budget::Ended => {
                if self.queues.abort(client).is_ok() {
                    self.finish(client, Err(NotServed::Aborted), observe);
                    observe(Event::Aborted(client));
                }
            }
            Budget::Lost => {
                if self.seats.remove(client) {
                    let _no_request = self.queues.abort(client);
                    observe(Event::Lost(client));
                }
                // An offer may be older than the loss.
                self.decide(client.cluster);
            }
        }
    }

    /// Ends the client's wait; returns what it has used of its budget.
    pub(super) fn finish(
        &mut self,
        client: Client,
        answer: core::result::Result<Words, NotServed>,
        observe: &mut impl FnMut(Event),
    ) -> Microseconds {
        let (drained, budget) = self.seats.end_wait(client, answer);
        self.act_on(client, budget, observe);
        self.decide(client.cluster);
        drained
    }
}

//! The guard's loop.

use core::cmp::Reverse;
use core::convert::Infallible;
use core::mem;

use schedulers::{Client, Decision, Lenders, Service, SharedServer};
use userlib::cap::{Endpoint, Registers, Reply};
use userlib::{Environment, Fault, Message, Microseconds, Result, Thread};

use super::seats::{Budget, Phase, Seats};
use super::threads::{Reservation, Watchdog, start_server};
use super::{Caller, Event, Mailbox, NotServed, Words, label, words};

/// What keeps the server from running, but for the lack of a lender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    Nothing,
    /// It waits for a request.
    Idle,
    /// It waits for the reply to its timeout fault.
    TimedOut,
    /// It starts again after a fault, on its own context.
    Begins,
}

/// Passes requests on to a server, by the decisions of `Q`, for clusters of up to `CORES` cores and `TASKS` clients each.
pub struct Guard<Q, const CLUSTERS: usize, const CORES: usize, const TASKS: usize> {
    pub(super) queues: Q,
    pub(super) lenders: Lenders<CLUSTERS, CORES>,
    /// The numbers of the clusters' latest decisions.
    pub(super) decisions: [Decision; CLUSTERS],
    pub(super) seats: Seats<CLUSTERS, TASKS, 1>,
    events: Endpoint,
    /// Takes the next call.
    spare: Reply,
    /// How the server begins.
    initial: Registers,
    pub(super) hold: Hold,
    /// Holds the server's call or fault.
    pub(super) held: Reply,
}

impl<Q, const CLUSTERS: usize, const CORES: usize, const TASKS: usize>
    Guard<Q, CLUSTERS, CORES, TASKS>
where
    Q: SharedServer<Priority = Reverse<u8>>,
{
    const SERVER: usize = Seats::<CLUSTERS, TASKS, 1>::SERVER;
    const WATCHDOG: usize = Seats::<CLUSTERS, TASKS, 1>::WATCHDOG;

    /// A guard without clients. It starts the server, which answers each request by `work`, and waits until that is ready:
    /// the calling thread's priority must be above 1, and no thread of its core between them may run for long. After a
    /// fault, the server starts again with `work` as it is now.
    pub fn new(
        environment: &mut Environment,
        queues: Q,
        watchdog: Watchdog,
        mut work: impl FnMut(Words) -> Words + Copy + Send + 'static,
    ) -> Result<Self> {
        let allocator = &mut environment.allocator;
        let events: Endpoint = allocator.create()?;
        let (spare, held): (Reply, Reply) = (allocator.create()?, allocator.create()?);
        let (server, initial) = start_server(
            environment,
            events,
            Self::SERVER,
            held,
            move |_, request| work(request),
        )?;
        watchdog.start(environment, events, Self::WATCHDOG)?;
        Ok(Self {
            queues,
            lenders: Lenders::new(),
            decisions: [0; CLUSTERS],
            seats: Seats::new([server], events, environment.tcb),
            events,
            spare,
            initial,
            hold: Hold::Idle,
            held,
        })
    }

    /// Adds a client, whose thread runs `work` when it is started. `client` must be free, and `answer` be its own.
    ///
    /// # Panics
    /// If there is no such cluster, core, or number in it.
    pub fn add(
        &mut self,
        environment: &mut Environment,
        client: Client,
        reservation: Reservation,
        answer: &'static Mailbox,
        work: impl FnOnce(Caller) + Send + 'static,
    ) -> Result<Thread> {
        assert!(reservation.core < CORES, "the cluster has no such core");
        self.seats
            .add(environment, client, reservation, answer, work)
    }

    /// Serves. `observe` gets each event; it must not wait.
    ///
    /// # Errors
    /// Of the kernel, if it refuses what the guard does with its own objects.
    pub fn run(mut self, mut observe: impl FnMut(Event)) -> Result<Infallible> {
        loop {
            let received = self.events.recv(self.spare);
            let before = self.seats.lender(0);
            if let Some(message) = received.message {
                match received.badge {
                    badge if badge == Self::SERVER => self.server_reports(message, &mut observe)?,
                    badge if badge == Self::WATCHDOG => self.check_lender(&mut observe),
                    badge => self.client_reports(badge, message, &mut observe),
                }
            }
            self.lend(&mut observe)?;
            let lender = self.seats.lender(0);
            if lender != before {
                observe(Event::Lent(lender));
            }
        }
    }

    fn client_reports(&mut self, badge: usize, message: Message, observe: &mut impl FnMut(Event)) {
        let client = Seats::<CLUSTERS, TASKS, 1>::client(badge);
        let Some(seat) = self.seats.get(client) else {
            return;
        };
        match message.label() {
            label::BEGINS => seat.phase = Phase::Computes,
            label::ENDS => seat.phase = Phase::Away,
            label::CALLS => {
                // Before it is queued: if its context is gone, nothing may wait for it to be served.
                if seat.context.consumed().is_err() {
                    return self.act_on(client, Budget::Lost, observe);
                }
                let priority = Reverse(seat.priority);
                // The client waits until it has the answer: it has no other request.
                if self.queues.invoke(client, priority).is_err() {
                    return;
                }
                seat.begin_wait(&message);
                if self.hold == Hold::Idle {
                    self.serve_next();
                }
            }
            _ => {}
        }
        self.decide(client.cluster);
        // Nothing if it was no call.
        self.spare.send(Message::empty(0));
    }

    fn server_reports(&mut self, message: Message, observe: &mut impl FnMut(Event)) -> Result {
        mem::swap(&mut self.spare, &mut self.held);
        if message.label() != label::SERVED {
            match Fault::from_message(&message) {
                Fault::Timeout { .. } => self.time_out(observe),
                fault => {
                    self.restart(observe)?;
                    self.end_service(Err(NotServed::Faulted), observe);
                    observe(Event::Faulted(fault));
                }
            }
            return Ok(());
        }
        if self.hold == Hold::Begins {
            self.seats.has_restarted(0)?;
        } else if let Some((client, drained)) = self.end_service(Ok(words(&message)), observe) {
            observe(Event::Served { client, drained });
        }
        self.hold = Hold::Idle;
        self.serve_next();
        Ok(())
    }

    /// The budget on which the server ran has ended. If the message comes late, the server has another lender by now, whose
    /// budget may not have ended. The message's badge does not tell: it is the context's, which its owner may have changed.
    fn time_out(&mut self, observe: &mut impl FnMut(Event)) {
        match self.seats.lender(0) {
            Some(lender) => {
                self.held.send(Message::empty(0));
                let budget = self.seats.check_budget(lender);
                self.act_on(lender, budget, observe);
            }
            None => self.hold = Hold::TimedOut,
        }
    }

    /// Lets the server start again, on its own context, until it waits for a request.
    fn restart(&mut self, observe: &mut impl FnMut(Event)) -> Result {
        self.check_lender(observe);
        self.seats.restart(0, &self.initial)?;
        self.hold = Hold::Begins;
        Ok(())
    }

    /// The request in service ends. Returns its client, if it has not been aborted, and what that has used of its budget.
    fn end_service(
        &mut self,
        answer: core::result::Result<Words, NotServed>,
        observe: &mut impl FnMut(Event),
    ) -> Option<(Option<Client>, Microseconds)> {
        let client = self.queues.reply().ok()?.to;
        let drained = client.map(|client| self.finish(client, answer, observe));
        Some((client, drained.unwrap_or(Microseconds(0))))
    }

    /// Gives the server, which waits, the next request. It runs when it has a lender.
    fn serve_next(&mut self) {
        while let Some(Service { client, is_orphan }) = self.queues.in_service() {
            if let Some(seat) = self.seats.get(client).filter(|_| !is_orphan) {
                self.held.send(Message::new(0, &seat.request));
                self.hold = Hold::Nothing;
                return;
            }
            // Aborted while the server started again.
            if self.queues.reply().is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;

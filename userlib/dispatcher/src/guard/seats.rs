//! What a guard knows of its clients, and whose contexts its servers have.

use core::mem;

use schedulers::{Client, TaskId};
use userlib::cap::{Endpoint, Notification, Registers, SchedContext, Tcb, YieldTarget};
use userlib::{Environment, Message, Microseconds, Result, Thread};

use super::threads::{Reservation, seat};
use super::{Caller, Mailbox, NotServed, Words, words};

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing: it sleeps, or waits for budget.
    Away,
    /// It computes when its core has no higher-priority client.
    Computes,
    /// It waits for the server's answer.
    Waits,
}

/// What the kernel says of a client's budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Budget {
    Lasts,
    /// The client's request is to be aborted.
    Ended,
    /// The client's thread or context is gone, or is bound to something else: it is no client any more.
    Lost,
}

/// A client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    pub thread: Tcb,
    pub context: SchedContext,
    /// Bound to the thread: ends its wait.
    pub wake: Notification,
    pub answer: &'static Mailbox,
    /// The number of its core in its cluster.
    pub core: usize,
    pub priority: u8,
    pub phase: Phase,
    pub request: Words,
    /// What the request has used of its budget, except since the kernel was asked last.
    pub drained: Microseconds,
    /// Whether the context is bound to neither the thread nor the server.
    pub is_apart: bool,
}

impl Seat {
    /// The client calls.
    pub fn begin_wait(&mut self, message: &Message) {
        self.phase = Phase::Waits;
        self.request = words(message);
        self.drained = Microseconds(0);
    }
}

/// All clients, by cluster and number, and the servers.
#[derive(Debug)]
pub(super) struct Seats<const CLUSTERS: usize, const TASKS: usize, const SERVERS: usize> {
    pub clients: [[Option<Seat>; TASKS]; CLUSTERS],
    /// Their own contexts are bound to them only while they begin.
    servers: [Thread; SERVERS],
    /// The clients whose contexts they have.
    lenders: [Option<Client>; SERVERS],
    /// Where clients call.
    events: Endpoint,
    /// For the servers' priorities, which are those of their lenders.
    authority: Tcb,
}

impl<const CLUSTERS: usize, const TASKS: usize, const SERVERS: usize>
    Seats<CLUSTERS, TASKS, SERVERS>
{
    /// The badge of the first server's messages. Those of clients are below, and not 0.
    pub const SERVER: usize = CLUSTERS * TASKS + 1;
    /// The badge of the watchdog's.
    pub const WATCHDOG: usize = Self::SERVER + SERVERS;

    pub fn new(servers: [Thread; SERVERS], events: Endpoint, authority: Tcb) -> Self {
        Self {
            clients: [[None; TASKS]; CLUSTERS],
            servers,
            lenders: [None; SERVERS],
            events,
            authority,
        }
    }

    /// Adds a client, whose thread runs `work` when it is started.
    pub fn add(
        &mut self,
        environment: &mut Environment,
        client: Client,
        reservation: Reservation,
        answer: &'static Mailbox,
        work: impl FnOnce(Caller) + Send + 'static,
    ) -> Result<Thread> {
        let task = usize::from(client.task.0);
        let place = &mut self.clients[client.cluster][task];
        let badge = 1 + client.cluster * TASKS + task;
        let (seat, thread) = seat(environment, self.events, badge, reservation, answer, work)?;
        *place = Some(seat);
        Ok(thread)
    }

    /// The client with this badge, which may not exist.
    pub fn client(badge: usize) -> Client {
        let index = badge.wrapping_sub(1);
        Client {
            cluster: index / TASKS,
            task: TaskId((index % TASKS) as u16),
        }
    }

    pub fn get(&mut self, client: Client) -> Option<&mut Seat> {
        let cluster = self.clients.get_mut(client.cluster)?;
        cluster.get_mut(usize::from(client.task.0))?.as_mut()
    }

    /// The client whose context a server has.
    pub fn lender(&self, server: usize) -> Option<Client> {
        self.lenders[server]
    }

    /// No server has the context of this client any more. Returns the thread of the one that had it.
    fn end_loan(&mut self, client: Client) -> Option<Tcb> {
        let mut lenders = self.lenders.iter();
        let server = lenders.position(|lender| *lender == Some(client))?;
        self.lenders[server] = None;
        Some(self.servers[server].tcb)
    }

    /// Gives a server the context of a client that waits.
    ///
    /// # Errors
    /// Of the kernel, if it refuses what is done with the server.
    pub fn give(&mut self, server: usize, client: Client) -> Result<Budget> {
        let (tcb, authority) = (self.servers[server].tcb, self.authority);
        let Some(seat) = self.get(client) else {
            return Ok(Budget::Lost);
        };
        if seat.context.unbind_object(seat.thread).is_err() {
            return Ok(Budget::Lost);
        }
        // Higher-priority threads of the lender's core preempt the server as they would preempt the lender.
        tcb.set_priority(authority, seat.priority)?;
        let bound = seat.context.bind(tcb);
        self.lenders[server] = Some(client);
        Ok(match bound {
            Ok(()) => self.check_budget(client),
            Err(_) => Budget::Lost,
        })
    }

    /// Asks the kernel for the budget of a client on whose context a server runs.
    pub fn check_budget(&mut self, client: Client) -> Budget {
        let Some(seat) = self.get(client) else {
            return Budget::Lost;
        };
        // It has a lower priority: the call only tells.
        let Ok((consumed, target)) = seat.context.yield_to_target() else {
            return Budget::Lost;
        };
        seat.drained = seat.drained + consumed;
        match target {
            YieldTarget::OutOfTime => Budget::Ended,
            _ => Budget::Lasts,
        }
    }

    /// Takes back the context of a server's lender, which continues to wait. Shows whether the server still had it.
    pub fn take_back(&mut self, server: usize) -> Option<(Client, Budget)> {
        let tcb = self.servers[server].tcb;
        let client = self.lenders[server]?;
        let seat = self.get(client)?;
        if seat.context.unbind_object(tcb).is_err() {
            return Some((client, Budget::Lost));
        }
        // The kernel refuses it if the budget has ended. Then the thread gets it when its wait has ended.
        seat.is_apart = seat.context.bind(seat.thread).is_err();
        let budget = match seat.is_apart {
            true => Budget::Ended,
            false => Budget::Lasts,
        };
        self.lenders[server] = None;
        Some((client, budget))
    }

    /// Ends the client's wait with this answer; returns what the request has used of its budget.
    pub fn end_wait(
        &mut self,
        client: Client,
        answer: core::result::Result<Words, NotServed>,
    ) -> (Microseconds, Budget) {
        let borrower = self.end_loan(client);
        let Some(seat) = self.get(client) else {
            return (Microseconds(0), Budget::Lost);
        };
        seat.phase = match answer {
            Err(NotServed::Aborted) => Phase::Away,
            _ => Phase::Computes,
        };
        seat.answer.put(answer);
        let is_free = mem::take(&mut seat.is_apart) || borrower.is_some();
        let mut done = borrower.map_or(Ok(()), |server| seat.context.unbind_object(server));
        let used = seat.context.consumed();
        let drained = seat.drained + used.unwrap_or(Microseconds(0));
        seat.wake.signal();
        if is_free {
            // After the signal: contexts without budget are not bound to threads that wait.
            done = done.and_then(|()| seat.context.bind(seat.thread));
        }
        let budget = match done.and(used.map(drop)) {
            Ok(()) => Budget::Lasts,
            Err(_) => Budget::Lost,
        };
        (drained, budget)
    }

    /// Removes a client. Returns whether there was one.
    pub fn remove(&mut self, client: Client) -> bool {
        let Some(&mut Seat { context, .. }) = self.get(client) else {
            return false;
        };
        if let Some(server) = self.end_loan(client) {
            // Whatever is wrong with it: the server is not to have it any more.
            let _already_free = context.unbind_object(server);
        }
        self.clients[client.cluster][usize::from(client.task.0)] = None;
        true
    }

    /// Lets a server without a lender start again, on its own context.
    pub fn restart(&self, server: usize, initial: &Registers) -> Result {
        let Thread { tcb, sched_context } = self.servers[server];
        tcb.suspend()?;
        tcb.write_registers(false, initial)?;
        tcb.set_priority(self.authority, self.highest_priority())?;
        sched_context.bind(tcb)?;
        tcb.resume()
    }

    /// A server that has started again waits for a request: its own context is free.
    pub fn has_restarted(&self, server: usize) -> Result {
        self.servers[server].sched_context.unbind()
    }

    /// The highest priority of a client, or 0.
    fn highest_priority(&self) -> u8 {
        let seats = self.clients.iter().flatten().flatten();
        seats.map(|seat| seat.priority).max().unwrap_or(0)
    }

    /// The tasks that would lend: on each core the client of the highest priority that is not away is scheduled, and lends
    /// if it waits. It takes `TASKS` steps.
    pub fn scheduled<const CORES: usize>(&self, cluster: usize) -> [Option<TaskId>; CORES] {
        let mut first: [Option<(u8, Phase, TaskId)>; CORES] = [None; CORES];
        for (index, seat) in self.clients[cluster].iter().enumerate() {
            let Some(seat) = seat.as_ref().filter(|seat| seat.phase != Phase::Away) else {
                continue;
            };
            let first = &mut first[seat.core];
            if first.is_none_or(|(priority, ..)| seat.priority > priority) {
                *first = Some((seat.priority, seat.phase, TaskId(index as u16)));
            }
        }
        first.map(|first| {
            let (_, phase, task) = first?;
            (phase == Phase::Waits).then_some(task)
        })
    }
}

//! Servers that call one another, for clients under partitioned scheduling.

use super::fifo::Fifo;
use super::{Aborted, Client, SharingError};
use crate::queue::Queue;
use crate::task::TaskId;

/// A group of servers whose services call other servers of the group, always later ones. Each cluster is one core.
///
/// It has what G(IP)2C (J. Courtaud and B. Brandenburg, RTAS 2023) is for: requests in sequence, bandwidth that is
/// inherited through nested calls, and rules for budgets that end. The rules are our own, from those of MC-IPC; they are
/// not that protocol.
///
/// - A core has at most one request *in progress*. Others wait by priority, equal ones in order of arrival.
/// - Requests get *tickets* when they are in progress, one after the other. A server serves no call of a request, nested or
///   not, while a request with an earlier ticket may still use that server. So a request waits for earlier ones only, in
///   all its calls together: for each at most once, and never in a circle.
/// - A client that waits lends its reservation to the request at the end of that chain, which waits for nothing.
/// - An aborted request that some server has served continues as an orphan, and is its core's request in progress
///   until its end (back-pressure); meanwhile the first that waits is chosen as the next. A nested call of an orphan that
///   would have to wait is *refused*: the calling server ends its service without.
///
/// A request drains at most (1 + 2 K) L of its client's budget, for K cores, if a request takes up to L in all servers
/// together, as an orphan after a refusal, too: L for an orphan of its own core at the call, K L for the request of its core
/// that was there before, and K L from its own ticket on. It may be L more for a client with others of higher priority on
/// its core, if one of those becomes an orphan meanwhile. The priorities must be those by which the core schedules
/// reservations, and must not change while clients wait.
///
/// Each operation takes O(K² + log `TASKS`) steps.
#[derive(Clone, Debug)]
pub struct Nested<P, const CORES: usize, const SERVERS: usize, const TASKS: usize> {
    /// The servers that each may call, as sets of bits, and those that it may use by any number of calls, itself included.
    calls: [u32; SERVERS],
    reach: [u32; SERVERS],
    /// The requests in progress, by their tickets.
    progress: Fifo<Request, CORES>,
    cores: [Waiting<P, TASKS>; CORES],
    /// The number of requests so far: the order of arrival.
    requests: u64,
    #[cfg(test)]
    pub(crate) fault: crate::tests::NestedFault,
}

/// A request in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Request {
    core: usize,
    task: TaskId,
    /// The servers that it may use, and those that serve it: of those the last one runs, or waits for its own call.
    reach: u32,
    held: u32,
    waits_for: Option<usize>,
    is_orphan: bool,
}

impl Request {
    /// The server that runs for it, if it waits for none.
    fn runs(&self) -> Option<usize> {
        self.innermost().filter(|_| self.waits_for.is_none())
    }

    fn innermost(&self) -> Option<usize> {
        Some(self.held.checked_ilog2()? as usize)
    }
}

/// The requests of a core that are not in progress.
#[derive(Clone, Debug)]
struct Waiting<P, const TASKS: usize> {
    /// The one that is in progress after the orphan.
    next: Option<TaskId>,
    rest: Queue<(P, u64), TASKS>,
    /// The server that each task has called.
    called: [usize; TASKS],
}

/// What called a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// A client.
    Client(Client),
    /// Another server, by its number.
    Server(usize),
}

/// What a server is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The server of this number begins to serve a call of this client's request.
    Serve(usize, Client),
    /// The nested call that the server of this number makes is refused, and it ends its service without.
    Refuse(usize),
}

/// A server is to call one that is not later, or not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotLater {
    /// The server that calls.
    pub from: usize,
    /// The server that is called.
    pub to: usize,
}

impl<P: Ord + Copy + Default, const CORES: usize, const SERVERS: usize, const TASKS: usize>
    Nested<P, CORES, SERVERS, TASKS>
{
    /// Servers without requests; each may call those with the numbers given for it.
    ///
    /// # Errors
    /// [`NotLater`] if one of them has no larger number than the caller, or is not there.
    pub fn new(calls: [&[usize]; SERVERS]) -> Result<Self, NotLater> {
        const { assert!(SERVERS <= 32, "sets of servers have 32 bits") };
        let (mut sets, mut reach) = ([0; SERVERS], [0; SERVERS]);
        for from in (0..SERVERS).rev() {
            reach[from] = 1 << from;
            for &to in calls[from] {
                if to <= from || to >= SERVERS {
                    return Err(NotLater { from, to });
                }
                sets[from] |= 1 << to;
                reach[from] |= reach[to];
            }
        }
        Ok(Self {
            calls: sets,
            reach,
            progress: Fifo::default(),
            cores: core::array::from_fn(|_| Waiting {
                next: None,
                rest: Queue::default(),
                called: [0; TASKS],
            }),
            requests: 0,
            #[cfg(test)]
            fault: crate::tests::NestedFault::None,
        })
    }

    /// The client calls a server. As after each operation, [`step`](Self::step) then tells what servers are to do.
    ///
    /// # Errors
    /// [`SharingError::NoClient`], [`SharingError::Waits`], [`SharingError::NoServer`].
    pub fn invoke(
        &mut self,
        client: Client,
        server: usize,
        priority: P,
    ) -> Result<(), SharingError> {
        self.check(client)?;
        if self.waits(client) {
            return Err(SharingError::Waits);
        }
        if server >= SERVERS {
            return Err(SharingError::NoServer);
        }
        let waiting = &mut self.cores[client.cluster];
        waiting.called[client.task.index()] = server;
        waiting.rest.set(client.task, (priority, self.requests));
        self.requests += 1;
        self.advance(client.cluster);
        Ok(())
    }

    /// A server calls another one in the middle of its service.
    ///
    /// # Errors
    /// [`SharingError::Idle`] if the server does not run; [`SharingError::NoServer`] if it may not call that one.
    pub fn call(&mut self, from: usize, to: usize) -> Result<(), SharingError> {
        let request = self.run_by(from)?;
        if to >= SERVERS || self.calls[from] & 1 << to == 0 {
            return Err(SharingError::NoServer);
        }
        self.progress.entries_mut()[request].waits_for = Some(to);
        Ok(())
    }

    /// A server has completed its service; returns what gets the reply. There is none if the request is an orphan, and the
    /// server the first that it called.
    ///
    /// # Errors
    /// [`SharingError::Idle`] if the server does not run.
    pub fn reply(&mut self, server: usize) -> Result<Option<Caller>, SharingError> {
        let place = self.run_by(server)?;
        let request = &mut self.progress.entries_mut()[place];
        request.held &= !(1 << server);
        let request = *request;
        if let Some(outer) = request.innermost() {
            return Ok(Some(Caller::Server(outer)));
        }
        self.progress.remove(request);
        self.advance(request.core);
        let client = Client {
            cluster: request.core,
            task: request.task,
        };
        Ok((!request.is_orphan).then_some(Caller::Client(client)))
    }

    /// The budget of a client that waits has ended.
    ///
    /// # Errors
    /// [`SharingError::NoClient`], [`SharingError::DoesNotWait`].
    pub fn abort(&mut self, client: Client) -> Result<Aborted, SharingError> {
        self.check(client)?;
        let mut aborted = Aborted::Withdrawn;
        let own = self.own_request(client);
        let waiting = &mut self.cores[client.cluster];
        if let Some(place) = own {
            let request = &mut self.progress.entries_mut()[place];
            if request.held == 0 {
                let request = *request;
                self.progress.remove(request);
            } else {
                request.is_orphan = true;
                aborted = Aborted::Orphaned;
            }
        } else if waiting.next == Some(client.task) {
            waiting.next = None;
        } else if !waiting.rest.remove(client.task) {
            return Err(SharingError::DoesNotWait);
        }
        self.advance(client.cluster);
        Ok(aborted)
    }

    /// What a server is to do, after any operation; several servers may have something to do, so it is called until none
    /// has.
    pub fn step(&mut self) -> Option<Step> {
        for place in 0..self.progress.entries().len() {
            let request = self.progress.entries()[place];
            let Some(server) = request.waits_for else {
                continue;
            };
            let is_free = self.blocker(place, server).is_none();
            let refuses = request.is_orphan && self.refuses();
            if !is_free && !refuses {
                continue;
            }
            let changed = &mut self.progress.entries_mut()[place];
            changed.waits_for = None;
            if is_free {
                changed.held |= 1 << server;
                let client = Client {
                    cluster: request.core,
                    task: request.task,
                };
                return Some(Step::Serve(server, client));
            }
            return request.innermost().map(Step::Refuse);
        }
        None
    }

    /// Whether the client waits for a reply: it is served, or will be.
    pub fn waits(&self, client: Client) -> bool {
        let Some(waiting) = self.cores.get(client.cluster) else {
            return false;
        };
        self.own_request(client).is_some()
            || waiting.next == Some(client.task)
            || client.task.index() < TASKS && waiting.rest.contains(client.task)
    }

    /// The server that must run so that the client's request comes nearer to its end: the client lends to it while it is
    /// scheduled. None if the client does not wait.
    pub fn lends_to(&self, client: Client) -> Option<usize> {
        if !self.waits(client) {
            return None;
        }
        let entries = self.progress.entries();
        let is_own = |it: &Request| it.core == client.cluster;
        let mut place = entries.iter().position(is_own)?;
        // Each turn goes to an earlier ticket.
        while let Some(server) = entries[place].waits_for {
            place = self.blocker(place, server).filter(|_| self.inherits())?;
        }
        entries[place].innermost()
    }

    /// The client whose reservation a server runs on, if these tasks are scheduled on the cores: on the core of the request
    /// that it serves if possible, so that it need not migrate. None if the server does not run, or no reservation pays.
    pub fn lender(&self, server: usize, scheduled: &[Option<TaskId>; CORES]) -> Option<Client> {
        let own = self.progress.entries()[self.run_by(server).ok()?].core;
        let mut clients = (own..CORES).chain(0..own).filter_map(|cluster| {
            let task = scheduled[cluster]?;
            Some(Client { cluster, task })
        });
        clients.find(|client| self.lends_to(*client) == Some(server))
    }

    /// The place of the first request with an earlier ticket that may use the server.
    fn blocker(&self, place: usize, server: usize) -> Option<usize> {
        #[cfg(test)]
        if self.fault == crate::tests::NestedFault::NoTickets {
            let uses = |it: &Request| it.held & 1 << server != 0;
            return self.progress.entries().iter().position(uses);
        }
        let earlier = &self.progress.entries()[..place];
        earlier.iter().position(|it| it.reach & 1 << server != 0)
    }

    fn refuses(&self) -> bool {
        #[cfg(test)]
        if self.fault == crate::tests::NestedFault::NoRefusal {
            return false;
        }
        true
    }

    fn inherits(&self) -> bool {
        #[cfg(test)]
        if self.fault == crate::tests::NestedFault::NoInheritance {
            return false;
        }
        true
    }

    /// Whether the request keeps others of its core from being in progress.
    fn has_place(&self, request: &Request) -> bool {
        #[cfg(test)]
        if self.fault == crate::tests::NestedFault::NoBackPressure {
            return !request.is_orphan;
        }
        let _any = request;
        true
    }

    /// The place of the request for which the server runs.
    fn run_by(&self, server: usize) -> Result<usize, SharingError> {
        let mut requests = self.progress.entries().iter();
        let place = requests.position(|it| it.runs() == Some(server));
        place.ok_or(SharingError::Idle)
    }

    /// The place of the client's own request, if that is in progress and not aborted.
    fn own_request(&self, client: Client) -> Option<usize> {
        let is_own =
            |it: &Request| it.core == client.cluster && it.task == client.task && !it.is_orphan;
        self.progress.entries().iter().position(is_own)
    }

    fn check(&self, client: Client) -> Result<(), SharingError> {
        let is_there = client.cluster < CORES && client.task.index() < TASKS;
        is_there.then_some(()).ok_or(SharingError::NoClient)
    }

    /// Chooses the core's next request if none of its requests is in progress but an orphan; if none at all is, that request
    /// gets its ticket.
    fn advance(&mut self, core: usize) {
        let mut own = self.progress.entries().iter().filter(|it| it.core == core);
        let has_request = own.clone().any(|it| !it.is_orphan);
        let is_free = !own.any(|it| self.has_place(it));
        let waiting = &mut self.cores[core];
        if !has_request
            && waiting.next.is_none()
            && let Some((_, first)) = waiting.rest.first()
        {
            waiting.rest.remove(first);
            waiting.next = Some(first);
        }
        if is_free && let Some(task) = waiting.next.take() {
            let server = waiting.called[task.index()];
            self.progress.push(Request {
                core,
                task,
                reach: self.reach[server],
                held: 0,
                waits_for: Some(server),
                is_orphan: false,
            });
        }
    }
}

//! Cores whose clients call servers that call one another, in steps of one unit of time.

use std::collections::VecDeque;

use crate::{Aborted, Caller, Client, Nested, Step, TaskId};

use super::super::client;

/// What one service does, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Run(u64),
    Call(usize),
    Return,
}

/// What a client does next: it sleeps, computes, and calls a server.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) sleep: u64,
    pub(super) compute: u64,
    pub(super) server: usize,
    /// What the server does and those that it calls, up to its return.
    pub(super) work: Vec<Work>,
}

/// What clients do, and the budgets they have.
pub(super) trait Behaviour {
    fn plan(&mut self, client: Client) -> Option<Plan>;
    fn budget(&mut self, client: Client) -> u64;
    fn period(&self, client: Client) -> u64;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Sleeps(u64),
    Computes(u64),
    Waits,
    Ended,
}

struct Reservation {
    state: State,
    plan: Option<Plan>,
    left: u64,
    end_of_period: u64,
    drained: u64,
    /// An orphan of its core was there at the call; one of higher priority has come since.
    met_orphan: bool,
    was_passed: bool,
}

/// The work of a request that a server has begun.
struct Service {
    client: Client,
    servers: Vec<usize>,
    work: VecDeque<Work>,
    waits: bool,
    is_orphan: bool,
}

/// What was seen of requests that have ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) requests: u64,
    pub(super) orphans: u64,
    pub(super) refused: u64,
    pub(super) nested: u64,
    /// The most units of time in which several servers ran at once.
    pub(super) parallel: u64,
    /// The most that a request drained, by the number of orphans that cost a request more.
    pub(super) most: [u64; 3],
}

impl Seen {
    pub(super) fn most(&self) -> u64 {
        self.most.into_iter().fold(0, u64::max)
    }
}

pub(super) type Servers<const CORES: usize> = Nested<u16, CORES, 4, 8>;

pub(super) struct Simulation<B, const CORES: usize> {
    servers: Servers<CORES>,
    behaviour: B,
    now: u64,
    cores: [Vec<Reservation>; CORES],
    scheduled: [Option<TaskId>; CORES],
    services: Vec<Service>,
    /// Two requests were at one server at once.
    pub(super) collided: bool,
    pub(super) seen: Seen,
}

impl<B: Behaviour, const CORES: usize> Simulation<B, CORES> {
    pub(super) fn new(servers: Servers<CORES>, mut behaviour: B, tasks: u16) -> Self {
        let cores = core::array::from_fn(|core| {
            let tasks = (0..tasks).map(|task| {
                let client = client(core, task);
                let plan = behaviour.plan(client);
                Reservation {
                    state: sleeps(plan.as_ref(), 0),
                    plan,
                    left: behaviour.budget(client),
                    end_of_period: behaviour.period(client),
                    drained: 0,
                    met_orphan: false,
                    was_passed: false,
                }
            });
            tasks.collect()
        });
        Self {
            servers,
            behaviour,
            now: 0,
            cores,
            scheduled: [None; CORES],
            services: Vec::new(),
            collided: false,
            seen: Seen::default(),
        }
    }

    /// Runs for this time; what requests that still wait have drained counts, too.
    pub(super) fn run(&mut self, time: u64) {
        for _ in 0..time {
            self.wake();
            self.schedule();
            while self.work() | self.abort() | self.call() {
                self.schedule();
            }
            self.pass();
        }
        for core in 0..CORES {
            for task in 0..self.cores[core].len() {
                if self.cores[core][task].state == State::Waits {
                    self.note(core, task);
                }
            }
        }
    }

    fn at(&mut self, client: Client) -> &mut Reservation {
        &mut self.cores[client.cluster][usize::from(client.task.0)]
    }

    fn wake(&mut self) {
        let now = self.now;
        for (core, reservations) in self.cores.iter_mut().enumerate() {
            for (task, it) in reservations.iter_mut().enumerate() {
                let client = client(core, task as u16);
                if it.end_of_period <= now {
                    it.left = self.behaviour.budget(client);
                    it.end_of_period = now.saturating_add(self.behaviour.period(client));
                }
                if it.state == State::Sleeps(now) {
                    it.state = State::Computes(it.plan.as_ref().map_or(0, |it| it.compute));
                }
            }
        }
    }

    fn schedule(&mut self) {
        for (scheduled, tasks) in self.scheduled.iter_mut().zip(&self.cores) {
            let is_ready = |it: &Reservation| {
                it.left > 0 && matches!(it.state, State::Computes(_) | State::Waits)
            };
            let first = tasks.iter().position(is_ready);
            *scheduled = first.map(|task| TaskId(task as u16));
        }
    }

    /// Aborts a request of a client without budget; whether there was one.
    fn abort(&mut self) -> bool {
        for core in 0..CORES {
            for task in 0..self.cores[core].len() {
                let reservation = &self.cores[core][task];
                if reservation.left > 0 || reservation.state != State::Waits {
                    continue;
                }
                let client = client(core, task as u16);
                let mut services = self.services.iter_mut();
                let service = services.find(|it| it.client == client && !it.is_orphan);
                let aborted = self.servers.abort(client).unwrap();
                assert_eq!(aborted == Aborted::Orphaned, service.is_some());
                if let Some(service) = service {
                    service.is_orphan = true;
                    self.seen.orphans += 1;
                    let lower = self.cores[core].iter_mut().skip(task + 1);
                    lower.for_each(|it| it.was_passed = true);
                }
                self.end(client);
                return true;
            }
        }
        false
    }

    fn call(&mut self) -> bool {
        let mut any = false;
        for core in 0..CORES {
            let Some(task) = self.scheduled[core] else {
                continue;
            };
            let client = client(core, task.0);
            let mut orphans = self.services.iter().filter(|it| it.is_orphan);
            let met_orphan = orphans.any(|it| it.client.cluster == core);
            let reservation = self.at(client);
            if reservation.state != State::Computes(0) {
                continue;
            }
            any = true;
            reservation.state = State::Waits;
            reservation.drained = 0;
            reservation.met_orphan = met_orphan;
            reservation.was_passed = false;
            let server = reservation.plan.as_ref().map_or(0, |plan| plan.server);
            self.servers.invoke(client, server, task.0).unwrap();
        }
        any
    }

    /// Does what takes no time: calls of servers, replies, and what follows; whether there was anything.
    fn work(&mut self) -> bool {
        let mut any = false;
        while let Some(step) = self.servers.step() {
            any = true;
            match step {
                Step::Serve(server, client) => self.serve(server, client),
                Step::Refuse(server) => self.refuse(server),
            }
        }
        for place in 0..self.services.len() {
            let service = &mut self.services[place];
            let server = *service.servers.last().unwrap();
            if service.waits {
                continue;
            }
            match service.work[0] {
                Work::Run(0) => {
                    service.work.pop_front();
                }
                Work::Run(_) => continue,
                Work::Call(to) => {
                    service.work.pop_front();
                    service.waits = true;
                    self.servers.call(server, to).unwrap();
                }
                Work::Return => {
                    self.end_service(place);
                }
            }
            return true;
        }
        any
    }

    fn serve(&mut self, server: usize, client: Client) {
        self.collided |= self.services.iter().any(|it| it.servers.contains(&server));
        let mut services = self.services.iter_mut();
        if let Some(service) = services.find(|it| it.client == client && it.waits) {
            service.servers.push(server);
            service.waits = false;
            self.seen.nested += 1;
            return;
        }
        let plan = self.at(client).plan.clone().unwrap();
        self.services.push(Service {
            client,
            servers: vec![server],
            work: plan.work.into(),
            waits: false,
            is_orphan: false,
        });
    }

    /// Skips what the call would have done.
    fn refuse(&mut self, server: usize) {
        let mut services = self.services.iter_mut();
        let service = services.find(|it| it.servers.last() == Some(&server));
        let service = service.unwrap();
        assert!(service.waits && service.is_orphan);
        service.waits = false;
        let mut depth = 1;
        while depth > 0 {
            match service.work.pop_front().unwrap() {
                Work::Run(_) => {}
                Work::Call(_) => depth += 1,
                Work::Return => depth -= 1,
            }
        }
        self.seen.refused += 1;
    }

    fn end_service(&mut self, place: usize) {
        let service = &mut self.services[place];
        service.work.pop_front();
        let server = service.servers.pop().unwrap();
        let outer = service.servers.last().copied();
        let (client, is_orphan) = (service.client, service.is_orphan);
        let caller = outer.map(Caller::Server);
        let caller = caller.or((!is_orphan).then_some(Caller::Client(client)));
        assert_eq!(self.servers.reply(server).unwrap(), caller);
        if outer.is_none() {
            self.services.remove(place);
            if !is_orphan {
                self.end(client);
            }
        }
    }

    fn end(&mut self, client: Client) {
        self.note(client.cluster, usize::from(client.task.0));
        self.seen.requests += 1;
        let plan = self.behaviour.plan(client);
        let state = sleeps(plan.as_ref(), self.now);
        let reservation = self.at(client);
        reservation.plan = plan;
        reservation.state = state;
        // A sleep of no time has ended.
        if state == State::Sleeps(self.now) {
            self.wake();
        }
    }

    fn note(&mut self, core: usize, task: usize) {
        let it = &self.cores[core][task];
        let orphans = usize::from(it.met_orphan) + usize::from(it.was_passed);
        let most = &mut self.seen.most[orphans];
        *most = it.drained.max(*most);
    }

    fn pass(&mut self) {
        let mut running = 0;
        for service in self.services.iter_mut().filter(|it| !it.waits) {
            let server = *service.servers.last().unwrap();
            if let Some(lender) = self.servers.lender(server, &self.scheduled) {
                let reservation = &self.cores[lender.cluster][usize::from(lender.task.0)];
                assert_eq!(reservation.state, State::Waits);
                running += 1;
                if let Work::Run(left) = &mut service.work[0] {
                    *left -= 1;
                }
            }
        }
        self.seen.parallel += u64::from(running > 1);
        for (core, scheduled) in self.scheduled.into_iter().enumerate() {
            let Some(task) = scheduled else {
                continue;
            };
            let it = &mut self.cores[core][usize::from(task.0)];
            it.left -= 1;
            match &mut it.state {
                State::Computes(left) => *left -= 1,
                State::Waits => it.drained += 1,
                State::Sleeps(_) | State::Ended => {}
            }
        }
        self.now += 1;
    }
}

fn sleeps(plan: Option<&Plan>, now: u64) -> State {
    plan.map_or(State::Ended, |plan| State::Sleeps(now + plan.sleep))
}

//! Clusters whose clients call one server: reservations, time, and what each request takes from its client. The
//! simulation knows of the server's queues only what it is told.

use super::client;
use super::parts::{Behaviour, NEVER, Policy, Reservation, Seen, State};
use crate::{Aborted, Client, Decision, Invoked, Lenders, SharedServer, TaskId};

pub(super) struct Served {
    pub(super) client: Client,
    pub(super) left: u64,
    is_orphan: bool,
}

pub(super) struct Simulation<S, B, const CLUSTERS: usize, const CORES: usize> {
    pub(super) server: S,
    pub(super) behaviour: B,
    pub(super) policy: Policy,
    pub(super) now: u64,
    pub(super) reservations: [Vec<Reservation>; CLUSTERS],
    pub(super) scheduled: [[Option<TaskId>; CORES]; CLUSTERS],
    pub(super) decisions: [Decision; CLUSTERS],
    pub(super) lenders: Lenders<CLUSTERS, CORES>,
    pub(super) served: Option<Served>,
    pub(super) seen: Seen,
}

impl<S: SharedServer<Priority = u64>, B: Behaviour, const CLUSTERS: usize, const CORES: usize>
    Simulation<S, B, CLUSTERS, CORES>
{
    pub(super) fn new(server: S, mut behaviour: B, policy: Policy, tasks: usize) -> Self {
        let reservations = core::array::from_fn(|cluster| {
            let tasks = (0..tasks).map(|task| {
                let client = client(cluster, task as u16);
                let plan = behaviour.plan(client);
                Reservation {
                    state: State::after(&plan, 0),
                    service: plan.service,
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
            server,
            behaviour,
            policy,
            now: 0,
            reservations,
            scheduled: [[None; CORES]; CLUSTERS],
            decisions: [0; CLUSTERS],
            lenders: Lenders::new(),
            served: None,
            seen: Seen::default(),
        }
    }

    /// Runs until this number of requests has ended, or nothing happens any more. What requests that still wait have
    /// drained counts as well.
    pub(super) fn run(&mut self, requests: u64) {
        while self.seen.requests < requests {
            self.end_service();
            self.wake();
            self.schedule();
            while self.abort() | self.call() {
                self.schedule();
            }
            let pays = self.pays();
            let next = self.next_event(pays);
            if next == NEVER {
                break;
            }
            self.pass(next.max(self.now) - self.now, pays);
        }
        for (cluster, task) in places(&self.reservations) {
            let reservation = &self.reservations[cluster][task];
            if reservation.state == State::Waits {
                self.seen.note(reservation);
            }
        }
    }

    fn at(&mut self, client: Client) -> &mut Reservation {
        &mut self.reservations[client.cluster][usize::from(client.task.0)]
    }

    fn end_service(&mut self) {
        let Some(served) = self.served.take_if(|it| it.left == 0) else {
            return;
        };
        let replied = self.server.reply().unwrap();
        assert_eq!(replied.to, (!served.is_orphan).then_some(served.client));
        if let Some(client) = replied.to {
            self.end_request(client);
        }
        if let Some(client) = replied.next {
            self.begin_service(client);
        }
    }

    fn begin_service(&mut self, client: Client) {
        assert!(self.served.is_none());
        let reservation = self.at(client);
        assert_eq!(reservation.state, State::Waits);
        let left = reservation.service;
        self.served = Some(Served {
            client,
            left,
            is_orphan: false,
        });
    }

    fn end_request(&mut self, client: Client) {
        let plan = self.behaviour.plan(client);
        let reservation = &mut self.reservations[client.cluster][usize::from(client.task.0)];
        self.seen.note(reservation);
        self.seen.requests += 1;
        reservation.service = plan.service;
        reservation.state = State::after(&plan, self.now);
    }

    fn schedule(&mut self) {
        for cluster in 0..CLUSTERS {
            let mut runs = [None; CORES];
            for core in 0..CORES {
                let tasks = self.reservations[cluster].iter().enumerate();
                let ready = tasks.filter(|(task, it)| {
                    let id = Some(TaskId(*task as u16));
                    it.left > 0
                        && !matches!(it.state, State::Sleeps { .. })
                        && !runs[..core].contains(&id)
                });
                let first = ready.min_by_key(|(task, it)| it.priority(*task, self.policy));
                runs[core] = first.map(|(task, _)| TaskId(task as u16));
            }
            if runs != self.scheduled[cluster] {
                self.scheduled[cluster] = runs;
                self.decisions[cluster] += 1;
                let decision = self.decisions[cluster];
                self.lenders.offer(cluster, decision, runs).unwrap();
            }
        }
    }

    /// Aborts the requests of clients without budget; whether there were any.
    fn abort(&mut self) -> bool {
        let mut any = false;
        for (cluster, task) in places(&self.reservations) {
            let client = client(cluster, task as u16);
            let reservation = self.at(client);
            if reservation.left > 0 || reservation.state != State::Waits {
                continue;
            }
            any = true;
            if self.server.abort(client).unwrap() == Aborted::Orphaned {
                let served = self.served.as_mut().unwrap();
                assert!(served.client == client && !served.is_orphan);
                served.is_orphan = true;
                self.note_passed(client);
            }
            self.seen.aborts += 1;
            self.end_request(client);
        }
        any
    }

    /// Notes for which clients the abort may cost a service more.
    fn note_passed(&mut self, aborted: Client) {
        let policy = self.policy;
        let task = usize::from(aborted.task.0);
        let priority = self.at(aborted).priority(task, policy);
        let others = self.reservations[aborted.cluster].iter_mut().enumerate();
        for (_, it) in others.filter(|(task, it)| it.priority(*task, policy) > priority) {
            it.was_passed = true;
        }
    }

    /// Lets scheduled clients call that have computed; whether there were any.
    fn call(&mut self) -> bool {
        let mut any = false;
        for cluster in 0..CLUSTERS {
            for task in self.scheduled[cluster].into_iter().flatten() {
                let client = Client { cluster, task };
                let orphan = self.served.as_ref().filter(|it| it.is_orphan);
                let met_orphan = orphan.is_some_and(|it| it.client.cluster == cluster);
                let policy = self.policy;
                let reservation = self.at(client);
                if reservation.state != (State::Computes { left: 0 }) || reservation.left == 0 {
                    continue;
                }
                any = true;
                reservation.state = State::Waits;
                reservation.drained = 0;
                reservation.met_orphan = met_orphan;
                reservation.was_passed = false;
                let priority = reservation.priority(usize::from(task.0), policy);
                if self.server.invoke(client, priority).unwrap() == Invoked::Serve {
                    self.begin_service(client);
                }
            }
        }
        any
    }
}

fn places<const CLUSTERS: usize>(
    reservations: &[Vec<Reservation>; CLUSTERS],
) -> impl Iterator<Item = (usize, usize)> + use<CLUSTERS> {
    let tasks = reservations[0].len();
    (0..CLUSTERS).flat_map(move |cluster| (0..tasks).map(move |task| (cluster, task)))
}

//! The passing of time in the simulation.

use super::client;
use super::parts::{Behaviour, NEVER, State};
use super::simulation::Simulation;
use crate::{Client, SharedServer};

impl<S: SharedServer<Priority = u64>, B: Behaviour, const CLUSTERS: usize, const CORES: usize>
    Simulation<S, B, CLUSTERS, CORES>
{
    /// Ends what has ended of sleeps and periods.
    pub(super) fn wake(&mut self) {
        let (now, policy) = (self.now, self.policy);
        for (cluster, reservations) in self.reservations.iter_mut().enumerate() {
            for (task, it) in reservations.iter_mut().enumerate() {
                if it.end_of_period <= now && !it.keeps_deadline(policy) {
                    let client = client(cluster, task as u16);
                    it.left = self.behaviour.budget(client);
                    it.end_of_period = now.saturating_add(self.behaviour.period(client));
                }
                if let State::Sleeps { until, compute } = it.state
                    && until <= now
                {
                    it.state = State::Computes { left: compute };
                }
            }
        }
    }

    /// Whether a reservation pays for the service.
    pub(super) fn pays(&self) -> bool {
        let Some(served) = &self.served else {
            return false;
        };
        let lends = |client: Client| {
            let reservation = &self.reservations[client.cluster][usize::from(client.task.0)];
            let tasks = &self.scheduled[client.cluster];
            tasks.contains(&Some(client.task)) && reservation.state == State::Waits
        };
        let lends_in = |cluster: usize| {
            let tasks = self.scheduled[cluster].into_iter().flatten();
            tasks.map(|task| Client { cluster, task }).any(lends)
        };
        let lender = self.lenders.lender(&self.server, &self.decisions);
        if let Some(lender) = lender {
            assert!(lends(lender));
            let own = served.client.cluster;
            assert!(lender.cluster == own || !lends_in(own));
        } else {
            assert!(!(0..CLUSTERS).any(lends_in));
        }
        lender.is_some()
    }

    pub(super) fn next_event(&self, pays: bool) -> u64 {
        let mut next = NEVER;
        let ends = self.served.iter().filter(|_| pays);
        next = ends.fold(next, |next, it| next.min(self.now + it.left));
        for (cluster, reservations) in self.reservations.iter().enumerate() {
            for it in reservations {
                if !it.keeps_deadline(self.policy) {
                    next = next.min(it.end_of_period);
                }
                if let State::Sleeps { until, .. } = it.state {
                    next = next.min(until);
                }
            }
            for task in self.scheduled[cluster].iter().flatten() {
                let it = &reservations[usize::from(task.0)];
                next = next.min(self.now + it.left);
                if let State::Computes { left } = it.state {
                    next = next.min(self.now + left);
                }
            }
        }
        next
    }

    pub(super) fn pass(&mut self, time: u64, pays: bool) {
        self.now += time;
        if let Some(served) = self.served.as_mut().filter(|_| pays) {
            served.left -= time;
        }
        for cluster in 0..CLUSTERS {
            for task in self.scheduled[cluster].into_iter().flatten() {
                let it = &mut self.reservations[cluster][usize::from(task.0)];
                it.left -= time;
                match &mut it.state {
                    State::Sleeps { .. } => {}
                    State::Computes { left } => *left -= time,
                    State::Waits => it.drained += time,
                }
            }
        }
    }
}

//! What clients do, their reservations, and what is noted of their requests.

use crate::Client;

/// The longest service, L.
pub(super) const LONGEST: u64 = 1000;

/// The most clients of a cluster.
pub(super) const TASKS: usize = 16;

pub(super) const NEVER: u64 = u64::MAX;

/// What a client does next: it sleeps, computes, and calls the server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) sleep: u64,
    pub(super) compute: u64,
    pub(super) service: u64,
}

impl Plan {
    pub(super) const END: Self = Self {
        sleep: NEVER,
        compute: 0,
        service: 1,
    };

    /// A call of the longest service after this time.
    pub(super) fn call_after(sleep: u64) -> Self {
        Self {
            sleep,
            compute: 0,
            service: LONGEST,
        }
    }
}

/// What clients do, and the budgets they have.
pub(super) trait Behaviour {
    fn plan(&mut self, client: Client) -> Plan;
    fn budget(&mut self, client: Client) -> u64;
    fn period(&self, client: Client) -> u64;
}

/// How a cluster schedules reservations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// The tasks with the smallest numbers run.
    FixedPriority,
    /// Those with the earliest deadlines run, which are the ends of periods. While its client waits, a reservation
    /// keeps its deadline, and is not replenished.
    Edf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Sleeps { until: u64, compute: u64 },
    Computes { left: u64 },
    Waits,
}

impl State {
    pub(super) fn after(plan: &Plan, now: u64) -> Self {
        Self::Sleeps {
            until: now.saturating_add(plan.sleep),
            compute: plan.compute,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Reservation {
    pub(super) state: State,
    pub(super) service: u64,
    pub(super) left: u64,
    pub(super) end_of_period: u64,
    /// What the present request has drained.
    pub(super) drained: u64,
    /// A request of the same cluster that is in service had been aborted when the present one came.
    pub(super) met_orphan: bool,
    /// Since then a request of the same cluster and of higher priority has been aborted in service.
    pub(super) was_passed: bool,
}

impl Reservation {
    /// The order in which its cluster schedules the task's reservation.
    pub(super) fn priority(&self, task: usize, policy: Policy) -> u64 {
        match policy {
            Policy::FixedPriority => task as u64,
            // Ties are decided by the tasks' numbers.
            Policy::Edf => self.end_of_period * TASKS as u64 + task as u64,
        }
    }

    pub(super) fn keeps_deadline(&self, policy: Policy) -> bool {
        policy == Policy::Edf && self.state == State::Waits
    }
}

/// The most that a request has drained, and how many requests have ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) requests: u64,
    pub(super) aborts: u64,
    /// By the number of orphans that cost a service more: see [`Reservation`].
    pub(super) most: [u64; 3],
}

impl Seen {
    pub(super) fn most(&self) -> u64 {
        self.most.into_iter().fold(0, u64::max)
    }

    pub(super) fn note(&mut self, reservation: &Reservation) {
        let orphans = usize::from(reservation.met_orphan) + usize::from(reservation.was_passed);
        self.most[orphans] = self.most[orphans].max(reservation.drained);
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            aborts: self.aborts + other.aborts,
            most: core::array::from_fn(|orphans| self.most[orphans].max(other.most[orphans])),
        }
    }
}

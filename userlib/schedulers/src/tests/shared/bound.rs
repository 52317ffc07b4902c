//! What a request drains at most, over random and hostile clients.

use oorandom::Rand64;

use super::model::{Fault, Model};
use super::parts::{Behaviour, LONGEST, Plan, Policy, Seen, TASKS};
use super::simulation::Simulation;
use crate::{Client, McIpc, SharedServer};

/// Clients of three kinds, by turns: one computes, sleeps and has what it needs, one calls without pause, and one calls
/// at bad times with budgets that end at bad times.
struct Hostile {
    random: Rand64,
    periods: Vec<u64>,
}

impl Hostile {
    fn new(seed: u64) -> Self {
        let mut random = Rand64::new(seed.into());
        let periods = (0..64).map(|_| LONGEST * random.rand_range(4..120));
        let periods = periods.collect();
        Self { random, periods }
    }

    fn one_of<const N: usize>(&mut self, times: [u64; N]) -> u64 {
        times[self.random.rand_range(0..N as u64) as usize]
    }
}

fn kind(client: Client) -> u16 {
    (client.task.0 + client.cluster as u16) % 3
}

impl Behaviour for Hostile {
    fn plan(&mut self, client: Client) -> Plan {
        match kind(client) {
            0 => Plan {
                sleep: self.random.rand_range(0..20 * LONGEST),
                compute: self.random.rand_range(0..2 * LONGEST),
                service: self.random.rand_range(1..LONGEST + 1),
            },
            1 => Plan::call_after(0),
            _ => Plan {
                sleep: self.one_of([0, 1, 2, LONGEST - 2, LONGEST - 1, LONGEST, LONGEST + 1]),
                compute: self.one_of([0, 0, 1]),
                service: self.one_of([LONGEST, LONGEST, 1]),
            },
        }
    }

    fn budget(&mut self, client: Client) -> u64 {
        match kind(client) {
            0 => 20 * LONGEST,
            1 => self.one_of([2 * LONGEST, 20 * LONGEST, 60 * LONGEST]),
            _ => self.one_of([1, 2, LONGEST, LONGEST + 2, 3 * LONGEST, 40 * LONGEST]),
        }
    }

    fn period(&self, client: Client) -> u64 {
        self.periods[16 * (client.cluster % 4) + usize::from(client.task.0)]
    }
}

/// Runs systems of 2000 requests each, with different clients, under both policies.
fn hostile<S: SharedServer<Priority = u64>, const CLUSTERS: usize, const CORES: usize>(
    server: impl Fn() -> S,
    requests: u64,
) -> Seen {
    let mut seen = Seen::default();
    for seed in 0..requests.div_ceil(2000) {
        let policy = match seed % 2 {
            0 => Policy::FixedPriority,
            _ => Policy::Edf,
        };
        let tasks = CORES + 1 + seed as usize % 6;
        let mut simulation =
            Simulation::<_, _, CLUSTERS, CORES>::new(server(), Hostile::new(seed), policy, tasks);
        simulation.run(2000);
        seen = seen.with(simulation.seen);
    }
    seen
}

/// Whether a request has drained more than (2 C K + n) L, with n = 1 for an orphan of its cluster that it has met, and
/// n + 1 if a request of its cluster and of higher priority has become one since.
fn exceeds(seen: Seen, clusters: usize, cores: usize) -> bool {
    let bound = |orphans| (orphans + 2 * clusters * cores) as u64 * LONGEST;
    (0..3).any(|orphans| seen.most[orphans] > bound(orphans))
}

fn check<const CLUSTERS: usize, const CORES: usize>() {
    const REQUESTS: u64 = 500_000;
    let seen = hostile::<_, CLUSTERS, CORES>(McIpc::<u64, CLUSTERS, CORES, TASKS>::new, REQUESTS);
    println!("{CLUSTERS} clusters of {CORES} cores: {seen:?}");
    assert!(!exceeds(seen, CLUSTERS, CORES), "{seen:?}");
    assert!(seen.requests >= REQUESTS && seen.aborts > REQUESTS / 100);
}

#[test]
fn a_request_drains_at_most_the_bound() {
    check::<2, 2>();
    check::<4, 1>();
}

/// Negative controls.
#[test]
fn it_drains_more_if_the_order_is_wrong() {
    for fault in [Fault::None, Fault::OrderForgotten, Fault::WrongHead] {
        let seen = hostile::<_, 2, 2>(|| Model::new(fault, 2, 2, TASKS), 60_000);
        assert_eq!(exceeds(seen, 2, 2), fault != Fault::None, "{seen:?}");
    }
}

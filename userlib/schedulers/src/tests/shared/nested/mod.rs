//! Nested servers: the bound over random and hostile clients, its worst case, and what each rule prevents.

mod rules;
mod scripts;
mod simulation;

use oorandom::Rand64;

use crate::Client;
use crate::tests::NestedFault;
use simulation::{Behaviour, Plan, Seen, Servers, Simulation, Work};

/// The longest time that a request takes in all servers, L.
const L: u64 = 40;

const CALLS: [&[usize]; 4] = [&[1, 2], &[2, 3], &[3], &[]];

fn servers<const CORES: usize>(fault: NestedFault) -> Servers<CORES> {
    let mut servers = Servers::new(CALLS).unwrap();
    servers.fault = fault;
    servers
}

/// Clients of three kinds, by turns: one does what it has budget for, one calls without pause, and one calls at bad times
/// with budgets that end at bad times.
struct Hostile(Rand64);

impl Hostile {
    fn one_of<const N: usize>(&mut self, values: [u64; N]) -> u64 {
        values[self.0.rand_range(0..N as u64) as usize]
    }

    /// Work of a server that takes this time.
    fn work(&mut self, server: usize, mut time: u64) -> Vec<Work> {
        let mut work = Vec::new();
        while time > 0 {
            let part = self.0.rand_range(0..time + 1);
            let called = CALLS[server];
            if called.is_empty() || self.0.rand_range(0..3) == 0 {
                work.push(Work::Run(part));
            } else {
                let to = called[self.0.rand_range(0..called.len() as u64) as usize];
                work.push(Work::Call(to));
                work.extend(self.work(to, part));
            }
            time -= part;
        }
        work.push(Work::Return);
        work
    }
}

fn kind(client: Client) -> u16 {
    (client.task.0 + client.cluster as u16) % 3
}

impl Behaviour for Hostile {
    fn plan(&mut self, client: Client) -> Option<Plan> {
        let (sleep, compute, time) = match kind(client) {
            0 => (
                self.0.rand_range(0..20 * L),
                self.0.rand_range(0..2 * L),
                self.0.rand_range(1..L + 1),
            ),
            1 => (0, 0, L),
            _ => (
                self.one_of([0, 1, L - 1, L, L + 1]),
                self.one_of([0, 0, 1]),
                self.one_of([L, L, L, 1]),
            ),
        };
        let server = self.one_of([0, 0, 1, 2, 3]) as usize;
        let work = self.work(server, time);
        Some(Plan {
            sleep,
            compute,
            server,
            work,
        })
    }

    fn budget(&mut self, client: Client) -> u64 {
        match kind(client) {
            0 => 20 * L,
            1 => self.one_of([2 * L, 20 * L, 60 * L]),
            _ => self.one_of([1, 2, L / 2, L, L + 2, 3 * L, 40 * L]),
        }
    }

    fn period(&self, client: Client) -> u64 {
        L * [7, 31, 12, 55, 90, 19, 41, 23][usize::from(client.task.0)] + client.cluster as u64
    }
}

fn hostile<const CORES: usize>(fault: NestedFault, systems: u64) -> (Seen, bool) {
    let (mut all, mut collided) = (Seen::default(), false);
    for seed in 0..systems {
        let clients = Hostile(Rand64::new(seed.into()));
        let tasks = 2 + seed as u16 % 6;
        let mut simulation = Simulation::<_, CORES>::new(servers(fault), clients, tasks);
        simulation.run(500 * L);
        let seen = simulation.seen;
        collided |= simulation.collided;
        all.requests += seen.requests;
        all.orphans += seen.orphans;
        all.refused += seen.refused;
        all.nested += seen.nested;
        all.parallel += seen.parallel;
        all.most = core::array::from_fn(|orphans| all.most[orphans].max(seen.most[orphans]));
    }
    (all, collided)
}

/// Whether a request has drained more than (2 K + n) L, for n orphans of its core: one at its call, and one of higher priority
/// since.
fn exceeds(seen: Seen, cores: u64) -> bool {
    (0..3).any(|orphans| seen.most[orphans] > (orphans as u64 + 2 * cores) * L)
}

fn check<const CORES: usize>(systems: u64) {
    let (seen, collided) = hostile::<CORES>(NestedFault::None, systems);
    println!("{CORES} cores: {seen:?}");
    assert!(!collided && !exceeds(seen, CORES as u64), "{seen:?}");
    assert!(seen.requests > 500 * systems && seen.nested > 500 * systems);
    assert!(seen.orphans > 10 * systems && seen.refused > systems);
    assert!(seen.parallel > 100 * systems, "{seen:?}");
}

#[test]
fn a_request_drains_at_most_the_bound() {
    check::<2>(100);
    check::<4>(100);
}

#[test]
#[ignore = "takes a minute; it has more than a million requests"]
fn a_request_drains_at_most_the_bound_in_many_systems() {
    check::<2>(1000);
    check::<4>(1000);
}

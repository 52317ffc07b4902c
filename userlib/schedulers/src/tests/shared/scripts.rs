//! Constructed systems: the worst case, and what each rule prevents.

use std::collections::VecDeque;

use super::model::{Fault, Model};
use super::parts::{Behaviour, LONGEST, Plan, Policy, Seen, TASKS};
use super::simulation::Simulation;
use crate::{Client, Discipline, McIpc, OneQueue, SharedServer};

const L: u64 = LONGEST;

/// A budget that does not end.
const LONG: u64 = 1 << 40;

/// What one client does.
#[derive(Clone, Debug)]
struct Part {
    budget: u64,
    plans: VecDeque<Plan>,
    /// It calls without pause after the plans, and not never.
    repeats: bool,
}

/// A client that calls once, at this time, with this budget.
fn once(at: u64, budget: u64) -> Part {
    let plans = [Plan::call_after(at)].into();
    Part {
        budget,
        plans,
        repeats: false,
    }
}

/// A client that calls again and again from this time on.
fn always(at: u64) -> Part {
    Part {
        repeats: true,
        ..once(at, LONG)
    }
}

/// The parts of each cluster's clients, the highest priority first.
struct Script(Vec<Vec<Part>>);

impl Behaviour for Script {
    fn plan(&mut self, client: Client) -> Plan {
        let part = self.0[client.cluster].get_mut(usize::from(client.task.0));
        let Some(part) = part else {
            return Plan::END;
        };
        let rest = if part.repeats {
            Plan::call_after(0)
        } else {
            Plan::END
        };
        part.plans.pop_front().unwrap_or(rest)
    }

    fn budget(&mut self, client: Client) -> u64 {
        let part = self.0[client.cluster].get(usize::from(client.task.0));
        part.map_or(0, |part| part.budget)
    }

    fn period(&self, _: Client) -> u64 {
        u64::MAX
    }
}

/// What the requests drain at most while `requests` of them end.
fn run<S: SharedServer<Priority = u64>, const CLUSTERS: usize, const CORES: usize>(
    server: S,
    clusters: Vec<Vec<Part>>,
    requests: u64,
) -> Seen {
    let script = Script(clusters);
    let policy = Policy::FixedPriority;
    let mut simulation = Simulation::<_, _, CLUSTERS, CORES>::new(server, script, policy, TASKS);
    simulation.run(requests);
    simulation.seen
}

/// Two clusters of two cores.
fn run_with(fault: Fault, clusters: Vec<Vec<Part>>) -> Seen {
    run::<_, 2, 2>(Model::new(fault, 2, 2, TASKS), clusters, 100)
}

/// The worst case for a client of the first cluster, J, with the lowest of the C highest priorities. At its call:
///
/// - a request of its cluster is in service that has just been aborted, for a whole L;
/// - the FIFO of its cluster is full of requests of lower priority, whose clients have budget left, and each has a
///   request of every other cluster before it: C K L until J enters the FIFO;
/// - C - 1 clients of higher priority call as well, and enter the FIFO before J: C K L once more.
fn worst_case(clusters: usize, cores: usize) -> Vec<Vec<Part>> {
    let calls = cores as u64 + 4;
    let mut first: Vec<_> = (0..cores - 1).map(|_| once(calls, LONG)).collect();
    // J, which has a larger number, so that they are before it.
    first.push(once(calls, LONG));
    first.push(once(0, 1));
    first.extend((0..cores).map(|_| once(0, LONG)));
    let others = (1..clusters).map(|_| vec![always(1); cores]);
    core::iter::once(first).chain(others).collect()
}

/// The same, and one client more of higher priority, which calls just before J would enter the FIFO and enters it
/// instead. J is not scheduled, and enters the FIFO when the first of these clients is aborted in service; then it pays
/// for that, too.
fn with_orphan_of_higher_priority(clusters: usize, cores: usize) -> Vec<Vec<Part>> {
    let mut parts = worst_case(clusters, cores);
    let calls = cores as u64 + 4;
    let entry = L + (clusters * cores) as u64 * L;
    let served = entry + (clusters as u64 - 1) * L;
    if cores == 1 {
        parts[0].insert(0, once(entry - 1, served - entry + 2));
    } else {
        parts[0][0].budget = served - calls + 1;
        parts[0].insert(0, once(entry - 1, LONG));
    }
    parts
}

/// Checks that the worst case drains more than 99 % of (n + 2 C K) L, and no more than that.
fn drains<const CLUSTERS: usize, const CORES: usize>(orphans: usize, script: Vec<Vec<Part>>) {
    let server = McIpc::<u64, CLUSTERS, CORES, TASKS>::new();
    let most = run::<_, CLUSTERS, CORES>(server, script, 200).most();
    let bound = (orphans + 2 * CLUSTERS * CORES) as u64 * L;
    println!("{CLUSTERS} clusters of {CORES} cores: {most} of {bound}");
    assert!(
        most <= bound && most * 100 > bound * 99,
        "{most} of {bound}"
    );
}

#[test]
fn the_bound_is_reached() {
    drains::<1, 1>(1, worst_case(1, 1));
    drains::<2, 2>(1, worst_case(2, 2));
    drains::<4, 1>(1, worst_case(4, 1));
    drains::<3, 3>(1, worst_case(3, 3));
}

#[test]
fn an_orphan_of_higher_priority_costs_one_service_more() {
    drains::<1, 1>(2, with_orphan_of_higher_priority(1, 1));
    drains::<2, 2>(2, with_orphan_of_higher_priority(2, 2));
    drains::<4, 1>(2, with_orphan_of_higher_priority(4, 1));
}

/// An aborted request of the second cluster, and a further one, are before the worst case in the first.
#[test]
fn back_pressure_keeps_the_aborts_of_other_clusters_away() {
    let script = || {
        let mut script = worst_case(2, 2);
        // The client whose request is aborted is in the other cluster.
        script[0].remove(2);
        script[1].insert(0, once(0, 1));
        for part in &mut script[0][2..] {
            part.plans = [Plan::call_after(2)].into();
        }
        script
    };
    let bound = 2 * 2 * 2 * L;
    assert!(run_with(Fault::None, script()).most() <= bound);
    let seen = run_with(Fault::NoBackPressure, script());
    assert!(seen.most() > bound, "{seen:?}");
}

/// If an aborted request in service closed the FIFO of its cluster, clients of higher priority could pass J without
/// end: each calls just before the service ends, waits in the FIFO for the next L, and has a budget that ends when it
/// is served. J is scheduled and pays nearly all the time.
#[test]
fn an_abort_does_not_close_the_fifo() {
    let script = || {
        let mut first = vec![once(0, 1)];
        first.push(once(0, L + 1));
        let later = (1..12).map(|number| once(number * L - 1, L + 2));
        first.extend(later);
        first.push(once(0, LONG));
        vec![first, Vec::new()]
    };
    let bound = (1 + 2 * 2 * 2) * L;
    let seen = run_with(Fault::BlockedFifo, script());
    assert!(seen.most() > bound, "{seen:?}");
    let seen = run_with(Fault::None, script());
    assert!(seen.most() <= bound);
}

/// Sixteen clients of the other cluster call before J, the last ones first, so that each of them is scheduled. The
/// first two then call without pause. J has the third priority.
#[test]
fn one_queue_has_no_such_bound() {
    let script = || {
        let mut others: Vec<_> = (0..TASKS as u64)
            .map(|rank| once(16 - rank, LONG))
            .collect();
        others[0] = always(16);
        others[1] = always(15);
        let idle = || once(u64::MAX, 0);
        vec![vec![idle(), idle(), once(20, LONG)], others]
    };
    let bound = (1 + 2 * 2 * 2) * L;
    for discipline in [Discipline::Fifo, Discipline::Priority] {
        let server = OneQueue::<u64, 2, TASKS>::new(discipline);
        let seen = run::<_, 2, 2>(server, script(), 100);
        assert!(seen.most() > bound, "{discipline:?}: {seen:?}");
    }
    let server = McIpc::<u64, 2, 2, TASKS>::new();
    assert!(run::<_, 2, 2>(server, script(), 100).most() <= bound);
}

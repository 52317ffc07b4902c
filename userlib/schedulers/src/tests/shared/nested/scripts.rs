//! Constructed systems: the worst case, and what each rule prevents.

use std::collections::VecDeque;

use super::simulation::{Behaviour, Plan, Simulation, Work};
use super::{L, servers};
use crate::Client;
use crate::tests::NestedFault;

/// A budget that does not end.
const LONG: u64 = 1 << 40;

/// What one client does.
#[derive(Clone)]
struct Part {
    budget: u64,
    plans: VecDeque<Plan>,
    repeats: bool,
}

/// Calls a server once, at this time.
fn once(at: u64, budget: u64, server: usize, work: &[Work]) -> Part {
    let plan = Plan {
        sleep: at,
        compute: 0,
        server,
        work: work.to_vec(),
    };
    Part {
        budget,
        plans: [plan].into(),
        repeats: false,
    }
}

/// Calls again and again.
fn always(at: u64, server: usize, work: &[Work]) -> Part {
    Part {
        repeats: true,
        ..once(at, LONG, server, work)
    }
}

/// The parts of each core's clients, the highest priority first.
struct Script(Vec<Vec<Part>>);

impl Behaviour for Script {
    fn plan(&mut self, client: Client) -> Option<Plan> {
        let part = self.0[client.cluster].get_mut(usize::from(client.task.0))?;
        let plan = part.plans.pop_front()?;
        if part.repeats {
            let again = Plan {
                sleep: 0,
                ..plan.clone()
            };
            part.plans.push_back(again);
        }
        Some(plan)
    }

    fn budget(&mut self, client: Client) -> u64 {
        let part = self.0[client.cluster].get(usize::from(client.task.0));
        part.map_or(0, |part| part.budget)
    }

    fn period(&self, _: Client) -> u64 {
        u64::MAX
    }
}

/// What the requests drain at most.
fn most<const CORES: usize>(fault: NestedFault, script: &[Vec<Part>]) -> u64 {
    let script = Script(script.to_vec());
    let mut simulation = Simulation::<_, CORES>::new(servers(fault), script, 8);
    simulation.run(200 * L);
    assert!(!simulation.collided);
    simulation.seen.most()
}

/// A request of server 0, nearly all of it in a nested call of server 2.
const OUTER: [Work; 5] = [
    Work::Run(1),
    Work::Call(2),
    Work::Run(L - 2),
    Work::Return,
    Work::Run(1),
];

fn outer() -> Vec<Work> {
    OUTER.into_iter().chain([Work::Return]).collect()
}

const INNER: [Work; 2] = [Work::Run(L), Work::Return];

/// The worst case for the client with the highest priority of core 0, which calls when a request of its core has just become
/// an orphan, and another one of its core is to be next; those of all other cores come before each.
fn worst_case(cores: usize) -> Vec<Vec<Part>> {
    let first = vec![
        once(3, LONG, 0, &outer()),
        once(0, 2, 0, &outer()),
        once(0, LONG, 0, &outer()),
    ];
    let others = (1..cores).map(|_| vec![always(1, 0, &outer())]);
    core::iter::once(first).chain(others).collect()
}

fn drains<const CORES: usize>() {
    let most = most::<CORES>(NestedFault::None, &worst_case(CORES));
    let bound = (1 + 2 * CORES as u64) * L;
    println!("{CORES} cores: {most} of {bound}");
    assert!(most <= bound && most * 100 >= bound * 80);
}

#[test]
fn the_bound_is_nearly_reached() {
    drains::<1>();
    drains::<2>();
    drains::<4>();
}

/// The script keeps the bound for so many cores with clients; without the rule it does not.
fn needs<const CORES: usize>(fault: NestedFault, script: &[Vec<Part>], bound: u64) {
    let kept = most::<CORES>(NestedFault::None, script);
    assert!(kept <= bound, "{kept} of {bound}");
    let most = most::<CORES>(fault, script);
    println!("{fault:?}: {most} of {bound}, {kept} with the rule");
    assert!(most > bound, "{fault:?}: {most} of {bound}");
}

/// The client of core 0 is served by server 0 and calls server 2 many times. The other one calls that in between, each time
/// for all of L.
#[test]
fn tickets_let_nothing_come_in_between() {
    let calls = [Work::Call(2), Work::Run(1), Work::Return];
    let work: Vec<_> = [Work::Run(1)]
        .into_iter()
        .chain(calls.repeat(L as usize - 1))
        .chain([Work::Return])
        .collect();
    let script = [vec![once(0, LONG, 0, &work)], vec![always(0, 2, &INNER)]];
    needs::<2>(NestedFault::NoTickets, &script, 5 * L);
}

/// The worst case, with an orphan whose nested call would wait for the requests of all other cores.
#[test]
fn orphans_do_not_wait() {
    let first = vec![
        once(4, LONG, 2, &INNER),
        once(1, 2, 0, &outer()),
        once(1, LONG, 2, &INNER),
    ];
    let others = (1..4).map(|_| vec![always(0, 2, &INNER)]);
    let script: Vec<_> = core::iter::once(first).chain(others).collect();
    needs::<4>(NestedFault::NoRefusal, &script, 9 * L);
}

/// The client that is served is preempted for a long time by one that computes.
#[test]
fn those_that_wait_lend() {
    let mut busy = once(2, LONG, 3, &INNER);
    busy.plans[0].compute = 100 * L;
    let others = vec![busy, once(0, LONG, 2, &INNER)];
    let script = [vec![once(1, LONG, 2, &INNER)], others];
    needs::<2>(NestedFault::NoInheritance, &script, 5 * L);
}

/// An orphan of core 1 is served, and the next request of core 1 comes before those of core 0, in which there is no orphan.
#[test]
fn a_core_pays_for_one_request_of_each_other_core() {
    let first = vec![once(3, LONG, 2, &INNER), once(2, LONG, 2, &INNER)];
    let others = vec![once(0, 1, 2, &INNER), always(1, 2, &INNER)];
    // The third core has no clients.
    let script = [first, others, vec![]];
    needs::<3>(NestedFault::NoBackPressure, &script, 4 * L);
}

//! The kernel itself, in the simulator: no response is longer than its bound, whatever other threads do.

use schedulability::fixed::{Guarantee, response_time, thread_response};
use schedulability::generate::Generator;
use schedulability::model::{
    Call, Context, Core, Parameters, Priority, Replenishment, Server, ServerId, Task, Thread, Waits,
};
use schedulability::supply::Recurring;
use schedulability::{Error, Time};
use simulator::{Microseconds, Options, Setup, Simulation, note, us, work};
use userlib::cap::{Endpoint, Reply, SchedParameters};
use userlib::{Message, server};

use super::random::between;

/// What a job takes in the kernel at most, in this simulator, where each look at the clock takes a microsecond.
const ENTRIES: i128 = 60;
/// The smallest budget.
const SMALLEST: i128 = 20;

/// A thread of a system; times are in microseconds.
#[derive(Clone, Copy, Debug)]
struct Plan {
    cost: i128,
    period: i128,
    budget: i128,
    budget_period: i128,
    replenishment: Replenishment,
    /// How long the server works for each job.
    request: i128,
    /// It never waits, whatever it claims.
    hostile: bool,
}

/// The seed of a system in which preemptions fill the list of replenishments.
const FRAGMENTED: u64 = u64::MAX >> 8;

/// The system of a seed, the highest priority first.
fn system(seed: u64) -> Vec<Plan> {
    if seed == FRAGMENTED {
        let plan = |cost, period, budget, budget_period, replenishment, hostile| Plan {
            cost,
            period,
            budget,
            budget_period,
            replenishment,
            request: 0,
            hostile,
        };
        return vec![
            plan(160, 3_200, 240, 3_200, Replenishment::Sporadic, true),
            plan(3_168, 19_800, 906, 2_922, Replenishment::OnDispatch, false),
        ];
    }
    let mut random = Generator::new(seed);
    let count = between(&mut random, 2, 4);
    let plans = (0..count).map(|_| {
        let period = between(&mut random, 20, 200) * 100;
        let cost = period * between(&mut random, 5, 120 / count) / 100;
        let request = [0, between(&mut random, 100, 900)][random.below(2) as usize];
        let all = cost + request + ENTRIES;
        let replenishment = match random.below(2) {
            0 => Replenishment::Sporadic,
            _ => Replenishment::OnDispatch,
        };
        // Budgets for whole jobs, or for parts of them.
        let (budget, budget_period, replenishment) = match random.below(3) {
            0 | 1 => (all + SMALLEST, period, Replenishment::Sporadic),
            _ => {
                let budget = between(&mut random, 400, 1_500);
                // Thresholds and the kernel take their part of it.
                let wanted = if request > 0 { all + 1_000 } else { all };
                let twice = match replenishment {
                    Replenishment::Sporadic => 1,
                    Replenishment::OnDispatch => 2,
                };
                let share = twice * wanted * 100 / period + 15;
                (budget, budget * 100 / share.clamp(1, 95), replenishment)
            }
        };
        let hostile = random.below(4) == 0;
        Plan {
            cost,
            period,
            budget: budget.min(budget_period - 1),
            budget_period,
            replenishment,
            request: if hostile { 0 } else { request },
            hostile,
        }
    });
    plans.collect()
}

fn longest_request(plans: &[Plan]) -> i128 {
    plans
        .iter()
        .map(|plan| plan.request)
        .max()
        .unwrap_or_default()
}

fn time(micros: i128) -> Time {
    Time::from_micros(micros as u64)
}

/// The system as the analysis knows it, or none if a task is impossible.
fn described(plans: &[Plan]) -> Option<Core> {
    let threads = plans.iter().enumerate().map(|(place, plan)| {
        let context = Context::new(
            time(plan.budget),
            time(plan.budget_period),
            0,
            plan.replenishment,
        );
        let mut parameters = Parameters::new(
            place.to_string(),
            time(plan.cost + ENTRIES),
            time(plan.period),
        );
        if plan.hostile {
            // A claim that its budget does not cover, so that only the context counts.
            parameters.costs = vec![time(plan.budget)];
        }
        let server = ServerId(0);
        let length = time(plan.request);
        let calls = vec![Call {
            server,
            count: 1,
            length,
        }];
        Some(Thread {
            task: Task::new(parameters).ok()?,
            priority: Priority(90 - place as u8),
            context: Some(context.unwrap()),
            calls: if plan.request > 0 { calls } else { Vec::new() },
            waits: Waits::default(),
        })
    });
    let server = Server {
        name: "server".into(),
        ceiling: Priority(99),
        threshold: Some(time(longest_request(plans) + SMALLEST)),
        calls: Vec::new(),
        aborts: false,
    };
    Core::new(
        threads.collect::<Option<_>>()?,
        vec![server],
        time(SMALLEST),
    )
    .ok()
}

/// The system as a root task makes it.
fn make(setup: &mut Setup) {
    let plans = system(setup.seed());
    let (endpoint, reply): (Endpoint, Reply) = (setup.create(), setup.create());
    let threshold = us((longest_request(&plans) + SMALLEST) as u64);
    let original = setup.allocator.slot(endpoint);
    original.set_endpoint_threshold(threshold, 0).unwrap();
    setup.thread("server", 99).passive().run(move || {
        server::serve(endpoint, reply, |request| {
            let message = request.message.expect("no signals are sent");
            work(us(message.word(0) as u64));
            Message::empty(0)
        })
    });
    for (place, plan) in plans.into_iter().enumerate() {
        let mut random = Generator::new(setup.seed() << 8 | place as u64);
        let late = random.below(3) == 0;
        let interrupt = setup.device(move |last| {
            let more = if late {
                between(&mut random, 0, plan.period / 4)
            } else {
                0
            };
            let gap = if last.0 == 0 { 1_000 } else { plan.period };
            Some(Microseconds(last.0 + (gap + more) as u64))
        });
        let mut parameters =
            SchedParameters::new(us(plan.budget as u64), us(plan.budget_period as u64));
        if plan.replenishment == Replenishment::Sporadic {
            parameters = parameters.sporadic();
        }
        let thread = setup
            .thread(place.to_string(), 90 - place as u8)
            .time(parameters);
        thread.repeat(move || {
            if plan.hostile {
                return work(us(plan.cost as u64 * 10));
            }
            interrupt.wait().unwrap();
            work(us((plan.cost / 2) as u64));
            if plan.request > 0 {
                endpoint.call(Message::new(0, &[plan.request as usize]));
            }
            work(us((plan.cost - plan.cost / 2) as u64));
            note("done");
        });
    }
}

/// The longest response of each thread, in microseconds.
fn seen(seed: u64, threads: usize) -> Vec<u64> {
    let mut simulation = Simulation::new(
        make,
        Options {
            seed,
            ..Options::default()
        },
    );
    simulation.run_until(300_000);
    let history = simulation.history();
    let longest = |place: usize| {
        let name = place.to_string();
        let line = format!("interrupt {}", place + 1);
        let arrivals = history
            .marks
            .iter()
            .filter(|mark| mark.actor.is_none() && mark.text == line);
        let ends = history.notes(&name).map(|(time, _)| time);
        let each = arrivals.map(|mark| mark.time).zip(ends);
        each.map(|(arrival, end)| end - arrival)
            .max()
            .unwrap_or_default()
    };
    (0..threads).map(longest).collect()
}

/// How close responses came to their bounds.
#[derive(Debug, Default)]
struct Closeness {
    /// Systems with a thread whose response is bounded.
    systems: usize,
    /// Those in which the longest response of each such thread came to 70 % of its bound.
    all_near: usize,
    threads: usize,
    /// Threads on the supply of a context.
    on_supply: usize,
    /// Threads whose longest response came to 70 % of its bound.
    near: usize,
}

/// Compares systems until as many were compared.
fn compare(systems: usize) -> Closeness {
    let mut compared = 0;
    let mut all = Closeness::default();
    for seed in 0.. {
        if compared == systems {
            break;
        }
        let plans = system(seed);
        let Some(core) = described(&plans) else {
            continue;
        };
        let bounds: Vec<Option<Guarantee>> = (0..plans.len())
            .map(|place| thread_response(&core, place).ok().map(|found| found.value))
            .collect();
        let in_time = |bound: &Option<Guarantee>, plan: &Plan| {
            let is_met = |found: &Guarantee| found.response.bound <= time(plan.period);
            plan.hostile || bound.as_ref().is_some_and(is_met)
        };
        if !bounds
            .iter()
            .zip(&plans)
            .all(|(bound, plan)| in_time(bound, plan))
        {
            continue;
        }
        compared += 1;
        let before = (all.threads, all.near);
        for (place, seen) in seen(seed, plans.len()).into_iter().enumerate() {
            let Some(found) = bounds[place].as_ref().filter(|_| !plans[place].hostile) else {
                continue;
            };
            let bound = found.response.bound;
            let seen = Time::from_micros(seen);
            assert!(
                seen <= bound,
                "seed {seed}, thread {place}: {seen} above {bound}\n{plans:?}"
            );
            all.threads += 1;
            all.near += usize::from(seen.nanos() * 10 >= bound.nanos() * 7);
            all.on_supply += usize::from(found.supply.is_some());
        }
        let (threads, near) = (all.threads - before.0, all.near - before.1);
        all.systems += usize::from(threads > 0);
        all.all_near += usize::from(threads > 0 && near == threads);
    }
    println!("{all:?}");
    assert!(all.all_near * 2 >= compared, "{all:?} of {compared}");
    all
}

#[test]
pub fn no_response_is_longer_than_its_bound() {
    let all = compare(60);
    assert!(all.near * 2 > all.threads, "{all:?}");
}

/// The supply of an ideal server, whose list of replenishments is never full, is too good for the kernel: the negative
/// control of [`Context::supply`].
#[test]
pub fn an_ideal_server_supplies_more_than_the_kernel() {
    let plans = system(FRAGMENTED);
    let core = described(&plans).unwrap();
    let task = &core.threads()[1].task;
    let seen = Time::from_micros(seen(FRAGMENTED, 2)[1]);
    let ideal = Recurring::sliding(time(906 - 2 * SMALLEST), time(2_922)).unwrap();
    let ideal = response_time(task, &[], Time::ZERO, &ideal)
        .unwrap()
        .value
        .bound;
    assert!(ideal < seen, "{ideal} {seen}");
    assert!(matches!(
        thread_response(&core, 1),
        Err(Error::Overload { .. })
    ));
}

#[test]
#[ignore = "takes minutes"]
fn no_response_in_a_thousand_systems_is_longer_than_its_bound() {
    let all = compare(1_000);
    assert!(all.near * 2 > all.threads, "{all:?}");
}

//! Threads that call servers, and threads in contexts.

use schedulability::fixed::{IN_CONTEXT, ON_SUPPLY, blocking, schedulable, thread_response};
use schedulability::generate::Generator;
use schedulability::model::{
    Call, Context, Core, Priority, Replenishment, Server, ServerId, Thread,
};
use schedulability::{Error, Time, Verdict};

use super::random::{between, constrained, task};
use super::simulator::{Job, Policy, Run, hyperperiod, ns, periodic};

fn server(name: &str, ceiling: u8) -> Server {
    Server {
        name: name.into(),
        ceiling: Priority(ceiling),
        threshold: None,
        calls: Vec::new(),
        aborts: false,
    }
}

fn call(server: usize, count: u32, length: i128) -> Call {
    let length = ns(length);
    let server = ServerId(server);
    Call {
        server,
        count,
        length,
    }
}

fn thread(cost: i128, period: i128, priority: u8, calls: Vec<Call>) -> Thread {
    let mut thread = Thread::new(task(cost, period, period), Priority(priority));
    thread.calls = calls;
    thread
}

fn core(threads: Vec<Thread>, servers: Vec<Server>) -> Core {
    Core::new(threads, servers, Time::ZERO).unwrap()
}

/// The highest of three is blocked by the longer of two requests; the middle one by a server that it never calls.
#[test]
fn one_request_blocks() {
    let core = core(
        vec![
            thread(1, 20, 9, vec![call(0, 1, 1)]),
            thread(2, 40, 5, vec![call(0, 2, 3)]),
            thread(4, 80, 1, vec![call(0, 1, 5), call(1, 1, 7)]),
        ],
        vec![server("shared", 9), server("low", 4)],
    );
    let blocked = [0, 1, 2].map(|place| blocking(&core, place).unwrap().value);
    assert_eq!(blocked.map(|blocking| blocking.time), [5, 5, 0].map(ns));
    assert_eq!(blocked[0].by, Some((ServerId(0), 2)));
    // 1 + 1 of the server, and 5.
    assert_eq!(
        thread_response(&core, 0).unwrap().value.response.bound,
        ns(7)
    );
    assert_eq!(core.demand(1), ns(8));
}

/// They interfere, and their requests do not count a second time as blocking.
#[test]
fn threads_of_equal_priority_wait_for_each_other() {
    let requests = || vec![call(0, 1, 2)];
    let threads = vec![thread(3, 20, 5, requests()), thread(4, 20, 5, requests())];
    let core = core(threads, vec![server("shared", 5)]);
    let bounds = [0, 1].map(|place| thread_response(&core, place).unwrap().value.response);
    assert_eq!(
        bounds.each_ref().map(|response| response.bound),
        [11, 11].map(ns)
    );
    assert_eq!(bounds.map(|response| response.blocking), [0, 0].map(ns));
}

#[test]
pub fn nested_requests_count_as_a_whole() {
    let mut outer = server("outer", 9);
    outer.calls = vec![call(1, 2, 3)];
    let core = core(
        vec![
            thread(1, 90, 9, vec![call(0, 1, 1)]),
            thread(1, 90, 1, vec![call(0, 1, 4)]),
        ],
        vec![outer, server("inner", 9)],
    );
    assert_eq!(core.demand(1), ns(1 + 4 + 2 * 3));
    assert_eq!(blocking(&core, 0).unwrap().value.time, ns(10));
}

#[test]
fn impossible_cores_are_refused() {
    let refused = |threads, servers| {
        Core::new(threads, servers, Time::ZERO)
            .unwrap_err()
            .to_string()
    };
    let text = refused(vec![thread(1, 9, 5, vec![call(3, 1, 1)])], vec![]);
    assert!(
        text.contains("calls server 3, which does not exist"),
        "{text}"
    );
    let text = refused(
        vec![thread(1, 9, 5, vec![call(0, 1, 1)])],
        vec![server("low", 4)],
    );
    assert!(
        text.contains("priority 5, and the server `low` that it calls only 4"),
        "{text}"
    );
    let mut one = server("one", 9);
    let mut other = server("other", 9);
    one.calls = vec![call(1, 1, 1)];
    other.calls = vec![call(0, 1, 1)];
    let text = refused(vec![], vec![one, other]);
    assert!(text.contains("break the cycle"), "{text}");
    let forever = call(0, u32::MAX, Time::LONGEST.nanos());
    let text = refused(
        vec![thread(1, 9, 5, vec![forever])],
        vec![server("long", 9)],
    );
    assert!(text.contains("at most 1125899906842624 ns"), "{text}");
}

/// Each server calls the next one twice: the work doubles, but not the work of the analysis.
#[test]
fn deep_nesting_is_fast() {
    let nested = |depth: usize| {
        let mut servers: Vec<_> = (0..depth).map(|_| server("nested", 9)).collect();
        for (place, server) in servers.iter_mut().enumerate().take(depth - 1) {
            server.threshold = Some(ns(1));
            server.calls = vec![call(place + 1, 1, 0), call(place + 1, 1, 1)];
        }
        let period = 1 << 49;
        let threads = vec![
            thread(1, period, 9, vec![]),
            in_context(thread(1, period, 1, vec![call(0, 1, 1)]), 1 << 48, period),
        ];
        Core::new(threads, servers, Time::ZERO)
    };
    // 1 + 2^0 + 2^1 and so on.
    let core = nested(41).unwrap();
    assert_eq!(core.demand(1), ns(1 + (1 << 40)));
    assert_eq!(blocking(&core, 0).unwrap().value.time, ns(1 << 40));
    assert!(nested(90).is_err());
}

/// The jobs of one thread begin with a request, during which the server's ceiling counts.
struct AtCeiling {
    caller: usize,
    length: i128,
    ceiling: usize,
}

impl Policy for AtCeiling {
    fn key(&self, job: &Job) -> i128 {
        let is_served = job.task == self.caller && job.done > 0 && job.done < self.length;
        let place = if is_served { self.ceiling } else { job.task };
        // The server precedes a thread at its ceiling, because it runs already.
        place as i128 * 2 - i128::from(is_served)
    }
}

#[test]
pub fn responses_with_servers_are_not_exceeded_and_forgotten_blocking_is_noticed() {
    let mut random = Generator::new(20);
    let (mut compared, mut reached, mut caught) = (0, 0, 0);
    for _ in 0..400 {
        let tasks = constrained(&mut random, 3, 16);
        let length = between(&mut random, 1, tasks[2].cost().nanos());
        let threads = |length: i128| {
            let threads = tasks.iter().enumerate().map(|(place, task)| {
                let priority = Priority(9 - place as u8);
                if place < 2 || length == 0 {
                    return Thread::new(task.clone(), priority);
                }
                let own = task.cost().nanos() - length;
                let mut thread = Thread::new(task.with_cost(ns(own.max(1))).unwrap(), priority);
                thread.calls = vec![call(0, 1, length)];
                thread
            });
            Core::new(threads.collect(), vec![server("server", 9)], Time::ZERO).unwrap()
        };
        let bounds = |core: &Core| -> Option<Vec<i128>> {
            let bound = |place| {
                Some(
                    thread_response(core, place)
                        .ok()?
                        .value
                        .response
                        .bound
                        .nanos(),
                )
            };
            (0..3).map(bound).collect()
        };
        let (Some(with), Some(without)) = (bounds(&threads(length)), bounds(&threads(0))) else {
            continue;
        };
        let end = hyperperiod(&tasks).min(1_000) * 2;
        let mut seen = [0; 3];
        for _ in 0..16 {
            let offset = |task: &schedulability::model::Task| {
                between(&mut random, 0, task.period().nanos() - 1)
            };
            let offsets: Vec<_> = tasks.iter().map(offset).collect();
            let jobs = periodic(&tasks, &offsets, end);
            let run = Run {
                tasks: &tasks,
                jobs,
                cores: 1,
                end,
            };
            let mut policy = AtCeiling {
                caller: 2,
                length,
                ceiling: 0,
            };
            for (seen, longest) in seen.iter_mut().zip(run.run(&mut policy).longest) {
                *seen = longest.max(*seen);
            }
        }
        // The analysis blocks for the whole request, a job for all but the part before it is released.
        let within = seen.iter().zip(&with).all(|(seen, bound)| seen <= bound);
        assert!(within, "{tasks:?} {length}: {seen:?} above {with:?}");
        reached += u32::from(seen[0] * 10 >= with[0] * 7);
        caught += u32::from(
            seen[..2]
                .iter()
                .zip(&without)
                .any(|(seen, bound)| seen > bound),
        );
        compared += 1;
    }
    assert!(
        compared > 50 && reached * 2 > compared,
        "{reached} of {compared}"
    );
    assert!(caught > 20, "{caught}");
}

fn in_context(mut thread: Thread, budget: i128, period: i128) -> Thread {
    let context = Context::new(ns(budget), ns(period), 0, Replenishment::Sporadic);
    thread.context = Some(context.unwrap());
    thread
}

#[test]
fn a_context_limits_what_a_thread_takes_from_others() {
    let below = thread(2, 20, 1, vec![]);
    let free = core(vec![thread(8, 80, 9, vec![]), below.clone()], vec![]);
    let limited = in_context(thread(8, 80, 9, vec![]), 3, 20);
    let limited = core(vec![limited, below], vec![]);
    let bound = |core: &Core, place| thread_response(core, place).unwrap().value.response.bound;
    assert_eq!((bound(&free, 1), bound(&limited, 1)), (ns(10), ns(5)));
    let found = thread_response(&limited, 0).unwrap();
    assert_eq!(found.method, &ON_SUPPLY);
    // The budget is used up within 3, so the blackout is 2 * 20 + 3 - 3 * 3; then 20 each, and 2.
    assert_eq!(found.value.response.bound, ns(34 + 2 * 20 + 2));
    assert_eq!(schedulable(&limited).unwrap(), Verdict::Holds);
    let hog = in_context(thread(8, 20, 9, vec![]), 3, 20);
    assert_eq!(
        schedulable(&core(vec![hog], vec![])).unwrap(),
        Verdict::Fails
    );
}

#[test]
fn requests_that_can_starve_are_refused() {
    let client = in_context(thread(2, 80, 1, vec![call(0, 1, 4)]), 3, 20);
    let other = thread(1, 20, 9, vec![call(0, 1, 1)]);
    let mut shared = server("shared", 9);
    let refused = core(vec![client.clone(), other.clone()], vec![shared.clone()]);
    let error = thread_response(&refused, 1).unwrap_err().to_string();
    assert!(
        error.contains("takes 4 ns, the server's endpoint has no threshold"),
        "{error}"
    );
    shared.threshold = Some(ns(3));
    let refused = core(vec![client.clone(), other.clone()], vec![shared.clone()]);
    let error = thread_response(&refused, 1).unwrap_err().to_string();
    assert!(
        error.contains("set a threshold of at least 4 ns"),
        "{error}"
    );
    shared.threshold = Some(ns(4));
    let accepted = core(vec![client, other], vec![shared]);
    assert_eq!(
        thread_response(&accepted, 1)
            .unwrap()
            .value
            .response
            .blocking,
        ns(4)
    );
    // The client's own bound includes what a deferred call leaves unused.
    let client = thread_response(&accepted, 0).unwrap().value;
    assert_eq!(client.response.own, ns(2 + 4 + 4));
}

#[test]
fn a_context_that_cannot_get_its_budget_is_refused() {
    let hog = thread(8, 10, 9, vec![]);
    let starved = in_context(thread(5, 50, 1, vec![]), 4, 15);
    let core = core(vec![hog, starved], vec![]);
    let error = thread_response(&core, 1).unwrap_err();
    assert!(
        matches!(error, Error::Overload { .. } | Error::Impossible { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("5/50"), "{error}");
}

/// A budget for the whole job is not enough where a threshold asks for more than the job has left when it calls.
#[test]
fn a_threshold_for_others_can_defer_a_covered_job() {
    let with = |budget| {
        let client = in_context(thread(2, 200, 1, vec![call(0, 1, 4)]), budget, 80);
        let mut shared = server("shared", 9);
        shared.threshold = Some(ns(10));
        thread_response(&core(vec![client], vec![shared]), 0).unwrap()
    };
    assert_eq!(with(12).method, &IN_CONTEXT);
    assert_eq!(with(11).method, &ON_SUPPLY);
}

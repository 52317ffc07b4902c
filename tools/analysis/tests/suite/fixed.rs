//! Response times under fixed priorities.

use schedulability::fixed::{self, Interference, response_time};
use schedulability::generate::Generator;
use schedulability::model::Task;
use schedulability::supply::{Processor, Recurring, Supply};
use schedulability::{Error, Ratio, Time};

use super::random::{between, constrained, is_possible, task};
use super::simulator::{At, ByPlace, Run, hyperperiod, ns, periodic};

/// The bounds of tasks in order of priority, or none if there is one too many.
pub fn bounds(tasks: &[Task], supply: &dyn Supply) -> Option<Vec<i128>> {
    let bound = |place: usize| {
        let others: Vec<_> = tasks[..place].iter().map(Interference::of).collect();
        match response_time(&tasks[place], &others, Time::ZERO, supply) {
            Ok(found) => Some(found.value.bound.nanos()),
            Err(Error::Overload { .. } | Error::NotFound { .. }) => None,
            Err(error) => panic!("{error}"),
        }
    };
    (0..tasks.len()).map(bound).collect()
}

/// Joseph and Pandya, 1986: the textbook's three tasks. The third one's response is its deadline exactly.
#[test]
fn the_textbook_example() {
    let tasks = [task(3, 7, 7), task(3, 12, 12), task(5, 20, 20)];
    assert_eq!(bounds(&tasks, &Processor).unwrap(), [3, 6, 20]);
}

/// Lehoczky, 1990: with deadlines above periods, the first job of a busy window is not the worst: 114, 102, 116, 104,
/// 118, 106, 94.
#[test]
fn later_jobs_of_a_busy_window_can_be_worse() {
    let tasks = [task(26, 70, 70), task(62, 100, 118)];
    assert_eq!(bounds(&tasks, &Processor).unwrap(), [26, 118]);
}

#[test]
pub fn jitter_counts_for_the_task_and_for_those_below() {
    let mut parameters = task(2, 10, 10).parameters().clone();
    parameters.jitter = ns(3);
    let tasks = [Task::new(parameters).unwrap(), task(6, 20, 20)];
    // The second release comes 7 after the first.
    assert_eq!(bounds(&tasks, &Processor).unwrap(), [5, 10]);
}

#[test]
fn a_bound_is_the_sum_of_its_parts() {
    let tasks = [task(26, 70, 70), task(62, 100, 118)];
    let supply = Recurring::sliding(ns(999), ns(1_000)).unwrap();
    let others = [Interference::of(&tasks[0])];
    let found = response_time(&tasks[1], &others, ns(7), &supply)
        .unwrap()
        .value;
    let interference: Time = found.interference.iter().copied().sum();
    let sum = found.jitter + found.own + interference + found.blocking + found.missing;
    assert_eq!(found.bound, sum - found.arrived);
    assert!(found.missing > Time::ZERO && found.blocking == ns(7));
}

#[test]
fn an_overload_is_named() {
    let tasks = [task(3, 4, 4), task(1, 3, 3)];
    let others = [Interference::of(&tasks[0])];
    let error = response_time(&tasks[1], &others, Time::ZERO, &Processor).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("task `1/3`") && text.contains("108.3334 %"),
        "{text}"
    );
}

#[test]
fn the_largest_overload_is_told_as_well() {
    let task = task(1 << 45, 1, 1 << 46);
    let error = response_time(&task, &[], Time::ZERO, &Processor).unwrap_err();
    assert!(matches!(error, Error::Overload { .. }), "{error}");
}

/// At full utilisation with blocking, the busy window never ends.
#[test]
fn a_search_without_end_is_given_up() {
    let tasks = [task(1, 2, 2), task(1, 2, 2)];
    let others = [Interference::of(&tasks[0])];
    let error = response_time(&tasks[1], &others, ns(1), &Processor).unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error}");
}

/// With deadlines not above periods, the synchronous periodic pattern is the worst, so the bound is exact.
#[test]
fn bounds_are_what_a_simulation_shows() {
    let mut random = Generator::new(1);
    let mut compared = 0;
    for _ in 0..800 {
        let count = between(&mut random, 2, 4) as usize;
        let tasks = constrained(&mut random, count, 12);
        let Some(bounds) = bounds(&tasks, &Processor) else {
            assert!(!is_possible(&tasks, 1), "{tasks:?}");
            continue;
        };
        let end = hyperperiod(&tasks) * 2;
        let jobs = periodic(&tasks, &vec![0; count], end);
        let run = Run {
            tasks: &tasks,
            jobs,
            cores: 1,
            end,
        };
        assert_eq!(run.run(&mut ByPlace).longest, bounds, "{tasks:?}");
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

/// A budget at a random place of each period; the first as early, the second as late as possible.
pub fn pattern(random: &mut Generator, budget: i128, period: i128) -> Vec<bool> {
    let mut there = Vec::new();
    for number in 0..40 {
        let free = period - budget;
        let start = match number {
            0 => 0,
            1 => free,
            _ => between(random, 0, free),
        };
        there.extend((0..period).map(|at| (start..start + budget).contains(&at)));
    }
    // Time begins when the first budget is used up.
    there.rotate_left(budget as usize);
    there
}

/// The longest responses on a supply, over several patterns, with arrivals at once.
fn seen_on_supply(random: &mut Generator, tasks: &[Task], budget: i128, period: i128) -> Vec<i128> {
    let mut longest = vec![0; tasks.len()];
    for _ in 0..5 {
        let there = pattern(random, budget, period);
        let end = there.len() as i128 - budget;
        let jobs = periodic(tasks, &vec![0; tasks.len()], end - 40);
        let run = Run {
            tasks,
            jobs,
            cores: 1,
            end,
        };
        let seen = run.run(&mut At(ByPlace, there));
        for (longest, seen) in longest.iter_mut().zip(seen.longest) {
            *longest = seen.max(*longest);
        }
    }
    longest
}

/// A supply whose blackout was forgotten: the negative control of the following test.
#[derive(Debug)]
struct WithoutBlackout(Recurring);

impl Supply for WithoutBlackout {
    fn in_window(&self, window: Time) -> Time {
        self.0.in_window(window + self.0.blackout())
    }

    fn window_for(&self, work: Time) -> Time {
        (self.0.window_for(work) - self.0.blackout()).max(Time::ZERO)
    }

    fn rate(&self) -> Ratio {
        self.0.rate()
    }
}

#[test]
pub fn no_supply_is_worse_than_its_bound() {
    let mut random = Generator::new(2);
    let (mut compared, mut exact, mut exceeded) = (0, 0, 0);
    for _ in 0..300 {
        let tasks = constrained(&mut random, 2, 30);
        let period = between(&mut random, 2, 10);
        let budget = between(&mut random, 1, period);
        let supply = Recurring::sliding(ns(budget), ns(period)).unwrap();
        let Some(bounds) = bounds(&tasks, &supply) else {
            continue;
        };
        let seen = seen_on_supply(&mut random, &tasks, budget, period);
        let within = seen.iter().zip(&bounds).all(|(seen, bound)| seen <= bound);
        assert!(
            within,
            "{tasks:?} {budget} in {period}: {seen:?} above {bounds:?}"
        );
        exact += u32::from(seen[0] == bounds[0]);
        let broken = self::bounds(&tasks, &WithoutBlackout(supply)).unwrap();
        exceeded += u32::from(seen.iter().zip(&broken).any(|(seen, bound)| seen > bound));
        compared += 1;
    }
    assert!(
        compared > 50 && exact * 3 > compared,
        "{exact} of {compared}"
    );
    assert!(exceeded * 2 > compared, "{exceeded} of {compared}");
}

#[test]
fn assigned_priorities_work_if_any_do() {
    let mut random = Generator::new(3);
    let (mut found, mut none) = (0, 0);
    for _ in 0..400 {
        let tasks = constrained(&mut random, 4, 14);
        let fits = |order: &[usize]| {
            let ordered: Vec<_> = order.iter().map(|place| tasks[*place].clone()).collect();
            bounds(&ordered, &Processor).is_some_and(|bounds| {
                let each = ordered.iter().zip(bounds);
                each.into_iter()
                    .all(|(task, bound)| bound <= task.deadline().nanos())
            })
        };
        let audsley = fixed::audsley(tasks.len(), |task, higher| {
            let others: Vec<_> = higher
                .iter()
                .map(|place| Interference::of(&tasks[*place]))
                .collect();
            Ok(response_time(&tasks[task], &others, Time::ZERO, &Processor)
                .is_ok_and(|found| found.value.bound <= tasks[task].deadline()))
        });
        let audsley = audsley.unwrap().value;
        let any = permutations(tasks.len()).iter().any(|order| fits(order));
        // Deadline-monotonic priorities are optimal here as well.
        let deadline = fixed::deadline_monotonic(&tasks).value;
        assert_eq!(any, fits(&deadline), "{tasks:?}");
        assert_eq!(
            any,
            audsley.as_ref().is_some_and(|order| fits(order)),
            "{tasks:?}"
        );
        *if any { &mut found } else { &mut none } += 1;
    }
    assert!(found > 20 && none > 20, "{found} {none}");
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in permutations(count - 1) {
        for place in 0..count {
            let mut longer = shorter.clone();
            longer.insert(place, count - 1);
            all.push(longer);
        }
    }
    all
}

#[test]
fn rate_monotonic_priorities_go_by_period() {
    let tasks = [task(1, 9, 3), task(1, 5, 5), task(1, 7, 4)];
    assert_eq!(fixed::rate_monotonic(&tasks).value, [1, 2, 0]);
    assert_eq!(fixed::deadline_monotonic(&tasks).value, [0, 2, 1]);
}

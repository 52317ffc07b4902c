//! Earliest deadline first on one processor.

use schedulability::edf::{self, Section};
use schedulability::generate::Generator;
use schedulability::model::Task;
use schedulability::supply::{Processor, Recurring};
use schedulability::{Time, Verdict};

use super::fixed::pattern;
use super::random::{between, constrained, is_possible, task};
use super::simulator::{At, ByDeadline, Job, Policy, Run, hyperperiod, ns, periodic};

/// Zhang and Burns, IEEE ToC 2009, table 1; it holds, and not with one more task of a short deadline.
#[test]
fn the_example_of_qpa() {
    let mut tasks = vec![
        task(6_000, 31_000, 18_000),
        task(2_000, 9_800, 9_000),
        task(1_000, 17_000, 12_000),
        task(90, 4_200, 3_000),
        task(8, 96, 78),
        task(2, 12, 16),
        task(10, 280, 120),
        task(26, 660, 160),
    ];
    let verdict = |tasks: &[Task]| edf::schedulable(tasks, &[], &Processor).unwrap().value;
    assert_eq!(verdict(&tasks), Verdict::Holds);
    tasks.push(task(1_700, 9_000, 1_800));
    assert_eq!(verdict(&tasks), Verdict::Fails);
}

#[test]
fn a_misfit_is_told() {
    let tasks = [task(3, 10, 4), task(2, 10, 4)];
    let misfit = edf::first_misfit(&tasks, &[], &Processor).unwrap().unwrap();
    assert_eq!(
        (misfit.window, misfit.demand, misfit.supply),
        (ns(4), ns(5), ns(4))
    );
}

/// The synchronous periodic pattern decides, because it is the worst.
#[test]
pub fn the_verdict_is_that_of_a_simulation() {
    let mut random = Generator::new(4);
    let (mut holds, mut fails) = (0, 0);
    for _ in 0..600 {
        let count = between(&mut random, 2, 4) as usize;
        let tasks = constrained(&mut random, count, 12);
        let verdict = edf::schedulable(&tasks, &[], &Processor).unwrap().value;
        let end = hyperperiod(&tasks) + 24;
        let jobs = periodic(&tasks, &vec![0; count], end);
        let run = Run {
            tasks: &tasks,
            jobs,
            cores: 1,
            end,
        };
        let late = run.run(&mut ByDeadline).late || !is_possible(&tasks, 1);
        assert_eq!(late, verdict == Verdict::Fails, "{tasks:?}");
        *if late { &mut fails } else { &mut holds } += 1;
    }
    assert!(holds > 100 && fails > 100, "{holds} {fails}");
}

/// All offsets of small sets are tried; the worst response is the bound, if some order of ties is the worst.
#[test]
pub fn response_times_are_those_of_the_worst_offsets() {
    /// Ties are lost by one task.
    struct Losing(usize);

    impl Policy for Losing {
        fn key(&self, job: &Job) -> i128 {
            job.due * 2 + i128::from(job.task == self.0)
        }
    }

    let mut random = Generator::new(5);
    let mut compared = 0;
    while compared < 40 {
        let tasks = constrained(&mut random, 3, 6);
        let Ok(found) = edf::response_times(&tasks, &Processor) else {
            continue;
        };
        let period = |place: usize| tasks[place].period().nanos();
        let mut worst = vec![0; 3];
        let end = hyperperiod(&tasks) * 2 + 12;
        for offsets in (0..period(0) * period(1) * period(2)).map(|number| {
            let (first, rest) = (number % period(0), number / period(0));
            [first, rest % period(1), rest / period(1)]
        }) {
            for (place, worst) in worst.iter_mut().enumerate() {
                let jobs = periodic(&tasks, &offsets, end);
                let run = Run {
                    tasks: &tasks,
                    jobs,
                    cores: 1,
                    end,
                };
                *worst = run.run(&mut Losing(place)).longest[place].max(*worst);
            }
        }
        let found: Vec<_> = found.value.iter().map(|time| time.nanos()).collect();
        assert_eq!(found, worst, "{tasks:?}");
        compared += 1;
    }
}

#[test]
fn what_holds_on_a_supply_is_never_late_on_it() {
    let mut random = Generator::new(6);
    let (mut holds, mut late_otherwise) = (0, 0);
    for _ in 0..600 {
        let tasks = constrained(&mut random, 2, 30);
        let period = between(&mut random, 2, 10);
        let budget = between(&mut random, 1, period);
        let supply = Recurring::sliding(ns(budget), ns(period)).unwrap();
        let verdict = edf::schedulable(&tasks, &[], &supply).unwrap().value;
        let there = pattern(&mut random, budget, period);
        let end = there.len() as i128 - budget;
        let jobs = periodic(&tasks, &[0, 0], end - 40);
        let run = Run {
            tasks: &tasks,
            jobs,
            cores: 1,
            end,
        };
        let late = run.run(&mut At(ByDeadline, there)).late;
        assert!(!(late && verdict.holds()), "{tasks:?} {budget} in {period}");
        holds += u32::from(verdict.holds());
        late_otherwise += u32::from(late);
    }
    assert!(
        holds > 30 && late_otherwise > 100,
        "{holds} {late_otherwise}"
    );
}

/// Jobs of the last task begin with a critical section, in which nothing preempts them.
struct WithSection(usize, i128);

impl Policy for WithSection {
    fn key(&self, job: &Job) -> i128 {
        let is_inside = job.task == self.0 && job.done > 0 && job.done < self.1;
        if is_inside { i128::MIN } else { job.due }
    }
}

#[test]
pub fn sections_block_and_forgotten_ones_are_noticed() {
    let mut random = Generator::new(7);
    let (mut holds, mut caught) = (0, 0);
    for _ in 0..300 {
        let tasks = constrained(&mut random, 3, 16);
        let by = 2;
        let length = tasks[by].cost();
        let ceiling = tasks.iter().map(Task::deadline).min().unwrap();
        let section = Section {
            by,
            length,
            ceiling,
        };
        let blocked = edf::schedulable(&tasks, &[section], &Processor)
            .unwrap()
            .value;
        let forgotten = edf::schedulable(&tasks, &[], &Processor).unwrap().value;
        let mut late = false;
        let end = hyperperiod(&tasks).min(2_000) * 2;
        for _ in 0..12 {
            let offsets: Vec<_> = tasks
                .iter()
                .map(|task| between(&mut random, 0, task.period().nanos() - 1))
                .collect();
            let jobs = periodic(&tasks, &offsets, end);
            let run = Run {
                tasks: &tasks,
                jobs,
                cores: 1,
                end,
            };
            late |= run.run(&mut WithSection(by, length.nanos())).late;
        }
        assert!(!(late && blocked.holds()), "{tasks:?}");
        holds += u32::from(blocked.holds());
        caught += u32::from(late && forgotten.holds());
    }
    assert!(holds > 20 && caught > 5, "{holds} {caught}");
}

#[test]
pub fn jitter_shortens_deadlines() {
    let mut parameters = task(2, 10, 6).parameters().clone();
    parameters.jitter = ns(4);
    let jittery = Task::new(parameters).unwrap();
    assert_eq!(edf::demand(std::slice::from_ref(&jittery), ns(2)), ns(2));
    let tasks = [jittery, task(1, 10, 2)];
    let verdict = edf::schedulable(&tasks, &[], &Processor).unwrap().value;
    assert_eq!(verdict, Verdict::Fails);
    assert!(edf::response_times(&tasks, &Processor).is_err());
    assert_eq!(edf::demand(&[], Time::ZERO), Time::ZERO);
}

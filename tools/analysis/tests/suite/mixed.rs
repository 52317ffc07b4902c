//! Two levels of criticality.

use schedulability::edf::virtual_deadlines;
use schedulability::fixed::amc_rtb;
use schedulability::generate::Generator;
use schedulability::model::{Core, Parameters, Priority, Task, Thread};
use schedulability::{Ratio, Time};

use super::random::between;
use super::simulator::{Job, Policy, Run, ns};

fn mixed(costs: &[i128], period: i128, criticality: u8) -> Task {
    let mut parameters = Parameters::new(format!("{costs:?}/{period}"), ns(1), ns(period));
    parameters.costs = costs.iter().map(|cost| ns(*cost)).collect();
    parameters.criticality = criticality;
    Task::new(parameters).unwrap()
}

fn random_set(random: &mut Generator) -> Vec<Task> {
    let one = |place: usize| {
        let period = between(random, 4, 20);
        let low = between(random, 1, (period / 3).max(1));
        let high = between(random, low, (low * 3).min(period));
        match place % 2 {
            0 => mixed(&[low], period, 0),
            _ => mixed(&[low, high], period, 1),
        }
    };
    (0..4).map(one).collect()
}

fn is_high(task: &Task) -> bool {
    task.parameters().criticality > 0
}

/// Jobs of random length; once a high job has used up its low cost, low tasks are dropped.
struct Modes<'a> {
    tasks: &'a [Task],
    deadlines: Option<&'a [Time]>,
    high: bool,
}

impl Policy for Modes<'_> {
    fn key(&self, job: &Job) -> i128 {
        match self.deadlines {
            None => job.task as i128,
            Some(_) if self.high => job.due,
            Some(deadlines) => job.arrival + deadlines[job.task].nanos(),
        }
    }

    fn after(&mut self, job: &Job) -> Option<Vec<usize>> {
        let task = &self.tasks[job.task];
        let is_over = is_high(task) && job.done == task.cost_at(0).nanos() && job.done < job.cost;
        self.high |= is_over;
        let low = || (0..self.tasks.len()).filter(|place| !is_high(&self.tasks[*place]));
        is_over.then(|| low().collect())
    }
}

/// Runs with jobs that exceed their low cost from a random time on.
fn seen(random: &mut Generator, tasks: &[Task], deadlines: Option<&[Time]>) -> Vec<i128> {
    let end = 200;
    let switch = between(random, 0, 100);
    let mut jobs = Vec::new();
    for (place, task) in tasks.iter().enumerate() {
        let mut arrival = between(random, 0, task.period().nanos()) * between(random, 0, 1);
        while arrival < end {
            let level = usize::from(arrival >= switch);
            let cost = task.cost_at(level).nanos();
            jobs.push((place, arrival, arrival, cost));
            arrival += task.period().nanos();
        }
    }
    let run = Run {
        tasks,
        jobs,
        cores: 1,
        end,
    };
    let high = false;
    run.run(&mut Modes {
        tasks,
        deadlines,
        high,
    })
    .longest
}

#[test]
pub fn responses_in_both_modes_are_not_exceeded() {
    let mut random = Generator::new(30);
    let (mut compared, mut reached) = (0, 0);
    for _ in 0..600 {
        let tasks = random_set(&mut random);
        let threads = tasks.iter().enumerate();
        let threads =
            threads.map(|(place, task)| Thread::new(task.clone(), Priority(9 - place as u8)));
        let core = Core::new(threads.collect(), vec![], Time::ZERO).unwrap();
        let found: Option<Vec<_>> = (0..4)
            .map(|place| amc_rtb(&core, place).unwrap().value)
            .collect();
        let Some(found) = found else { continue };
        let mut longest = [0; 4];
        for _ in 0..10 {
            for (longest, seen) in longest.iter_mut().zip(seen(&mut random, &tasks, None)) {
                *longest = seen.max(*longest);
            }
        }
        for (seen, bound) in longest.iter().zip(&found) {
            let bound = bound.high.unwrap_or(bound.low).max(bound.low).nanos();
            assert!(*seen <= bound, "{tasks:?}: {seen} above {bound}");
            reached += u32::from(*seen * 10 >= bound * 7);
        }
        compared += 4;
    }
    assert!(
        compared > 200 && reached * 2 > compared,
        "{reached} of {compared}"
    );
}

/// Two tasks by hand: U_LO(LO) = 1/2, U_HI(LO) = 1/4, U_HI(HI) = 3/4; x = 1/2, and 1/4 + 3/4 is not above 1.
#[test]
fn virtual_deadlines_of_an_example() {
    let tasks = [mixed(&[2], 4, 0), mixed(&[2, 6], 8, 1)];
    let found = virtual_deadlines(&tasks).unwrap().value.unwrap();
    assert_eq!(found.factor, Ratio::new(1.into(), 2.into()));
    assert_eq!(found.deadlines, [4, 4].map(ns));
    let more = [mixed(&[2], 4, 0), mixed(&[2, 7], 8, 1)];
    assert_eq!(virtual_deadlines(&more).unwrap().value, None);
    let little = [mixed(&[1], 4, 0), mixed(&[2, 6], 8, 1)];
    let plain = virtual_deadlines(&little).unwrap().value.unwrap();
    assert_eq!(plain.deadlines, [4, 8].map(ns));
}

#[test]
pub fn accepted_sets_miss_no_deadline_in_either_mode() {
    let mut random = Generator::new(31);
    let (mut accepted, mut with_factor) = (0, 0);
    while accepted < 1_000 {
        let tasks = random_set(&mut random);
        let Some(found) = virtual_deadlines(&tasks).unwrap().value else {
            continue;
        };
        let longest = seen(&mut random, &tasks, Some(&found.deadlines));
        for (task, seen) in tasks.iter().zip(longest) {
            assert!(seen <= task.deadline().nanos(), "{tasks:?} {found:?}");
        }
        with_factor += u32::from(
            found
                .deadlines
                .iter()
                .zip(&tasks)
                .any(|(d, t)| *d < t.period()),
        );
        accepted += 1;
    }
    assert!(with_factor > 100, "{with_factor}");
}

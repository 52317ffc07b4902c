//! Small random sets, on which simulations are exhaustive.

use schedulability::generate::Generator;
use schedulability::model::{Parameters, Task};

use super::simulator::ns;

/// A random number from `low` to `high`.
pub fn between(random: &mut Generator, low: i128, high: i128) -> i128 {
    low + random.below((high - low + 1) as u64) as i128
}

/// A task with these numbers of nanoseconds.
pub fn task(cost: i128, period: i128, deadline: i128) -> Task {
    let mut parameters = Parameters::new(format!("{cost}/{period}"), ns(cost), ns(period));
    parameters.deadline = ns(deadline);
    Task::new(parameters).unwrap()
}

/// Tasks of short periods, with deadlines not above their periods.
pub fn constrained(random: &mut Generator, count: usize, longest: i128) -> Vec<Task> {
    let one = |_| {
        let period = between(random, 2, longest);
        let cost = between(random, 1, (period * 2 / count as i128).clamp(1, period));
        let deadline = between(random, cost.max(period / 2), period);
        task(cost, period, deadline)
    };
    (0..count).map(one).collect()
}

/// Whether the tasks need no more than `cores` whole processors.
pub fn is_possible(tasks: &[Task], cores: usize) -> bool {
    let used: f64 = tasks
        .iter()
        .map(|task| task.cost().nanos() as f64 / task.period().nanos() as f64)
        .sum();
    used <= cores as f64 + 1e-9
}

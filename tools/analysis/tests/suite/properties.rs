//! Sustainability: what holds, holds with less to do and more time to do it.

use proptest::prelude::*;
use schedulability::model::{Overheads, Parameters, Releases, Task, charge};
use schedulability::supply::{Processor, Rate, Recurring, Supply};
use schedulability::{Time, edf, global};

use super::fixed::bounds;
use super::simulator::ns;

fn any_set() -> impl Strategy<Value = Vec<Task>> {
    let one = (2i128..1_000, 0.0..1.0f64, 0.5..1.0f64).prop_map(|(period, cost, deadline)| {
        let deadline = ((period as f64 * deadline) as i128).max(1);
        let cost = ((deadline as f64 * cost * 0.5) as i128).max(1);
        let mut parameters = Parameters::new("task", ns(cost), ns(period));
        parameters.deadline = ns(deadline.max(cost));
        Task::new(parameters).unwrap()
    });
    proptest::collection::vec(one, 1..6)
}

fn any_supply() -> impl Strategy<Value = Recurring> {
    (1i128..50, 0i128..50, 0i128..50).prop_map(|(budget, missing, late)| {
        Recurring::new(ns(budget), ns(budget + missing), ns(missing + late)).unwrap()
    })
}

/// The same set with one cost less.
fn shorter(tasks: &[Task], place: usize) -> Vec<Task> {
    let mut tasks = tasks.to_vec();
    let place = place % tasks.len();
    let cost = tasks[place].cost();
    tasks[place] = tasks[place].with_cost((cost - ns(1)).max(ns(1))).unwrap();
    tasks
}

/// The same set with one period more.
fn rarer(tasks: &[Task], place: usize) -> Vec<Task> {
    let mut tasks = tasks.to_vec();
    let place = place % tasks.len();
    let mut parameters = tasks[place].parameters().clone();
    parameters.period += ns(3);
    tasks[place] = Task::new(parameters).unwrap();
    tasks
}

proptest! {
    /// `window_for` is the least window that holds the work.
    #[test]
    fn supplies_and_their_inverses_agree(supply in any_supply(), work in 1i128..500, delay in 0i128..99) {
        let (budget, period) = (supply.budget(), supply.period());
        let rate = Rate::new(budget, period, ns(delay)).unwrap();
        for supply in [&supply as &dyn Supply, &rate, &Processor] {
            let window = supply.window_for(ns(work));
            prop_assert!(supply.in_window(window) >= ns(work));
            prop_assert!(supply.in_window(window - ns(1)) < ns(work));
        }
    }

    /// A supply is at least that of its rate after its blackout.
    #[test]
    fn a_budget_never_falls_behind_its_rate(supply in any_supply(), window in 0i128..500) {
        let rate = Rate::new(supply.budget(), supply.period(), supply.blackout()).unwrap();
        prop_assert!(supply.in_window(ns(window)) >= rate.in_window(ns(window)));
    }

    #[test]
    fn less_work_is_never_worse(tasks in any_set(), place in 0usize..6, supply in any_supply()) {
        for better in [shorter(&tasks, place), rarer(&tasks, place)] {
            if let Some(before) = bounds(&tasks, &supply) {
                let after = bounds(&better, &supply).unwrap();
                prop_assert!(after.iter().zip(&before).all(|(after, before)| after <= before));
            }
            if let Ok(None) = edf::first_misfit(&tasks, &[], &supply) {
                prop_assert_eq!(edf::first_misfit(&better, &[], &supply), Ok(None));
            }
            for test in [global::gfb, global::load] {
                if test(&tasks, 2).unwrap().value.holds() {
                    prop_assert!(test(&better, 2).unwrap().value.holds());
                }
            }
        }
    }

    /// On the whole processor EDF does whatever fixed priorities do.
    #[test]
    fn edf_is_optimal(tasks in any_set()) {
        if let Some(bounds) = bounds(&tasks, &Processor) {
            let holds = tasks.iter().zip(bounds).all(|(task, bound)| bound <= task.deadline().nanos());
            if holds {
                prop_assert_eq!(edf::first_misfit(&tasks, &[], &Processor), Ok(None));
            }
        }
    }

    /// Response times and demand tell the same about EDF.
    #[test]
    fn both_analyses_of_edf_agree(tasks in any_set()) {
        if let Ok(found) = edf::response_times(&tasks, &Processor) {
            let holds = tasks.iter().zip(found.value).all(|(task, bound)| bound <= task.deadline());
            let misfit = edf::first_misfit(&tasks, &[], &Processor).unwrap();
            prop_assert_eq!(holds, misfit.is_none());
        }
    }

    /// Extreme parameters end in a result or a sentence, never in an overflow.
    #[test]
    fn nothing_overflows(
        values in proptest::collection::vec((0u32..=50, 0u32..=50, 0u32..=50, 0u32..=50), 1..5),
        times in any::<[u64; 7]>(),
    ) {
        let power = |exponent: u32| ns(1 << exponent);
        let tasks: Vec<_> = values
            .into_iter()
            .filter_map(|(cost, period, deadline, jitter)| {
                let mut parameters = Parameters::new("task", power(cost), power(period));
                parameters.deadline = power(deadline);
                parameters.jitter = power(jitter) - ns(1);
                Task::new(parameters).ok()
            })
            .collect();
        let _ = bounds(&tasks, &Processor);
        let _ = edf::first_misfit(&tasks, &[], &Processor);
        let _ = global::any(&tasks, 3);
        let [tick_period, tick, release, release_latency, schedule, context_switch, remote_reschedule] =
            times.map(Time::from_nanos);
        for releases in [Releases::Handler, Releases::OwnCore, Releases::Thread] {
            let overheads = Overheads {
                tick_period,
                tick,
                release,
                release_latency,
                schedule,
                context_switch,
                remote_reschedule,
                releases,
            };
            if let Err(error) = charge(&tasks, &vec![Time::ZERO; tasks.len()], &overheads, 2) {
                prop_assert!(error.to_string().len() > 20);
            }
        }
    }
}

//! Partitioning, budgets, sensitivity.

use schedulability::budget::{smallest_bandwidth, smallest_budget};
use schedulability::generate::Generator;
use schedulability::model::Task;
use schedulability::partition::{Fit, exact, pack};
use schedulability::sensitivity::{largest_cost, largest_scale};
use schedulability::supply::{Processor, Recurring, Supply};
use schedulability::{Result, Verdict, edf};

use super::random::{between, constrained, is_possible, task};
use super::simulator::ns;

fn edf_holds(tasks: &[Task], supply: &dyn Supply) -> Result<bool> {
    Ok(edf::schedulable(tasks, &[], supply)?.value == Verdict::Holds)
}

fn on_a_core(tasks: &[Task]) -> impl FnMut(usize, &[usize]) -> Result<bool> {
    |_, places: &[usize]| {
        let chosen: Vec<_> = places.iter().map(|place| tasks[*place].clone()).collect();
        edf_holds(&chosen, &Processor)
    }
}

/// Utilisations of 0.6, 0.5, 0.3, 0.2 and 0.4 on two cores: 0.5 + 0.3 + 0.2 and 0.6 + 0.4, which worst fit does not
/// find.
#[test]
fn fits_differ() {
    let tasks = [6, 5, 3, 2, 4].map(|cost| task(cost, 10, 10));
    let packed = |fit| pack(&tasks, 2, fit, on_a_core(&tasks)).unwrap().value;
    assert_eq!(packed(Fit::First), Some(vec![0, 1, 1, 1, 0]));
    assert_eq!(packed(Fit::Best), Some(vec![0, 1, 1, 1, 0]));
    assert_eq!(packed(Fit::Worst), None);
    let spread = [3, 2, 1].map(|cost| task(cost, 10, 10));
    let worst = pack(&spread, 2, Fit::Worst, on_a_core(&spread))
        .unwrap()
        .value;
    assert_eq!(worst, Some(vec![0, 1, 1]));
}

#[test]
fn the_exact_search_finds_what_there_is() {
    let mut random = Generator::new(50);
    let (mut better, mut none) = (0, 0);
    for _ in 0..500 {
        let tasks = constrained(&mut random, 6, 20);
        let found = exact(&tasks, 2, |_| true, on_a_core(&tasks)).unwrap().value;
        let any = (0..1 << 6).any(|choice: u32| {
            (0..2).all(|core| {
                let places: Vec<_> = (0..6).filter(|task| choice >> task & 1 == core).collect();
                on_a_core(&tasks)(0, &places).unwrap()
            })
        });
        assert_eq!(found.is_some(), any, "{tasks:?}");
        let packed = [Fit::First, Fit::Best, Fit::Worst]
            .map(|fit| pack(&tasks, 2, fit, on_a_core(&tasks)).unwrap().value);
        for assignment in packed.iter().chain([&found]).flatten() {
            for core in 0..2 {
                let places: Vec<_> = (0..6).filter(|task| assignment[*task] == core).collect();
                assert!(on_a_core(&tasks)(0, &places).unwrap());
            }
        }
        better += u32::from(found.is_some() && packed.iter().any(Option::is_none));
        none += u32::from(!any);
    }
    assert!(better > 2 && none > 10, "{better} {none}");
    let many = vec![task(1, 90, 90); 21];
    assert!(exact(&many, 2, |_| true, on_a_core(&many)).is_err());
}

/// The first core has other work, the second and the third have none: 0.8 fits there only.
#[test]
fn cores_with_other_work_are_not_like_empty_ones() {
    let tasks = [8, 7, 5].map(|cost| task(cost, 10, 10));
    let beside = |core: usize, places: &[usize]| {
        let chosen = places.iter().map(|place| tasks[*place].clone());
        let other = (core == 0).then(|| task(4, 10, 10));
        let all: Vec<_> = chosen.chain(other).collect();
        edf_holds(&all, &Processor)
    };
    let found = exact(&tasks, 3, |core| core != 0, beside).unwrap().value;
    assert_eq!(found, Some(vec![1, 2, 0]));
    // As if all empty cores were alike, the first refusal would end the search.
    let found = exact(&tasks, 3, |_| true, beside).unwrap().value;
    assert_eq!(found, None);
    let packed = pack(&tasks, 3, Fit::First, beside).unwrap().value;
    assert_eq!(packed, Some(vec![1, 2, 0]));
}

#[test]
fn the_smallest_budget_fits_and_a_smaller_one_does_not() {
    let mut random = Generator::new(51);
    let mut compared = 0;
    while compared < 100 {
        let tasks = constrained(&mut random, 2, 40);
        let period = ns(between(&mut random, 2, 8));
        let fits = |supply: &Recurring| edf_holds(&tasks, supply);
        let Some(budget) = smallest_budget(period, fits).unwrap().value else {
            continue;
        };
        let on = |budget| edf_holds(&tasks, &Recurring::sliding(budget, period).unwrap()).unwrap();
        assert!(on(budget));
        assert!(
            budget == ns(1) || !on(budget - ns(1)),
            "{tasks:?} {budget} in {period}"
        );
        compared += 1;
    }
}

#[test]
fn the_smallest_share_is_chosen() {
    let tasks = [task(2_000, 20_000, 20_000), task(3_000, 30_000, 30_000)];
    let fits = |supply: &Recurring| edf_holds(&tasks, supply);
    let periods = [1_000, 5_000, 10_000].map(ns);
    let of = |period| smallest_budget(period, fits).unwrap().value.unwrap();
    let (budget, period) = smallest_bandwidth(&periods, ns(0), fits)
        .unwrap()
        .value
        .unwrap();
    assert!(
        periods
            .iter()
            .all(|other| budget.over(period) <= of(*other).over(*other))
    );
    // Each period loses time to the kernel, so short ones do not pay.
    let (_, longer) = smallest_bandwidth(&periods, ns(200), fits)
        .unwrap()
        .value
        .unwrap();
    assert!(longer > period, "{longer} {period}");
}

#[test]
fn costs_grow_to_the_limit_and_no_further() {
    let mut random = Generator::new(52);
    let mut compared = 0;
    while compared < 100 {
        let tasks = constrained(&mut random, 3, 30);
        let accepts = |tasks: &[Task]| edf_holds(tasks, &Processor);
        let found = largest_cost(&tasks, 1, accepts).unwrap().value;
        assert_eq!(found.is_some(), accepts(&tasks).unwrap());
        let Some(cost) = found else { continue };
        let with = |cost| {
            let mut changed = tasks.clone();
            changed[1] = tasks[1].with_cost(cost).ok()?;
            accepts(&changed).unwrap().then_some(())
        };
        assert!(
            with(cost).is_some() && with(cost + ns(1)).is_none(),
            "{tasks:?} {cost}"
        );
        compared += 1;
    }
}

#[test]
fn all_costs_scale_together() {
    let tasks = [task(1_000, 4_000, 4_000), task(1_000, 4_000, 4_000)];
    let accepts = |tasks: &[Task]| edf_holds(tasks, &Processor);
    assert_eq!(largest_scale(&tasks, accepts).unwrap().value / 1_000, 2_000);
    let above = [task(3_000, 4_000, 4_000), task(3_000, 4_000, 4_000)];
    assert!(!is_possible(&above, 1));
    assert_eq!(largest_scale(&above, accepts).unwrap().value / 1_000, 666);
}

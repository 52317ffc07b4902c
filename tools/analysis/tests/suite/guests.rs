//! Guests as proxies.

use schedulability::Time;
use schedulability::fixed::rate_monotonic;
use schedulability::generate::Generator;
use schedulability::guests::{
    Loss, Policy, Sample, Slots, SwitchCost, fit, lowest_lag_first, proxy, smallest_budget,
    smallest_interface,
};
use schedulability::model::Task;
use schedulability::supply::{Recurring, Supply};

use super::fixed::bounds;
use super::random::{between, is_possible, task};
use super::simulator::{At, ByDeadline, ByPlace, Run, ns, periodic};

fn fits(tasks: &[Task], supply: &dyn Supply) -> bool {
    let order = rate_monotonic(tasks).value;
    let ordered: Vec<_> = order.iter().map(|place| tasks[*place].clone()).collect();
    let Some(bounds) = bounds(&ordered, supply) else {
        return false;
    };
    ordered
        .iter()
        .zip(bounds)
        .all(|(task, bound)| bound <= task.deadline().nanos())
}

fn guest(random: &mut Generator) -> Vec<Task> {
    let count = 1 + random.below(5) as usize;
    let used = 0.1 + 0.5 * random.unit();
    let utilisations = random.fixed_sum(count, used).unwrap();
    random
        .tasks(
            &utilisations,
            Time::from_micros(1_000),
            Time::from_micros(20_000),
        )
        .unwrap()
}

/// Fixed slots and sliding budgets of a quarter hold in exact analysis; a sliding budget with the formula for fixed
/// slots does not, which is the negative control.
#[test]
fn proxies_suffice() {
    let mut random = Generator::new(40);
    let (mut compared, mut sliding_fails) = (0, 0);
    while compared < 1_000 {
        let tasks = guest(&mut random);
        let [fixed, sliding] =
            [Slots::Fixed, Slots::Sliding].map(|slots| proxy(&tasks, slots).unwrap().value);
        let (Some(fixed), Some(sliding)) = (fixed, sliding) else {
            continue;
        };
        assert!(
            fits(&tasks, &fixed.supply().unwrap()),
            "{tasks:?} {fixed:?}"
        );
        assert!(
            fits(&tasks, &sliding.supply().unwrap()),
            "{tasks:?} {sliding:?}"
        );
        let wrong = Recurring::sliding(fixed.budget, fixed.period).unwrap();
        sliding_fails += u32::from(!fits(&tasks, &wrong));
        compared += 1;
    }
    assert!(sliding_fails > 400, "{sliding_fails}");
}

#[test]
fn a_guest_of_too_much_has_no_proxy() {
    let tasks: Vec<_> = (0..9).map(|_| super::random::task(8, 90, 90)).collect();
    assert_eq!(proxy(&tasks, Slots::Fixed).unwrap().value, None);
    assert!(proxy(&[], Slots::Fixed).is_err());
    assert!(proxy(&[super::random::task(1, 9, 8)], Slots::Fixed).is_err());
}

/// Tasks whose periods divide 24, in order of their periods.
fn small_guest(random: &mut Generator) -> Vec<Task> {
    let one = |_| {
        let period = [6, 8, 12, 24][random.below(4) as usize];
        let cost = between(random, 1, 1 + period / 6);
        task(cost, period, between(random, cost.max(period / 2), period))
    };
    let mut tasks: Vec<_> = (0..3).map(one).collect();
    tasks.sort_by_key(Task::period);
    tasks
}

/// Whether all jobs are in time if all tasks begin with the longest blackout.
fn in_time(tasks: &[Task], policy: Policy, slots: Slots, budget: i128, period: i128) -> bool {
    let gaps = if slots == Slots::Fixed { 1 } else { 2 };
    let blackout = (period - budget) * gaps;
    let end = blackout + 120;
    let is_there = |at: i128| at >= blackout && (at - blackout) % period < budget;
    let pattern: Vec<_> = (0..end).map(is_there).collect();
    let run = Run {
        tasks,
        jobs: periodic(tasks, &[0; 3], end),
        cores: 1,
        end,
    };
    let seen = match policy {
        Policy::Edf => run.run(&mut At(ByDeadline, pattern)),
        _ => run.run(&mut At(ByPlace, pattern)),
    };
    !seen.late
}

/// The smallest budget is the smallest with which a simulation of the worst case has no miss. Only a supply that is used
/// up in the long run is refused without one.
#[test]
fn smallest_budgets_are_those_of_simulations() {
    let mut random = Generator::new(41);
    let (mut equal, mut whole) = (0, 0);
    for _ in 0..1_500 {
        let tasks = small_guest(&mut random);
        if !is_possible(&tasks, 1) {
            continue;
        }
        let policy = [Policy::RateMonotonic, Policy::Edf][random.below(2) as usize];
        let slots = [Slots::Fixed, Slots::Sliding][random.below(2) as usize];
        let period = [2, 3, 4, 6][random.below(4) as usize];
        let found = smallest_budget(&tasks, policy, slots, ns(period))
            .unwrap()
            .value;
        let seen = (1..=period).find(|budget| in_time(&tasks, policy, slots, *budget, period));
        let found = found.map(|found| found.budget.nanos());
        if found != seen {
            let used: schedulability::Ratio = tasks.iter().map(Task::utilisation).sum();
            let least = ns(seen.unwrap()).over(ns(period));
            assert!(used == least && found.is_none_or(|found| Some(found) > seen));
            continue;
        }
        equal += 1;
        whole += u32::from(found.is_none());
    }
    assert!(
        equal > 700 && whole > 20 && whole * 2 < equal,
        "{equal} {whole}"
    );
}

/// One task of 1 in 4, by hand: the supply must contain 1 in any window of 4.
#[test]
fn the_best_interface_weighs_switches_against_slots() {
    let tasks = [task(1_000, 4_000, 4_000)];
    let best = |switch, slots| {
        let policy = Policy::RateMonotonic;
        let found = smallest_interface(&tasks, policy, slots, ns(switch), 4).unwrap();
        let found = found.value.unwrap();
        (found.budget.nanos(), found.period.nanos())
    };
    // Without switches: in fixed slots a little more than 1 in 4, whose long run has nothing left; sliding, 2 (T - C) + 1 is 4 in
    // the whole period, and the first part with several slots in the window is better.
    assert_eq!(best(0, Slots::Fixed), (1_001, 4_000));
    assert_eq!(best(0, Slots::Sliding), (334, 1_000));
    // Each slot costs 600 more, so that longer periods are better.
    assert_eq!(best(600, Slots::Sliding), (2_500, 4_000));
    smallest_interface(&[], Policy::Edf, Slots::Fixed, ns(0), 4).unwrap_err();
    smallest_budget(&tasks, Policy::Edf, Slots::Fixed, ns(0)).unwrap_err();
}

const ALL: [Loss; 3] = [Loss::Flood, Loss::Linear, Loss::Exponential];

/// Processors and states of the caches: the share of progress in thousandths, the time of recovery in microseconds.
const PUBLISHED: [(u32, u64); 17] = [
    (50, 17),
    (50, 31),
    (50, 59),
    (50, 116),
    (63, 60),
    (68, 119),
    (131, 210),
    (134, 29),
    (124, 55),
    (267, 107),
    (177, 22),
    (241, 40),
    (50, 240),
    (500, 470),
    (500, 1_050),
    (0, 100),
    (1_000, 100),
];

/// Measurements made from each published cost, up to three times its recovery and off by up to 1 %, lead back to it.
#[test]
fn the_fit_finds_the_published_costs_in_noise() {
    let mut random = Generator::new(42);
    for loss in ALL {
        for (share, recovery) in PUBLISHED {
            let cost = SwitchCost {
                progress: f64::from(share) / 1_000.0,
                recovery: Time::from_micros(recovery),
            };
            let sample = |step: u64| {
                let time = Time::from_nanos(recovery * 1_000 * step / 20);
                let lost = cost.lost(loss, time) * time.nanos() as f64;
                let noise = 1.0 + (random.unit() - 0.5) / 50.0;
                let lost = ((lost * noise) as i128).min(time.nanos());
                Sample {
                    time,
                    work: time - Time::from_nanos(1) * lost,
                }
            };
            let samples: Vec<_> = (1..=60).map(sample).collect();
            let found = fit(loss, &samples).unwrap().value;
            let off = (found.progress - cost.progress).abs();
            assert!(off < 0.02, "{loss:?} {cost:?} {found:?}");
            // Where nothing is lost, there is nothing to recover from.
            let times = found.recovery.nanos() as f64 / cost.recovery.nanos() as f64;
            assert!(
                share == 1_000 || (times - 1.0).abs() < 0.03,
                "{loss:?} {cost:?} {found:?}"
            );
        }
    }
}

/// i.MX6, 64 KiB of dirty cache.
const IMX6: SwitchCost = SwitchCost {
    progress: 0.131,
    recovery: Time::from_micros(210),
};

/// Two equal guests switch at each slice, so that the overhead is the published one.
#[test]
fn two_equal_guests_lose_what_is_published() {
    let published = [[18, 36, 55, 87], [9, 18, 27, 45], [6, 12, 18, 29]];
    for (loss, expected) in ALL.into_iter().zip(published) {
        for (rate, percent) in [1, 2, 3, 5].into_iter().zip(expected) {
            let slice = Time::from_nanos(1_000_000 / rate);
            let found = lowest_lag_first(&[1, 1], slice, 1_000, &IMX6, loss)
                .unwrap()
                .value;
            assert!((found.lost * 100.0 - f64::from(percent)).abs() <= 0.6);
            assert_eq!((found.switches, found.longest_wait), (999, slice));
            assert_eq!(found.received, [slice * 500; 2]);
            assert_eq!(found.furthest_behind.nanos(), (slice.nanos() + 1) / 2);
        }
    }
}

/// By hand: the order is 0, 1, 0, 0, and again.
#[test]
fn the_guest_with_the_lowest_lag_runs() {
    let slice = Time::from_millis(1);
    let found = lowest_lag_first(&[3, 1], slice, 8, &IMX6, Loss::Flood)
        .unwrap()
        .value;
    assert_eq!(found.received, [slice * 6, slice * 2]);
    assert_eq!((found.switches, found.longest_wait), (4, slice * 3));
    assert_eq!(found.furthest_behind, Time::from_micros(500));
    // Five stretches, each of which loses 0.869 * 210 us.
    assert!(
        (found.lost - 5.0 * 0.869 * 0.210 / 8.0).abs() < 1e-9,
        "{}",
        found.lost
    );
    lowest_lag_first(&[], slice, 8, &IMX6, Loss::Flood).unwrap_err();
    lowest_lag_first(&[1, 0], slice, 8, &IMX6, Loss::Flood).unwrap_err();
    lowest_lag_first(&[1], Time::ZERO, 8, &IMX6, Loss::Flood).unwrap_err();
    lowest_lag_first(&[1], slice, 0, &IMX6, Loss::Flood).unwrap_err();
}

/// No guest is ever behind by as much as one slice for each other guest, and shorter slices give up overhead for
/// continuity.
#[test]
fn continuity_is_paid_with_overhead() {
    let mut random = Generator::new(43);
    for _ in 0..200 {
        let weights: Vec<_> = (0..between(&mut random, 2, 6))
            .map(|_| between(&mut random, 1, 9) as u32)
            .collect();
        let all = weights.iter().sum::<u32>();
        let [fine, coarse] = [500, 1_000].map(|micros| {
            let slices = all * 2_000 / micros;
            let slice = Time::from_micros(micros.into());
            let found = lowest_lag_first(&weights, slice, slices, &IMX6, Loss::Linear);
            let found = found.unwrap().value;
            let others = weights.len() as i128 - 1;
            assert!(
                found.furthest_behind <= slice * others,
                "{weights:?} {found:?}"
            );
            // After whole rounds of all shares, none is behind.
            for (weight, received) in weights.iter().zip(&found.received) {
                assert_eq!(*received, slice * i128::from(weight * 2_000 / micros));
            }
            found
        });
        assert!(fine.lost > coarse.lost && fine.longest_wait < coarse.longest_wait);
    }
}

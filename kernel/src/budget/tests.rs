//! Lists of replenishments in specific cases and in random histories.

use super::{Entry, Refill, RefillRing, Refills, Slice};
use crate::time::Ticks;
use proptest::prelude::*;

const MINIMUM: Ticks = Ticks(20);

struct Context {
    ring: RefillRing,
    entries: Vec<Entry>,
    budget: Ticks,
}

impl Context {
    fn new(capacity: usize, budget: u64) -> Self {
        let mut context = Self {
            ring: RefillRing::new(capacity),
            entries: vec![Entry::default(); capacity],
            budget: Ticks(budget),
        };
        context.refills().start(capacity, Ticks(0), Ticks(budget));
        context
    }

    fn refills(&mut self) -> Refills<'_> {
        Refills::new(&mut self.ring, &mut self.entries, self.budget)
    }

    fn slice(&mut self) -> Slice<'_> {
        Slice {
            entries: self.entries.as_mut_slice().try_into().unwrap(),
            budget: self.budget,
        }
    }

    fn charge(&mut self, usage: Ticks, period: Ticks, minimum: Ticks) {
        let parameters = (self.budget, period);
        self.refills().charge(usage, parameters, minimum);
    }

    fn check(&mut self) {
        let budget = self.budget;
        let refills = self.refills();
        let list: Vec<Refill> = refills.iter().collect();
        let sum: u64 = list.iter().map(|refill| refill.amount.0).sum();
        assert_eq!(sum, budget.0, "the amounts add up to the budget: {list:?}");
        for pair in list.windows(2) {
            assert!(
                pair[0].end() <= pair[1].time,
                "in order, without overlap: {list:?}"
            );
        }
        assert!(
            list[0].amount >= MINIMUM,
            "the head holds the smallest budget: {list:?}"
        );
    }
}

#[test]
fn a_whole_budget_comes_back_one_period_later() {
    let mut context = Context::new(2, 100);
    context.charge(Ticks(100), Ticks(1000), MINIMUM);
    assert_eq!(
        context.refills().head(),
        Refill {
            time: Ticks(1000),
            amount: Ticks(100)
        }
    );
}

#[test]
fn many_budgets_at_once_are_many_periods() {
    let (mut stepwise, mut at_once) = (Context::new(4, 100), Context::new(4, 100));
    for context in [&mut stepwise, &mut at_once] {
        context.charge(Ticks(30), Ticks(1000), MINIMUM);
    }
    for _ in 0..7 {
        stepwise.charge(Ticks(70), Ticks(1000), MINIMUM);
        stepwise.charge(Ticks(30), Ticks(1000), MINIMUM);
    }
    at_once.refills().charge_budgets(7, Ticks(100), Ticks(1000));
    assert!(stepwise.refills().iter().eq(at_once.refills().iter()));
}

#[test]
fn a_part_is_split_off() {
    let mut context = Context::new(4, 100);
    context.charge(Ticks(30), Ticks(1000), MINIMUM);
    let list: Vec<Refill> = context.refills().iter().collect();
    assert_eq!(
        list[0],
        Refill {
            time: Ticks(30),
            amount: Ticks(70)
        }
    );
    assert_eq!(
        list[1],
        Refill {
            time: Ticks(1000),
            amount: Ticks(30)
        }
    );
}

/// Times and amounts.
fn list(context: &mut Context) -> Vec<(u64, u64)> {
    let refills = context.refills();
    refills
        .iter()
        .map(|refill| (refill.time.0, refill.amount.0))
        .collect()
}

#[test]
fn a_charge_may_take_several_replenishments() {
    let mut context = Context::new(4, 100);
    context.charge(Ticks(30), Ticks(1000), MINIMUM);
    assert_eq!(list(&mut context), [(30, 70), (1000, 30)]);
    context.charge(Ticks(80), Ticks(1000), MINIMUM);
    assert_eq!(list(&mut context), [(1010, 90), (2000, 10)]);
}

#[test]
fn more_than_the_budget_is_one_period_and_the_rest() {
    let mut context = Context::new(4, 100);
    context.charge(Ticks(130), Ticks(1000), MINIMUM);
    assert_eq!(list(&mut context), [(1030, 70), (2000, 30)]);
    context.charge(Ticks(199), Ticks(1000), MINIMUM);
    assert_eq!(list(&mut context), [(3029, 71), (4000, 29)]);
    context.charge(Ticks(171), Ticks(1000), MINIMUM);
    assert_eq!(list(&mut context), [(5000, 100)]);
    context.charge(Ticks(200), Ticks(1000), MINIMUM);
    assert_eq!(list(&mut context), [(7000, 100)]);
}

#[test]
fn what_follows_at_once_joins_the_last() {
    let mut context = Context::new(4, 100);
    for _ in 0..2 {
        context.charge(Ticks(30), Ticks(1000), MINIMUM);
    }
    assert_eq!(list(&mut context), [(60, 40), (1000, 60)]);
}

#[test]
fn replenishments_merge_if_they_come_soon_enough() {
    let mut context = Context::new(4, 100);
    context.charge(Ticks(30), Ticks(1000), MINIMUM);
    // All of it can be used from 930 on.
    for latest in [0, 900, 929] {
        assert!(!context.refills().merge_until(Ticks(80), Ticks(latest)));
        assert_eq!(list(&mut context), [(30, 70), (1000, 30)]);
    }
    assert!(context.refills().merge_until(Ticks(80), Ticks(930)));
    assert_eq!(list(&mut context), [(930, 100)]);
}

/// Limits are readings of the total consumed.
#[test]
fn the_total_counts_what_is_charged() {
    let reading = |context: &Context| {
        context
            .ring
            .total_consumed(&context.entries, context.budget)
    };
    for capacity in [2, 4] {
        let mut context = Context::new(capacity, 100);
        let mut charged = 0;
        // Whole budgets, parts, several replenishments at once, and more than one budget.
        for usage in [100, 30, 40, 100, 7, 250, 100] {
            context.charge(Ticks(usage), Ticks(1000), MINIMUM);
            charged += usage;
            // A remainder below the minimum is merged with the next replenishment.
            assert!(reading(&context).abs_diff(charged) < MINIMUM.0, "{charged}");
        }
        let before = reading(&context);
        context.refills().charge_budgets(7, Ticks(100), Ticks(1000));
        assert_eq!(reading(&context) - before, 700);
    }
}

#[test]
fn idling_uses_a_budget_to_its_end() {
    let mut context = Context::new(4, 100);
    let idle = |context: &mut Context, now| {
        let parameters = (Ticks(100), Ticks(1000));
        context
            .refills()
            .idle(Ticks(0), Ticks(now), parameters, MINIMUM)
    };
    assert_eq!(idle(&mut context, 100), Ticks(100));
    assert_eq!(list(&mut context), [(1000, 100)]);
    // A remainder below the minimum is merged with the next replenishment.
    let mut context = Context::new(4, 100);
    assert_eq!(idle(&mut context, 90), Ticks(90));
    assert_eq!(list(&mut context), [(990, 100)]);
}

#[test]
fn a_rest_too_small_joins_the_next() {
    let mut context = Context::new(4, 100);
    context.charge(Ticks(90), Ticks(1000), MINIMUM);
    let list: Vec<Refill> = context.refills().iter().collect();
    assert_eq!(
        list,
        [Refill {
            time: Ticks(990),
            amount: Ticks(100)
        }]
    );
    context.check();
}

#[test]
fn a_full_list_delays_its_last() {
    let mut context = Context::new(2, 100);
    context.charge(Ticks(20), Ticks(1000), MINIMUM);
    context.refills().unblock(Ticks(500));
    context.charge(Ticks(20), Ticks(1000), MINIMUM);
    let list: Vec<Refill> = context.refills().iter().collect();
    assert_eq!(
        list[0],
        Refill {
            time: Ticks(520),
            amount: Ticks(60)
        }
    );
    assert_eq!(
        list[1],
        Refill {
            time: Ticks(1480),
            amount: Ticks(40)
        }
    );
    context.check();
}

#[test]
fn unblocking_merges_what_is_due() {
    let mut context = Context::new(8, 100);
    context.charge(Ticks(40), Ticks(1000), MINIMUM);
    context.refills().unblock(Ticks(2000));
    let list: Vec<Refill> = context.refills().iter().collect();
    assert_eq!(
        list,
        [Refill {
            time: Ticks(2000),
            amount: Ticks(100)
        }]
    );
}

#[test]
fn merging_waits_for_enough_and_no_more() {
    let scattered = || {
        let mut context = Context::new(8, 100);
        for _ in 0..3 {
            context.charge(Ticks(20), Ticks(1000), MINIMUM);
            let later = context.refills().head().time.0 + 50;
            context.refills().unblock(Ticks(later));
        }
        // 40 from 210 on; 20 each at 1000, 1070, 1140.
        context
    };
    let head_for = |amount| {
        let mut context = scattered();
        context.refills().merge_until(Ticks(amount), Ticks::NEVER);
        context.check();
        let head = context.refills().head();
        (head.time.0, head.amount.0)
    };
    assert_eq!(head_for(1), (210, 40));
    assert_eq!(head_for(40), (210, 40));
    // Used from the front, the merged head lasts until the later ones would begin.
    assert_eq!(head_for(41), (960, 60));
    assert_eq!(head_for(80), (1010, 80));
    assert_eq!(head_for(100), (1060, 100));
    assert_eq!(
        head_for(1000),
        (1060, 100),
        "more than the budget: all of it"
    );
}

#[test]
fn an_update_gives_no_more_than_was_there() {
    let mut context = Context::new(4, 100);
    context.charge(Ticks(60), Ticks(1000), MINIMUM);
    context
        .refills()
        .update(4, Ticks(70), Ticks(90), Ticks(500));
    context.budget = Ticks(90);
    let list: Vec<Refill> = context.refills().iter().collect();
    assert_eq!(
        list[0],
        Refill {
            time: Ticks(70),
            amount: Ticks(40)
        }
    );
    assert_eq!(
        list[1],
        Refill {
            time: Ticks(570),
            amount: Ticks(50)
        }
    );
}

#[test]
fn a_slice_is_used_and_renewed() {
    let mut context = Context::new(2, 100);
    context.refills().start_round_robin(Ticks(0), Ticks(100));
    context.slice().charge(Ticks(85));
    assert_eq!(context.slice().rest(), Ticks(15));
    assert!(context.refills().head().amount < MINIMUM);
    context.slice().charge(Ticks(85));
    assert_eq!(context.slice().rest(), Ticks::ZERO);
    context.slice().renew();
    assert_eq!(context.refills().head().amount, Ticks(100));
}

#[test]
fn giving_a_slice_up_is_using_all_of_it() {
    for used in [0, 1, 40, 100] {
        let entries = [false, true].map(|gives_up| {
            let mut context = Context::new(2, 100);
            context.refills().start_round_robin(Ticks(0), Ticks(100));
            context.slice().charge(Ticks(used));
            if gives_up {
                context.slice().give_up();
            } else {
                let rest = context.slice().rest();
                context.slice().charge(rest);
                context.slice().renew();
            }
            assert_eq!(context.slice().rest(), Ticks(100));
            context.entries
        });
        assert_eq!(entries[0], entries[1], "after {used}");
    }
}

proptest! {
    /// A thread that runs, is stopped and wakes at arbitrary times, and is never preempted, gets no more than its budget
    /// in any window of one period, whatever the capacity of the list.
    #[test]
    fn no_window_supplies_more_than_the_budget(
        capacity in 2usize..12,
        budget in 20u64..200,
        extra in 1u64..2000,
        steps in prop::collection::vec(
            (0u64..300, 1u64..250, any::<bool>(), prop::option::of(1u64..250)),
            1..120,
        ),
    ) {
        let period = budget + extra;
        let mut context = Context::new(capacity, budget);
        let mut now = Ticks(0);
        let mut supplied: Vec<(u64, u64)> = Vec::new();
        for (pause, run, sporadic, merged) in steps {
            now += Ticks(pause);
            if let Some(amount) = merged {
                context.refills().merge_until(Ticks(amount), Ticks::NEVER);
                context.check();
                prop_assert!(context.refills().head().amount.0 >= amount.min(budget));
            }
            // Wait, as in the release queue, until the head is ready.
            now = now.max(context.refills().head().time);
            if sporadic || pause > 0 {
                context.refills().unblock(now);
            }
            context.check();
            let used = run.min(context.refills().head().amount.0);
            supplied.push((now.0, now.0 + used));
            now += Ticks(used);
            context.charge(Ticks(used), Ticks(period), MINIMUM);
            context.check();
        }
        // The supply of a window is greatest when it begins with a run.
        for (start, _) in &supplied {
            let end = start + period;
            let sum: u64 = supplied
                .iter()
                .map(|(from, to)| to.min(&end).saturating_sub(*from.max(start)))
                .sum();
            prop_assert!(sum <= budget, "{sum} of {budget} in a window from {start}");
        }
    }
}

proptest! {
    /// Skipping whole periods changes neither the time used, nor the amounts and times of replenishments.
    #[test]
    fn idling_at_once_is_idling_step_by_step(
        charges in prop::collection::vec((1u64..60, 0u64..300), 0..12),
        capacity in 2usize..8,
        idle in 0u64..20_000,
    ) {
        let (budget, period) = (Ticks(200), Ticks(1000));
        let (mut at_once, mut stepwise) = (Context::new(capacity, 200), Context::new(capacity, 200));
        let mut now = Ticks(0);
        for (usage, pause) in charges {
            for context in [&mut at_once, &mut stepwise] {
                context.refills().unblock(now);
                if context.refills().is_ready(now) {
                    let usage = Ticks(usage.min(context.refills().head().amount.0));
                    context.charge(usage, period, MINIMUM);
                }
            }
            now += Ticks(usage + pause);
        }
        let end = now + Ticks(idle);
        let used = at_once.refills().idle(now, end, (budget, period), Ticks::ZERO);
        let mut sum = Ticks(0);
        stepwise.refills().unblock(now);
        loop {
            now = now.max(stepwise.refills().head().time);
            if now >= end {
                break;
            }
            let amount = stepwise.refills().head().amount.min(end - now);
            stepwise.charge(amount, period, Ticks::ZERO);
            sum += amount;
            now += amount;
        }
        prop_assert!(used.0 <= budget.0 * (idle / period.0 + 2));
        prop_assert_eq!(used, sum);
        prop_assert_eq!(without_seams(at_once.refills()), without_seams(stepwise.refills()));
        at_once.refills().merge_until(MINIMUM, Ticks::NEVER);
        at_once.check();
    }
}

/// The list with adjacent replenishments merged.
fn without_seams(refills: Refills<'_>) -> Vec<Refill> {
    let mut list: Vec<Refill> = Vec::new();
    for refill in refills.iter() {
        match list.last_mut() {
            Some(last) if last.end() == refill.time => last.amount += refill.amount,
            _ => list.push(refill),
        }
    }
    list
}

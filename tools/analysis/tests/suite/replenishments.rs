//! The supply of a context with a short list of replenishments, in all histories of small systems.
//!
//! This is a second argument for the bounds of [`Context::supply`], beside the derivation in the book and the
//! kernel in the simulator. The rules of the list are written here again, as the book's page on time states them.
//! A thread of higher priority takes its time whenever it likes, at most as often as its period permits, and the
//! thread in the context runs or waits as it likes, until it is released and has work for ever. The states that
//! the context can then be in are finite in number, so that all of them are found, and from each the least supply
//! of every window is calculated.

use std::collections::{BTreeMap, BTreeSet};

use schedulability::Time;
use schedulability::fixed::{Interference, response_time};
use schedulability::model::{Context, Replenishment};
use schedulability::supply::{Processor, Recurring, Supply};

use super::random::task;
use super::simulator::ns;

/// A replenishment: from when on, counted from now, and how much.
type Refill = (i32, i32);

#[derive(Clone, Copy, Debug)]
struct Parameters {
    budget: i32,
    period: i32,
    refills: usize,
    replenishment: Replenishment,
    /// The thread of higher priority.
    cost: i32,
    gap: i32,
}

/// A state between two ticks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    refills: Vec<Refill>,
    /// What the thread of higher priority has left to do, and when it may be released again.
    pending: i32,
    next: i32,
    /// Whether the thread in the context has work, and ran in the tick before.
    is_ready: bool,
    ran: bool,
}

impl State {
    /// The head counts from now on, and what is due by the time it is used up is merged into it.
    fn unblock(&mut self) {
        if self.refills[0].0 > 0 {
            return;
        }
        self.refills[0].0 = 0;
        while self
            .refills
            .get(1)
            .is_some_and(|next| next.0 <= self.refills[0].1)
        {
            let (_, amount) = self.refills.remove(1);
            self.refills[0].1 += amount;
        }
    }

    fn schedule(&mut self, (time, amount): Refill, all: &Parameters) {
        let is_full = self.refills.len() == all.refills;
        let Some(last) = self.refills.last_mut() else {
            return self.refills.push((time, amount));
        };
        if last.0 + last.1 < time {
            if !is_full {
                return self.refills.push((time, amount));
            }
            last.0 = time - last.1;
        }
        last.1 += amount;
    }

    /// One tick of the head was used.
    fn charge(&mut self, all: &Parameters) {
        let (time, amount) = self.refills[0];
        if amount == 1 {
            self.refills.remove(0);
        } else {
            self.refills[0] = (time + 1, amount - 1);
        }
        self.schedule((time + all.period, 1), all);
    }

    /// The next tick: whether the other thread is released, and whether this one has work. Returns whether it ran.
    fn tick(mut self, is_released: bool, has_work: bool, all: &Parameters) -> (Self, bool) {
        if is_released {
            self.pending += all.cost;
            self.next = all.gap;
        }
        let is_sporadic = all.replenishment == Replenishment::Sporadic;
        if has_work && !self.is_ready && is_sporadic {
            self.unblock();
        }
        self.is_ready = has_work;
        let runs = self.pending == 0 && has_work && self.refills[0].0 <= 0;
        if runs {
            if !self.ran && !is_sporadic {
                self.unblock();
            }
            self.charge(all);
        }
        self.pending = (self.pending - 1).max(0);
        self.next = (self.next - 1).max(0);
        self.ran = runs;
        for refill in &mut self.refills {
            refill.0 -= 1;
            // What is there before the thread has work counts from then on.
            if !is_sporadic && !runs || !has_work {
                refill.0 = refill.0.max(0);
            }
        }
        (self, runs)
    }

    fn successors(&self, works: &[bool], all: &Parameters) -> Vec<(Self, bool)> {
        let mut found = Vec::new();
        for is_released in [false, true] {
            if !is_released || self.next == 0 {
                found.extend(
                    works
                        .iter()
                        .map(|has_work| self.clone().tick(is_released, *has_work, all)),
                );
            }
        }
        found
    }
}

/// All states that can be reached before a release.
fn reachable(all: &Parameters) -> BTreeSet<State> {
    let first = State {
        refills: vec![(0, all.budget)],
        pending: 0,
        next: 0,
        is_ready: false,
        ran: false,
    };
    let mut found = BTreeSet::from([first.clone()]);
    let mut waiting = vec![first];
    while let Some(state) = waiting.pop() {
        for (next, _) in state.successors(&[false, true], all) {
            if found.insert(next.clone()) {
                waiting.push(next);
            }
        }
        assert!(found.len() < 400_000, "{all:?}");
    }
    found
}

/// The least supply of windows from a release on.
fn least_supply(all: &Parameters, windows: i32) -> Vec<i32> {
    // A thread is released when it had no work.
    let released = reachable(all).into_iter().filter(|state| !state.is_ready);
    let mut now: BTreeMap<State, i32> = released.map(|state| (state, 0)).collect();
    let mut least = vec![0];
    for _ in 0..windows {
        let mut next: BTreeMap<State, i32> = BTreeMap::new();
        for (state, supplied) in now {
            for (after, ran) in state.successors(&[true], all) {
                let supplied = supplied + i32::from(ran);
                let known = next.entry(after).or_insert(supplied);
                *known = supplied.min(*known);
            }
        }
        least.extend(next.values().min());
        now = next;
    }
    least
}

/// The supply that the analysis promises, and that of an ideal server.
fn promised(all: &Parameters) -> Option<[Recurring; 2]> {
    let [budget, period] = [all.budget, all.period].map(i128::from);
    let other = Interference::of(&task(all.cost.into(), all.gap.into(), all.gap.into()));
    let own = task(budget, period, period);
    let response = response_time(&own, &[other], Time::ZERO, &Processor)
        .ok()?
        .value
        .bound;
    let extra = all.refills as u32 - 2;
    let context = Context::new(ns(budget), ns(period), extra, all.replenishment).unwrap();
    let promised = context.supply(response, Time::ZERO).ok()?;
    let ideal = Recurring::new(
        ns(budget),
        ns(period),
        ns(period - budget) + response - ns(budget),
    );
    Some([promised, ideal.ok()?])
}

#[test]
pub fn no_history_supplies_less_than_promised() {
    let (mut systems, mut worse, mut exact) = (0, [0; 2], 0);
    for replenishment in [Replenishment::Sporadic, Replenishment::OnDispatch] {
        for (budget, period) in [(2, 5), (2, 7), (3, 7), (3, 8), (4, 9)] {
            for (cost, gap) in [(1, 2), (1, 3), (1, 5), (2, 5), (3, 8)] {
                for refills in [2, 3] {
                    let all = Parameters {
                        budget,
                        period,
                        refills,
                        replenishment,
                        cost,
                        gap,
                    };
                    let Some([promised, ideal]) = promised(&all) else {
                        continue;
                    };
                    let least = least_supply(&all, period * 5);
                    for (window, least) in least.iter().enumerate() {
                        let window = ns(window as i128);
                        let bound = promised.in_window(window);
                        assert!(
                            ns((*least).into()) >= bound,
                            "{all:?}: {least} in {window}, not {bound}"
                        );
                    }
                    systems += 1;
                    let falls_below = |(window, least): (usize, &i32)| {
                        ns((*least).into()) < ideal.in_window(ns(window as i128))
                    };
                    let kind = usize::from(replenishment == Replenishment::OnDispatch);
                    worse[kind] += u32::from(least.iter().enumerate().any(falls_below));
                    let blackout = least.iter().filter(|least| **least == 0).count() as i128 - 1;
                    exact += u32::from(ns(blackout) == promised.blackout());
                }
            }
        }
    }
    println!("{systems} systems; below an ideal server {worse:?}; blackouts reached {exact}");
    // The negative control: an ideal server promises too much.
    assert!(
        systems > 40 && worse.iter().all(|count| *count > 3),
        "{systems} {worse:?} {exact}"
    );
}

//! The list of replenishments.

use crate::time::Ticks;

/// From `time` on, `amount` may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Refill {
    /// When.
    pub time: Ticks,
    /// How much.
    pub amount: Ticks,
}

impl Refill {
    /// The earliest moment at which all of it can have been used.
    const fn end(self) -> Ticks {
        self.time.saturating_add(self.amount)
    }
}

/// Which entries of the array are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct RefillRing {
    head: u32,
    count: u32,
    capacity: u32,
}

impl RefillRing {
    /// An empty ring over `capacity` entries.
    pub const fn new(capacity: u32) -> Self {
        Self {
            head: 0,
            count: 0,
            capacity,
        }
    }

    /// Entries that the ring may use.
    pub const fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// The entry of the head.
    pub const fn head(&self) -> usize {
        self.head as usize
    }

    /// The entries in use, in order.
    pub fn entries(&self) -> impl Iterator<Item = usize> + use<> {
        let Self {
            head,
            count,
            capacity,
        } = *self;
        (head..head + count).map(move |entry| {
            (if entry >= capacity {
                entry - capacity
            } else {
                entry
            }) as usize
        })
    }
}

/// A list of replenishments: a ring in an array that somebody else keeps.
#[derive(Debug)]
pub struct Refills<'a> {
    ring: &'a mut RefillRing,
    entries: &'a mut [Refill],
}

impl<'a> Refills<'a> {
    /// The list that `ring` describes in `entries`, which has the ring's capacity.
    pub fn new(ring: &'a mut RefillRing, entries: &'a mut [Refill]) -> Self {
        debug_assert!(entries.len() >= ring.capacity());
        Self { ring, entries }
    }

    fn index(&self, position: u32) -> usize {
        let index = self.ring.head + position;
        (if index >= self.ring.capacity {
            index - self.ring.capacity
        } else {
            index
        }) as usize
    }

    /// Number of replenishments; at least one once configured.
    pub fn len(&self) -> usize {
        self.ring.count as usize
    }

    /// Whether there is none: the context was never configured.
    pub fn is_empty(&self) -> bool {
        self.ring.count == 0
    }

    /// The replenishment that is used now, or next.
    pub fn head(&self) -> Refill {
        self.entries[self.index(0)]
    }

    fn head_mut(&mut self) -> &mut Refill {
        let index = self.index(0);
        &mut self.entries[index]
    }

    fn tail_mut(&mut self) -> &mut Refill {
        let index = self.index(self.ring.count - 1);
        &mut self.entries[index]
    }

    /// All replenishments, in order.
    pub fn iter(&self) -> impl Iterator<Item = Refill> + '_ {
        self.ring.entries().map(|entry| self.entries[entry])
    }

    fn pop(&mut self) -> Refill {
        let head = self.head();
        self.ring.head = self.index(1) as u32;
        self.ring.count -= 1;
        head
    }

    fn push(&mut self, refill: Refill) {
        let index = self.index(self.ring.count);
        self.entries[index] = refill;
        self.ring.count += 1;
    }

    /// Starts afresh: the whole budget is available from `now` on.
    pub fn start(&mut self, capacity: u32, now: Ticks, budget: Ticks) {
        *self.ring = RefillRing::new(capacity);
        self.push(Refill {
            time: now,
            amount: budget,
        });
    }

    /// Starts afresh as a round-robin slice: no period, the head is what is left of the slice and the
    /// tail what was used of it.
    pub fn start_round_robin(&mut self, now: Ticks, budget: Ticks) {
        self.start(2, now, budget);
        self.push(Refill {
            time: now,
            amount: Ticks::ZERO,
        });
    }

    /// Changes budget and period of a context in use without giving it more than either allows: what
    /// is available now, up to the new budget, stays, and the rest comes one new period later.
    pub fn update(&mut self, capacity: u32, now: Ticks, budget: Ticks, period: Ticks) {
        let mut head = self.head();
        if self.is_ready(now) {
            head.time = now;
        }
        let rest = budget.saturating_sub(head.amount);
        head.amount = head.amount.min(budget);
        *self.ring = RefillRing::new(capacity);
        self.push(head);
        if rest > Ticks::ZERO {
            self.push(Refill {
                time: head.time.saturating_add(period),
                amount: rest,
            });
        }
    }

    /// Whether the head may be used now.
    pub fn is_ready(&self, now: Ticks) -> bool {
        self.head().time <= now
    }

    /// Whether, with `usage` taken off, the head still holds the smallest budget.
    pub fn is_sufficient(&self, usage: Ticks, minimum: Ticks) -> bool {
        self.head().amount.saturating_sub(usage) >= minimum
    }

    /// Adds a replenishment behind all others, or merges it into the last one.
    fn schedule(&mut self, refill: Refill) {
        let full = self.ring.count == self.ring.capacity;
        let tail = self.tail_mut();
        if tail.end() >= refill.time {
            tail.amount += refill.amount;
        } else if full {
            // Delayed, so that it neither begins early nor ends late: it ends where the new one would.
            tail.time = Ticks(refill.time.0 - tail.amount.0);
            tail.amount += refill.amount;
        } else {
            self.push(refill);
        }
    }

    /// Charges the whole budget `times` over, which delays everything by as many periods.
    ///
    /// It happens where the machine itself stood still, as an emulator does whose host is busy;
    /// [`Refills::charge`] alone would take a step for each budget.
    pub fn charge_budgets(&mut self, times: u64, period: Ticks) {
        let delay = Ticks(period.0.saturating_mul(times));
        for position in 0..self.ring.count {
            let index = self.index(position);
            let entry = &mut self.entries[index];
            entry.time = entry.time.saturating_add(delay);
        }
    }

    /// Charges `usage`: what was used comes back one period after it became available.
    ///
    /// Whole replenishments are taken from the head first; a part is split off the last one. A head
    /// below `minimum` would not pay for entering and leaving the kernel, so it is merged into its
    /// successor. The sum of all amounts must be at least `minimum`.
    pub fn charge(&mut self, mut usage: Ticks, period: Ticks, minimum: Ticks) {
        while self.head().amount <= usage {
            usage -= self.head().amount;
            if self.ring.count == 1 {
                let head = self.head_mut();
                head.time = head.time.saturating_add(period);
                if head.time == Ticks::NEVER {
                    break;
                }
            } else {
                let used = self.pop();
                self.schedule(Refill {
                    time: used.time.saturating_add(period),
                    ..used
                });
            }
        }
        if usage > Ticks::ZERO && self.head().amount > usage {
            let head = self.head_mut();
            let used = Refill {
                time: head.time.saturating_add(period),
                amount: usage,
            };
            head.amount -= usage;
            head.time = head.time.saturating_add(usage);
            self.schedule(used);
        }
        while self.ring.count > 1 && self.head().amount < minimum {
            self.merge_head();
        }
    }

    /// Merges the head into its successor, which is brought forward so that it ends where it did.
    fn merge_head(&mut self) {
        let head = self.pop();
        let next = self.head_mut();
        next.time = next.time.saturating_sub(head.amount);
        next.amount += head.amount;
    }

    /// The thread becomes able to use its time now: what has waited unused counts from now on, and
    /// replenishments that are due by the time the head is used up join it.
    pub fn unblock(&mut self, now: Ticks) {
        if !self.is_ready(now) {
            return;
        }
        self.head_mut().time = now;
        while self.ring.count > 1 {
            let head = self.head();
            let next = self.entries[self.index(1)];
            if next.time > head.end() {
                break;
            }
            self.pop();
            *self.head_mut() = Refill {
                time: head.time,
                amount: head.amount + next.amount,
            };
        }
    }

    /// Round robin: moves `usage` from what is left of the slice to what was used of it.
    pub fn charge_slice(&mut self, usage: Ticks) {
        let usage = usage.min(self.head().amount);
        self.head_mut().amount -= usage;
        self.tail_mut().amount += usage;
    }

    /// Round robin: a full slice again.
    pub fn renew_slice(&mut self) {
        let used = core::mem::take(&mut self.tail_mut().amount);
        self.head_mut().amount += used;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MINIMUM: Ticks = Ticks(20);

    struct Context {
        ring: RefillRing,
        entries: Vec<Refill>,
        budget: Ticks,
    }

    impl Context {
        fn new(capacity: u32, budget: u64) -> Self {
            let mut context = Self {
                ring: RefillRing::new(capacity),
                entries: vec![Refill::default(); capacity as usize],
                budget: Ticks(budget),
            };
            context.refills().start(capacity, Ticks(0), Ticks(budget));
            context
        }

        fn refills(&mut self) -> Refills<'_> {
            Refills::new(&mut self.ring, &mut self.entries)
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
                "the head pays for the kernel: {list:?}"
            );
        }
    }

    #[test]
    fn a_whole_budget_comes_back_one_period_later() {
        let mut context = Context::new(2, 100);
        context.refills().charge(Ticks(100), Ticks(1000), MINIMUM);
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
            context.refills().charge(Ticks(30), Ticks(1000), MINIMUM);
        }
        for _ in 0..7 {
            stepwise.refills().charge(Ticks(100), Ticks(1000), MINIMUM);
        }
        at_once.refills().charge_budgets(7, Ticks(1000));
        assert!(stepwise.refills().iter().eq(at_once.refills().iter()));
    }

    #[test]
    fn a_part_is_split_off() {
        let mut context = Context::new(4, 100);
        context.refills().charge(Ticks(30), Ticks(1000), MINIMUM);
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

    #[test]
    fn a_rest_too_small_joins_the_next() {
        let mut context = Context::new(4, 100);
        context.refills().charge(Ticks(90), Ticks(1000), MINIMUM);
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
        context.refills().charge(Ticks(20), Ticks(1000), MINIMUM);
        context.refills().unblock(Ticks(500));
        context.refills().charge(Ticks(20), Ticks(1000), MINIMUM);
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
    fn unblocking_gathers_what_is_due() {
        let mut context = Context::new(8, 100);
        context.refills().charge(Ticks(40), Ticks(1000), MINIMUM);
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
    fn an_update_gives_no_more_than_was_there() {
        let mut context = Context::new(4, 100);
        context.refills().charge(Ticks(60), Ticks(1000), MINIMUM);
        context
            .refills()
            .update(4, Ticks(70), Ticks(90), Ticks(500));
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
        context.refills().charge_slice(Ticks(85));
        assert!(!context.refills().is_sufficient(Ticks::ZERO, MINIMUM));
        context.refills().renew_slice();
        assert_eq!(context.refills().head().amount, Ticks(100));
    }

    proptest! {
        /// A thread that runs, is stopped and wakes at arbitrary times never gets more than its budget
        /// in any window of one period, whatever the capacity of the list.
        #[test]
        fn no_window_supplies_more_than_the_budget(
            capacity in 2u32..12,
            budget in 20u64..200,
            extra in 1u64..2000,
            steps in prop::collection::vec((0u64..300, 1u64..250, any::<bool>()), 1..120),
        ) {
            let period = budget + extra;
            let mut context = Context::new(capacity, budget);
            let mut now = Ticks(0);
            let mut supplied: Vec<(u64, u64)> = Vec::new();
            for (pause, run, sporadic) in steps {
                now += Ticks(pause);
                // Wait, as the release queue does, until the head is ready.
                now = now.max(context.refills().head().time);
                if sporadic || pause > 0 {
                    context.refills().unblock(now);
                }
                context.check();
                let used = run.min(context.refills().head().amount.0);
                supplied.push((now.0, now.0 + used));
                now += Ticks(used);
                context.refills().charge(Ticks(used), Ticks(period), MINIMUM);
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
}

//! Operations on a list of replenishments.

use super::{Entry, Refill, RefillRing};
use crate::time::Ticks;

/// A list of replenishments: a ring in an array that the scheduling context owns.
#[derive(Debug)]
pub struct Refills<'a> {
    ring: &'a mut RefillRing,
    entries: &'a mut [Entry],
    /// The total before the head.
    origin: u64,
}

impl<'a> Refills<'a> {
    /// The list that `ring` describes in `entries`, which has the ring's capacity. Its amounts add up
    /// to `budget`.
    #[inline(always)]
    pub fn new(ring: &'a mut RefillRing, entries: &'a mut [Entry], budget: Ticks) -> Self {
        debug_assert!(entries.len() >= ring.capacity());
        let origin = ring.total_consumed(entries, budget);
        Self {
            ring,
            entries,
            origin,
        }
    }

    fn entry(&self, position: usize) -> Entry {
        self.entries[self.ring.index(position)]
    }

    fn entry_mut(&mut self, position: usize) -> &mut Entry {
        &mut self.entries[self.ring.index(position)]
    }

    /// The total before a position.
    fn total_before(&self, position: usize) -> u64 {
        match position.checked_sub(1) {
            None => self.origin,
            Some(previous) => self.entry(previous).total,
        }
    }

    /// The head: the replenishment that is used now, or next.
    #[inline(always)]
    pub fn head(&self) -> Refill {
        self.entries[self.ring.front()].refill(self.origin)
    }

    /// All replenishments, in order.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = Refill> + '_ {
        (0..self.ring.len())
            .map(|position| self.entry(position).refill(self.total_before(position)))
    }

    fn push(&mut self, refill: Refill) {
        let total = self
            .total_before(self.ring.len())
            .wrapping_add(refill.amount.0);
        let entry = self.ring.extend();
        self.entries[entry] = Entry::new(refill.time, total);
    }

    /// Empties the list.
    fn clear(&mut self, capacity: usize) {
        *self.ring = RefillRing::new(capacity);
    }

    /// Resets the list: the whole budget is available from `now` on.
    pub fn start(&mut self, capacity: usize, now: Ticks, budget: Ticks) {
        self.clear(capacity);
        self.push(Refill::new(now, budget));
    }

    /// Resets the list to a full round-robin [`Slice`](super::Slice).
    pub fn start_round_robin(&mut self, now: Ticks, budget: Ticks) {
        self.start(2, now, budget);
        self.push(Refill::new(now, Ticks::ZERO));
    }

    /// Changes budget and period of a context in use without supplying more than either allows: the amount
    /// available now stays, up to the new budget, and the remainder is replenished one new period later.
    pub fn update(&mut self, capacity: usize, now: Ticks, budget: Ticks, period: Ticks) {
        let mut head = self.head();
        if self.is_ready(now) {
            head.time = now;
        }
        let rest = budget.saturating_sub(head.amount);
        head.amount = head.amount.min(budget);
        self.clear(capacity);
        self.push(head);
        if rest > Ticks::ZERO {
            self.push(Refill::new(head.time.saturating_add(period), rest));
        }
    }

    /// Whether the head may be used now.
    pub fn is_ready(&self, now: Ticks) -> bool {
        self.head().time <= now
    }

    /// Adds a replenishment at the end, or merges it into the last one.
    #[inline(always)]
    fn schedule(&mut self, refill: Refill) {
        let len = self.ring.len();
        let last = self.ring.index(len - 1);
        let before = match len {
            1 => self.origin,
            _ => self.entries[self.ring.before(last)].total,
        };
        let tail = self.entries[last].refill(before);
        let total = self.entries[last].total.wrapping_add(refill.amount.0);
        let (entry, time) = match (tail.end() < refill.time, len == self.ring.capacity()) {
            (true, false) => (self.ring.extend(), refill.time),
            // The list is full: merged into the last one, which is delayed so that it ends when the new one would.
            (true, true) => (last, Ticks(refill.time.0 - tail.amount.0)),
            (false, _) => (last, tail.time),
        };
        self.entries[entry] = Entry { time, total };
    }

    /// All replenishments were used and return after `delay`: the used amount is added to all totals.
    fn advance(&mut self, delay: Ticks, used: Ticks) {
        for position in 0..self.ring.len() {
            let entry = self.entry_mut(position);
            entry.time = entry.time.saturating_add(delay);
            entry.total = entry.total.wrapping_add(used.0);
        }
        self.origin = self.origin.wrapping_add(used.0);
    }

    /// Charges `usage`, which is not zero: the used amount is replenished one period after it became available. The
    /// budget is at least `minimum`.
    #[inline(always)]
    pub fn charge(&mut self, usage: Ticks, (budget, period): (Ticks, Ticks), minimum: Ticks) {
        let head = self.head();
        if head.amount <= usage + minimum {
            return self.charge_whole(usage, (budget, period), minimum);
        }
        self.use_part(head, usage, period);
    }

    /// The same if less than `minimum` of the head would be left. Whole replenishments are taken from the head
    /// first; the last one is split. A head below `minimum` would not suffice to enter and leave the kernel, so
    /// it is merged into its successor.
    #[inline(never)]
    fn charge_whole(&mut self, mut usage: Ticks, (budget, period): (Ticks, Ticks), minimum: Ticks) {
        if usage >= budget + budget {
            self.charge_budgets(usage.0 / budget.0, budget, period);
            usage.0 %= budget.0;
        } else if usage >= budget {
            // What is common needs no division, which on Arm's 32-bit machines is a function.
            self.advance(period, budget);
            usage = usage - budget;
        }
        let mut head = self.head();
        while head.amount <= usage {
            usage = usage - head.amount;
            self.use_head(head, period);
            head = self.head();
            if head.time == Ticks::NEVER {
                break;
            }
        }
        self.use_rest(head, usage, period, minimum);
    }

    /// Charges less than the head. If less than the smallest budget is left, it is merged into its successor.
    #[inline(always)]
    fn use_rest(&mut self, mut head: Refill, usage: Ticks, period: Ticks, minimum: Ticks) {
        if usage > Ticks::ZERO && head.amount > usage {
            self.use_part(head, usage, period);
            head.amount = head.amount - usage;
        }
        // If the used part was merged into the only replenishment, it holds more, and has no successor.
        if head.amount < minimum {
            self.merge_until(minimum, Ticks::NEVER);
        }
    }

    /// Charges the whole budget `times` times, which delays all replenishments by as many periods.
    ///
    /// This happens when the machine itself was not executed for a while, as an emulator on a busy host; one
    /// step per budget would take too long.
    pub(super) fn charge_budgets(&mut self, times: u64, budget: Ticks, period: Ticks) {
        let delay = Ticks(period.0.saturating_mul(times));
        self.advance(delay, Ticks(budget.0.wrapping_mul(times)));
    }

    /// All of the head was used.
    fn use_head(&mut self, head: Refill, period: Ticks) {
        if self.ring.len() == 1 {
            return self.advance(period, head.amount);
        }
        self.origin = self.origin.wrapping_add(head.amount.0);
        self.ring.drop_front(1);
        self.schedule(Refill {
            time: head.time.saturating_add(period),
            ..head
        });
    }

    /// All of the head was used, right after its predecessor, which was moved to the end, too. The head follows
    /// it at the same distance as before, so no merge is needed: only the former first and last replenishment
    /// can become adjacent.
    fn rotate_head(&mut self, budget: Ticks, period: Ticks) {
        let Entry { time, total } = self.entry(0);
        self.origin = total;
        self.ring.drop_front(1);
        let entry = self.ring.extend();
        self.entries[entry] = Entry::new(time.saturating_add(period), total.wrapping_add(budget.0));
    }

    /// Part of the head was used, not all of it.
    #[inline(always)]
    fn use_part(&mut self, head: Refill, usage: Ticks, period: Ticks) {
        debug_assert!(usage > Ticks::ZERO && usage < head.amount);
        self.entries[self.ring.front()].time = head.time.saturating_add(usage);
        self.origin = self.origin.wrapping_add(usage.0);
        self.schedule(Refill::new(head.time.saturating_add(period), usage));
    }

    /// The head that results if all replenishments before `position` are merged into the one there. This is
    /// brought forward so that its end stays the same: the earlier amounts are used first, and reach up to
    /// its old start.
    fn merged(&self, position: usize) -> Entry {
        let before = Ticks(self.total_before(position).wrapping_sub(self.origin));
        let entry = self.entry(position);
        Entry {
            time: entry.time.saturating_sub(before),
            ..entry
        }
    }

    fn merge(&mut self, position: usize) {
        let head = self.merged(position);
        self.ring.drop_front(position);
        *self.entry_mut(0) = head;
    }

    /// Merges as many replenishments as needed for the head to hold `amount`, or all, unless the head would
    /// then be due later than `latest`. Returns whether it did.
    ///
    /// The totals are in order, so the number of steps is the logarithm of the length of the list.
    pub fn merge_until(&mut self, amount: Ticks, latest: Ticks) -> bool {
        let (mut low, mut high) = (0, self.ring.len() - 1);
        // Two replenishments nearly always suffice.
        if high > 1 && self.entry(1).total.wrapping_sub(self.origin) >= amount.0 {
            high = 1;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entry(middle).total.wrapping_sub(self.origin) >= amount.0 {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        if self.merged(low).time > latest {
            return false;
        }
        self.merge(low);
        true
    }

    /// Charges time that is used as soon as it is available, from `since` until `now`. Returns the time used.
    ///
    /// Replenishments that are due at `since` count from then on. All replenishments end within one period,
    /// because each was scheduled one period after its use. So every period is like the first, and whole
    /// periods are skipped. The number of steps is the length of the list.
    pub fn idle(
        &mut self,
        since: Ticks,
        now: Ticks,
        (budget, period): (Ticks, Ticks),
        minimum: Ticks,
    ) -> Ticks {
        self.unblock(since);
        let start = self.head().time;
        if start >= now {
            return Ticks::ZERO;
        }
        let periods = (now - start).0 / period.0;
        if periods > 0 {
            self.charge_budgets(periods, budget, period);
        }
        let mut used = Ticks(budget.0.saturating_mul(periods));
        let mut turned = false;
        let (head, rest) = loop {
            let head = self.head();
            let passed = now.saturating_sub(head.time);
            used = used.saturating_add(head.amount.min(passed));
            if passed < head.amount {
                break (head, passed);
            }
            if core::mem::replace(&mut turned, true) {
                self.rotate_head(budget, period);
            } else {
                self.use_head(head, period);
            }
        };
        self.use_rest(head, rest, period, minimum);
        used
    }

    /// The thread becomes runnable: unused budget counts from `now`, and replenishments that are due by the
    /// time the head is used up are merged into it.
    ///
    /// Replenishments do not overlap, so all that follow one that is due too late are due too late as well: a
    /// binary search finds it, and the number of steps is the logarithm of the length of the list.
    #[inline(always)]
    pub fn unblock(&mut self, now: Ticks) {
        let head = self.head();
        if head.time > now {
            return;
        }
        if self.ring.len() > 1 && self.entries[self.ring.index(1)].time <= now + head.amount {
            self.merge_joining(now);
        }
        self.entries[self.ring.front()].time = now;
    }

    /// Merges the replenishments that are due by the time the head is used up, of which there is at least one, into the
    /// head.
    #[cold]
    fn merge_joining(&mut self, now: Ticks) {
        let (mut joining, mut apart) = (1, self.ring.len());
        while apart - joining > 1 {
            let middle = joining + (apart - joining) / 2;
            let before = self.total_before(middle).wrapping_sub(self.origin);
            if self.entry(middle).time <= now.saturating_add(Ticks(before)) {
                joining = middle;
            } else {
                apart = middle;
            }
        }
        self.ring.drop_front(joining);
    }
}

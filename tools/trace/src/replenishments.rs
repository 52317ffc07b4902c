//! The replenishments of a context, as they follow from events.
//!
//! A charge takes what was used from the front of the list, and adds it at the end, one period after it became
//! available (Sprunt, Sha, Lehoczky, "Aperiodic task scheduling for hard-real-time systems", 1989). Events tell the first
//! and the last replenishment only; those between follow from the charges. All of them add up to the budget.
//!
//! The kernel merges replenishments: the first ones, if a thread needs more at once or they are due together, and the last
//! ones, if the list has no room for more. So what an event tells has the amount of some in the list; and it comes later
//! than they would, if its time is another one.

use std::collections::VecDeque;

use crate::timeline::total;

/// The time from which an amount may be used, and the amount, in ticks.
pub type Replenishment = (u64, u64);

/// Why a replenishment does not follow from what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Odd {
    /// No others have its amount together: all of them no longer add up to the budget.
    Amount,
    /// It comes so many ticks too early.
    Early(u64),
}

/// The replenishments of a context.
#[derive(Clone, Debug, Default)]
pub struct Replenishments {
    /// Those that are known, in order. The first one is the head.
    list: VecDeque<Replenishment>,
    /// Whether the list has all: they add up to the budget.
    is_whole: bool,
    /// Whether the parameters are new, so that the whole list follows from its head.
    is_new: bool,
    /// The budget and the period; no budget if they are not known.
    parameters: (u64, u64),
    /// The core that has told the last one. Events of several cores have no order but that of their times.
    core: Option<u8>,
    /// What was odd about the one that was told last.
    odd: Option<Odd>,
}

impl Replenishments {
    /// The head, if it is known.
    pub fn head(&self) -> Option<Replenishment> {
        self.list.front().copied()
    }

    /// Those after the head, in order, as far as they are known.
    pub fn pending(&self) -> impl Iterator<Item = Replenishment> + Clone + '_ {
        self.list.iter().skip(1).copied()
    }

    /// Why the one that was told last does not follow from what was known before.
    pub(crate) const fn odd(&self) -> Option<Odd> {
        self.odd
    }

    /// What comes next is told by a core.
    pub(crate) fn told_by(&mut self, core: u8) {
        self.odd = None;
        if self.core.replace(core) != Some(core) {
            self.forget();
        }
    }

    /// The list is no longer known as a whole.
    pub(crate) const fn forget(&mut self) {
        (self.is_whole, self.is_new) = (false, false);
    }

    /// The context has got a budget and a period, which is 0 for round robin; its head is told next.
    pub(crate) fn configured(&mut self, budget: u64, period: u64) {
        self.list.clear();
        self.parameters = (budget, period);
        (self.is_whole, self.is_new) = (false, true);
    }

    /// The context was charged.
    pub(crate) fn charged(&mut self, usage: u64) {
        let (budget, period) = self.parameters;
        if !self.is_whole {
            return;
        }
        // Whole budgets delay all of them.
        let delay = period.saturating_mul(usage / budget.max(1));
        for (time, _) in &mut self.list {
            *time = time.saturating_add(delay);
        }
        let mut usage = usage % budget.max(1);
        while usage > 0
            && let Some((time, amount)) = self.list.pop_front()
        {
            let used = amount.min(usage);
            if used < amount {
                let rest = (time.saturating_add(used), amount - used);
                self.list.push_front(rest);
            }
            self.add(time.saturating_add(period), used);
            usage -= used;
        }
    }

    /// Adds one at the end, or to the last one, if that ends when it begins.
    fn add(&mut self, time: u64, amount: u64) {
        match self.list.back_mut() {
            Some(last) if end(*last) >= time => last.1 = last.1.saturating_add(amount),
            _ => self.list.push_back((time, amount)),
        }
    }

    /// The head is told.
    pub(crate) fn head_is(&mut self, head: Replenishment) {
        let (budget, period) = self.parameters;
        if self.is_whole {
            match count_of(self.list.iter(), head.1) {
                Some(count) => {
                    self.odd = early(self.list[0].0, head.0);
                    self.list.drain(..count);
                    self.list.push_front(head);
                    return;
                }
                None => self.odd = Some(Odd::Amount),
            }
        }
        self.list = [head].into();
        // A new budget of which a part is not available yet has it one period later.
        let rest = budget.saturating_sub(head.1);
        if std::mem::take(&mut self.is_new) && period > 0 && rest > 0 {
            self.list.push_back((head.0.saturating_add(period), rest));
        }
        self.see_whether_whole();
    }

    /// The last one is told, after the head.
    pub(crate) fn last_is(&mut self, last: Replenishment) {
        if self.is_whole {
            match count_of(self.list.iter().rev(), last.1) {
                Some(count) => {
                    self.odd = self.list.back().and_then(|one| early(end(*one), end(last)));
                    self.list.truncate(self.list.len() - count);
                    self.list.push_back(last);
                    return;
                }
                None => self.odd = Some(Odd::Amount),
            }
        }
        self.list.truncate(1);
        if self.head().is_some_and(|head| head.0 < last.0) {
            self.list.push_back(last);
        }
        self.see_whether_whole();
    }

    fn see_whether_whole(&mut self) {
        let (budget, period) = self.parameters;
        let sum = total(self.list.iter().map(|(_, amount)| *amount));
        self.is_whole = self.odd.is_none() && period > 0 && budget > 0 && sum == budget;
    }
}

/// The earliest time at which all of it can have been used.
const fn end((time, amount): Replenishment) -> u64 {
    time.saturating_add(amount)
}

/// How many of them have an amount together.
fn count_of<'l>(list: impl Iterator<Item = &'l Replenishment>, amount: u64) -> Option<usize> {
    let sums = list.scan(0, |sum: &mut u64, (_, amount)| {
        *sum = sum.saturating_add(*amount);
        Some(*sum)
    });
    sums.take_while(|sum| *sum <= amount)
        .position(|sum| sum == amount)
        .map(|before| before + 1)
}

fn early(expected: u64, told: u64) -> Option<Odd> {
    let early = expected.checked_sub(told)?;
    (early > 0).then_some(Odd::Early(early))
}

#[cfg(test)]
mod tests {
    use super::{Odd, Replenishments};

    /// With 6 in each 10 from 100 on, of which 2 and then 1 were used.
    fn used() -> Replenishments {
        let mut all = Replenishments::default();
        all.told_by(0);
        all.configured(6, 10);
        all.head_is((100, 6));
        all.charged(2);
        all.head_is((102, 4));
        all.last_is((110, 2));
        // It was not used until 105.
        all.head_is((105, 4));
        all.charged(1);
        all.head_is((106, 3));
        all.last_is((115, 1));
        all
    }

    fn list(all: &Replenishments) -> Vec<(u64, u64)> {
        assert_eq!(all.odd(), None);
        all.list.iter().copied().collect()
    }

    #[test]
    fn what_is_used_comes_back_one_period_later() {
        let mut all = used();
        assert_eq!(list(&all), [(106, 3), (110, 2), (115, 1)]);
        // All of the first two; what the first one had joins the last one, which ends when it begins.
        all.charged(5);
        assert_eq!(list(&all), [(115, 4), (120, 2)]);
        // Two budgets.
        all.charged(12);
        assert_eq!(list(&all), [(135, 4), (140, 2)]);
    }

    #[test]
    fn merged_ones_come_later() {
        let mut all = used();
        // The first two, so that their end stays the same.
        all.head_is((107, 5));
        assert_eq!(list(&all), [(107, 5), (115, 1)]);
        // There is no room for a third one.
        all.charged(2);
        all.head_is((109, 3));
        all.last_is((116, 3));
        assert_eq!(list(&all), [(109, 3), (116, 3)]);
    }

    #[test]
    fn what_does_not_add_up_or_comes_early_is_odd() {
        for (head, odd) in [
            ((106, 4), Odd::Amount),
            ((106, 7), Odd::Amount),
            ((106, 0), Odd::Amount),
            ((104, 3), Odd::Early(2)),
        ] {
            let mut all = used();
            all.head_is(head);
            assert_eq!(all.odd(), Some(odd), "{head:?}");
        }
        for (last, odd) in [
            ((115, 2), Odd::Amount),
            ((112, 3), Odd::Early(1)),
            ((113, 1), Odd::Early(2)),
        ] {
            let mut all = used();
            all.last_is(last);
            assert_eq!(all.odd(), Some(odd), "{last:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_odd() {
        let mut all = used();
        // The other core may have charged it, too.
        all.told_by(1);
        all.head_is((90, 2));
        assert_eq!(list(&all), [(90, 2)]);
        all.last_is((96, 3));
        all.charged(1);
        assert_eq!(list(&all), [(90, 2), (96, 3)]);
        // Both together are the budget.
        all.head_is((95, 1));
        all.last_is((96, 5));
        all.charged(1);
        assert_eq!(list(&all), [(96, 5), (105, 1)]);
        // With a new budget, what is not available yet comes one period later.
        all.configured(8, 20);
        all.head_is((110, 5));
        assert_eq!(list(&all), [(110, 5), (130, 3)]);
    }
}

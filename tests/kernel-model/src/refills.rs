//! Budgets: a list of replenishments, each with an amount and the time from which it can be used.

use std::collections::VecDeque;

use crate::state::{MIN_BUDGET, Time};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refills {
    /// 0 for round robin: then the list has the remaining and the used part of the slice.
    pub period: Time,
    pub max: usize,
    pub list: VecDeque<(Time, Time)>,
}

impl Refills {
    pub fn new(now: Time, budget: Time, period: Time, max: usize) -> Self {
        if budget == period {
            let list = [(now, budget), (now, 0)].into();
            return Self { period: 0, max: 2, list };
        }
        let list = [(now, budget)].into();
        Self { period, max, list }
    }

    pub fn is_round_robin(&self) -> bool {
        self.period == 0
    }

    pub fn head(&self) -> (Time, Time) {
        self.list[0]
    }

    /// New parameters for a context in use: no more than either budget allows.
    pub fn update(&mut self, now: Time, budget: Time, period: Time, max: usize) {
        let (mut time, amount) = self.head();
        if time <= now {
            time = now;
        }
        *self = Self { period, max, list: [(time, amount.min(budget))].into() };
        if amount < budget {
            self.list.push_back((time + period, budget - amount));
        }
    }

    /// The head replenishment is due, and at least the smallest budget.
    pub fn is_available(&self, now: Time) -> bool {
        self.head().0 <= now && self.head().1 >= MIN_BUDGET
    }

    /// Returns what was charged.
    pub fn charge(&mut self, time: Time) -> Time {
        let mut used = time;
        if self.is_round_robin() {
            let used = used.min(self.list[0].1);
            self.list[0].1 -= used;
            self.list[1].1 += used;
            return used;
        }
        while self.head().1 <= used {
            used -= self.head().1;
            if self.list.len() == 1 {
                self.list[0].0 += self.period;
            } else {
                let (time, amount) = self.list.pop_front().expect("there are two");
                self.add(time + self.period, amount);
            }
        }
        if used > 0 {
            let (time, amount) = self.head();
            self.list[0] = (time + used, amount - used);
            self.add(time + self.period, used);
        }
        self.merge_until(MIN_BUDGET, Time::MAX);
        time
    }

    /// Merges replenishments until the head holds the amount, or all, unless the head would then be due
    /// later than `latest`. Returns whether it did. Merged replenishments end when the last of them does.
    pub fn merge_until(&mut self, amount: Time, latest: Time) -> bool {
        let mut list = self.list.clone();
        while list[0].1 < amount && list.len() > 1 {
            let (_, before) = list.pop_front().expect("there are two");
            list[0].0 = list[0].0.saturating_sub(before);
            list[0].1 += before;
        }
        let in_time = list[0].0 <= latest;
        if in_time {
            self.list = list;
        }
        in_time
    }

    /// Appends a replenishment; it is merged with the last one if that extends to its time. If the
    /// list is full, the last one is delayed so that they merge.
    fn add(&mut self, time: Time, amount: Time) {
        let full = self.list.len() == self.max;
        let last = self.list.back_mut().expect("it is never empty");
        if last.0 + last.1 >= time {
            last.1 += amount;
        } else if full {
            *last = (time - last.1, last.1 + amount);
        } else {
            self.list.push_back((time, amount));
        }
    }

    /// Budget that was not used can be used from now on only.
    pub fn unblock(&mut self, now: Time) {
        if self.is_round_robin() || self.head().0 > now {
            return;
        }
        self.list[0].0 = now;
        while let Some(&(time, amount)) = self.list.get(1)
            && time <= self.head().0 + self.head().1
        {
            self.list.remove(1);
            self.list[0].1 += amount;
        }
    }

    /// At the end of a slice, round robin begins a new one.
    pub fn renew(&mut self) {
        if self.is_round_robin() {
            self.list[0].1 += self.list[1].1;
            self.list[1].1 = 0;
        }
    }
}

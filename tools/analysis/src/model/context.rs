//! Scheduling contexts as a source of time.

use crate::fault::{self, Fault};
use crate::supply::Recurring;
use crate::{Error, Result, Time};

/// When a replenishment counts from; the flag `SPORADIC` of the kernel's contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replenishment {
    /// From the time at which the thread became able to run. Waiting for other threads does not delay it.
    Sporadic,
    /// From the time at which the thread ran (constant bandwidth).
    OnDispatch,
}

/// A scheduling context: at most `budget` of execution in each `period` from the time at which its thread became able to
/// run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    budget: Time,
    period: Time,
    extra_refills: u32,
    replenishment: Replenishment,
}

impl Context {
    /// A context with these parameters. A budget equal to the period is round robin.
    ///
    /// # Errors
    /// If 0 < `budget` <= `period` <= [`Time::LONGEST`] does not hold.
    pub fn new(
        budget: Time,
        period: Time,
        extra_refills: u32,
        replenishment: Replenishment,
    ) -> Result<Self> {
        if budget <= Time::ZERO || budget > period || period > Time::LONGEST {
            let why = format!(
                "a budget of {budget} in {period} is impossible; it must be positive and not above the period, and \
                 that not above {}",
                Time::LONGEST
            );
            return Err(Error::impossible("context", why));
        }
        Ok(Self {
            budget,
            period,
            extra_refills,
            replenishment,
        })
    }

    /// The budget.
    pub fn budget(&self) -> Time {
        self.budget
    }

    /// The period.
    pub fn period(&self) -> Time {
        self.period
    }

    /// When its replenishments count from.
    pub fn replenishment(&self) -> Replenishment {
        self.replenishment
    }

    /// Whether it is a timeslice, which never waits for a replenishment.
    pub fn is_round_robin(&self) -> bool {
        self.budget == self.period
    }

    /// In how many pieces the budget of a period may come.
    pub fn refills(&self) -> u32 {
        self.extra_refills + 2
    }

    /// The most that its threads can execute in a window of this length.
    pub fn most_in(&self, window: Time) -> Time {
        if self.is_round_robin() {
            return window.max(Time::ZERO);
        }
        self.budget * window.max(Time::ZERO).covered_by(self.period)
    }

    /// What a thread surely gets from the time at which it is released until it waits, if each budget is used up at
    /// most `response` after it is there. `kernel` comes off each replenishment: what it takes to enter and leave the
    /// kernel once.
    ///
    /// The list of replenishments is finite. When it is full, the used part of the head delays the last replenishment,
    /// so that both end one period after the use. Two cases differ in how often that can happen:
    ///
    /// - [`Replenishment::Sporadic`]: from the release on, replenishments follow each other without gaps, as if there
    ///   were no preemption, so only gaps from before count. The first head delays the last replenishment once, by up to
    ///   T - C. An ideal server's blackout T + R - 2 C grows to 2 T + R - 3 C; then there is C in each T.
    /// - [`Replenishment::OnDispatch`]: each preemption makes a gap, and while one head is used, the rest of the budget
    ///   can be delayed until a period after its last use. All that was in the list at some time is used up 2 T + 2 R - C
    ///   later. So there is C in each such time.
    ///
    /// # Errors
    /// If nothing is left of the budget, or it may not be used up before the next one is there.
    pub fn supply(&self, response: Time, kernel: Time) -> Result<Recurring> {
        if self.is_round_robin() {
            return Recurring::fixed_slot(self.period, self.period);
        }
        let budget = self.budget - kernel * i128::from(self.refills());
        if budget <= Time::ZERO {
            let why = format!(
                "its budget of {} is used up by {} kernel entries of {kernel} each; use a larger budget or fewer \
                 replenishments",
                self.budget,
                self.refills()
            );
            return Err(Error::impossible("context", why));
        }
        if response > self.period {
            let why = format!(
                "its budget of {} is used up {response} after it is there, but the next one comes after {}; use a \
                 higher priority, a smaller budget or a longer period",
                self.budget, self.period
            );
            return Err(Error::impossible("context", why));
        }
        match self.replenishment {
            _ if fault::is(Fault::FullList) => Recurring::sliding(budget, self.period),
            Replenishment::Sporadic => {
                let blackout = self.period * 2 + response - budget * 3;
                Recurring::new(budget, self.period, blackout)
            }
            Replenishment::OnDispatch => {
                Recurring::fixed_slot(budget, (self.period + response) * 2 - budget)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supply::Supply;

    const fn ms(time: u64) -> Time {
        Time::from_millis(time)
    }

    #[test]
    fn the_longest_blackout_includes_a_delayed_replenishment() {
        let context = Context::new(ms(3), ms(10), 0, Replenishment::Sporadic).unwrap();
        let supply = context.supply(ms(5), Time::ZERO).unwrap();
        assert_eq!(supply.blackout(), ms(20 + 5 - 9));
        let supplied = [16, 17, 19, 26, 27, 29, 39].map(|window| supply.in_window(ms(window)));
        assert_eq!(supplied, [0, 1, 3, 3, 4, 6, 9].map(ms));
    }

    #[test]
    fn dispatched_budgets_may_come_at_half_the_rate() {
        let context = Context::new(ms(3), ms(10), 0, Replenishment::OnDispatch).unwrap();
        let supply = context.supply(ms(5), Time::ZERO).unwrap();
        assert_eq!((supply.period(), supply.blackout()), (ms(27), ms(24)));
    }

    #[test]
    fn kernel_entries_come_off_each_replenishment() {
        let context = Context::new(ms(3), ms(10), 1, Replenishment::Sporadic).unwrap();
        let supply = context.supply(ms(10), Time::from_micros(20)).unwrap();
        assert_eq!(supply.budget(), Time::from_micros(2_940));
        let error = context.supply(ms(10), ms(1)).unwrap_err().to_string();
        assert!(error.contains("used up by 3 kernel entries"), "{error}");
    }

    #[test]
    fn a_budget_that_is_not_used_in_time_is_refused() {
        let context = Context::new(ms(3), ms(10), 0, Replenishment::Sporadic).unwrap();
        let error = context.supply(ms(11), Time::ZERO).unwrap_err().to_string();
        assert!(error.contains("the next one comes after 10 ms"), "{error}");
    }

    #[test]
    fn impossible_budgets_are_refused() {
        for (budget, period) in [(0, 5), (6, 5), (1, u64::MAX / 1_000_000)] {
            Context::new(ms(budget), ms(period), 0, Replenishment::Sporadic).unwrap_err();
        }
    }
}

//! Supply: how much processor time any window of a given length surely contains.

mod table;

pub use table::{TABLE, Table};

use num_traits::{One, Zero};

use crate::fault::{self, Fault};
use crate::{Error, Method, Ratio, Result, Time};

/// Processor time over time, at the least.
pub trait Supply: std::fmt::Debug {
    /// The time that any window of this length contains (the supply bound function).
    fn in_window(&self, window: Time) -> Time;

    /// The length from which on a window contains this much (its pseudo-inverse).
    fn window_for(&self, work: Time) -> Time;

    /// The share in the long run.
    fn rate(&self) -> Ratio;
}

/// A processor of which nothing is missing.
#[derive(Clone, Copy, Debug)]
pub struct Processor;

impl Supply for Processor {
    fn in_window(&self, window: Time) -> Time {
        window.max(Time::ZERO)
    }

    fn window_for(&self, work: Time) -> Time {
        work.max(Time::ZERO)
    }

    fn rate(&self) -> Ratio {
        Ratio::one()
    }
}

/// [`Recurring`] and its sources.
pub const RECURRING: Method = Method {
    name: "supply of a recurring budget",
    source: "Shin and Lee, RTSS 2003; Lipari and Bini, ECRTS 2003",
    assumptions: &[
        "after the longest blackout the budget is there once in each period, at its end",
        "the window begins at the worst time: the last budget came as early, the next comes as late as possible",
    ],
};

/// A budget that is there once in each period, after a blackout.
///
/// The blackout is T - C for a fixed slot, and 2 (T - C) for a budget that may slide within its period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recurring {
    budget: Time,
    period: Time,
    blackout: Time,
}

impl Recurring {
    /// A budget in each period. `blackout` is the longest window without any supply.
    ///
    /// # Errors
    /// If 0 < `budget` <= `period` and `period - budget` <= `blackout` does not hold, or a time is above eight times
    /// [`Time::LONGEST`].
    pub fn new(budget: Time, period: Time, blackout: Time) -> Result<Self> {
        let longest = Time::LONGEST * 8;
        let is_budget = budget > Time::ZERO && budget <= period && period <= longest;
        if is_budget && (period - budget..=longest).contains(&blackout) {
            return Ok(Self {
                budget,
                period,
                blackout,
            });
        }
        let why = format!(
            "a budget of {budget} in each {period} with a blackout of {blackout} is impossible; the budget must be \
             positive and fit into the period, and the blackout cannot be shorter than what is left of that"
        );
        Err(Error::impossible("supply", why))
    }

    /// A slot at a fixed place of a frame.
    ///
    /// # Errors
    /// If 0 < `slot` <= `frame` does not hold.
    pub fn fixed_slot(slot: Time, frame: Time) -> Result<Self> {
        Self::new(slot, frame, frame - slot)
    }

    /// A budget that may slide within its period.
    ///
    /// # Errors
    /// If 0 < `budget` <= `period` does not hold.
    pub fn sliding(budget: Time, period: Time) -> Result<Self> {
        let gaps = if fault::is(Fault::SlidingBudget) {
            1
        } else {
            2
        };
        Self::new(budget, period, (period - budget) * gaps)
    }

    /// The longest window without any supply.
    pub fn blackout(&self) -> Time {
        self.blackout
    }

    /// The budget of each period.
    pub fn budget(&self) -> Time {
        self.budget
    }

    /// The period.
    pub fn period(&self) -> Time {
        self.period
    }
}

impl Supply for Recurring {
    fn in_window(&self, window: Time) -> Time {
        let lit = window - fault::unless(Fault::Blackout, self.blackout);
        if lit <= Time::ZERO {
            return Time::ZERO;
        }
        let periods = lit.whole(self.period);
        self.budget * periods + (lit - self.period * periods).min(self.budget)
    }

    fn window_for(&self, work: Time) -> Time {
        if work <= Time::ZERO {
            return Time::ZERO;
        }
        let periods = work.covered_by(self.budget) - 1;
        fault::unless(Fault::Blackout, self.blackout)
            + self.period * periods
            + (work - self.budget * periods)
    }

    fn rate(&self) -> Ratio {
        self.budget.over(self.period)
    }
}

/// [`Rate`] and its source.
pub const RATE: Method = Method {
    name: "supply at a rate after a delay",
    source: "Mok, Feng and Chen, RTAS 2001 (bounded delay)",
    assumptions: &["the supply never falls behind the rate by more than the delay"],
};

/// At least `share` of the time that a window is longer than `delay`; whole nanoseconds only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    share: (Time, Time),
    delay: Time,
}

impl Rate {
    /// The share `budget` / `period`, after a delay.
    ///
    /// # Errors
    /// If 0 < `budget` <= `period` and 0 <= `delay` does not hold, or one is above [`Time::LONGEST`].
    pub fn new(budget: Time, period: Time, delay: Time) -> Result<Self> {
        let within = |time: Time, least: Time| (least..=Time::LONGEST).contains(&time);
        if budget > Time::ZERO && within(period, budget) && within(delay, Time::ZERO) {
            let share = (budget, period);
            return Ok(Self { share, delay });
        }
        let why = format!("a rate of {budget} in {period} after {delay} is impossible");
        Err(Error::impossible("supply", why))
    }
}

impl Supply for Rate {
    fn in_window(&self, window: Time) -> Time {
        let lit = (window - self.delay).max(Time::ZERO);
        let (budget, period) = self.share;
        Time::of((lit * budget.nanos()).whole(period))
    }

    fn window_for(&self, work: Time) -> Time {
        if work <= Time::ZERO {
            return Time::ZERO;
        }
        let (budget, period) = self.share;
        self.delay + Time::of((work * period.nanos()).covered_by(budget))
    }

    fn rate(&self) -> Ratio {
        let (budget, period) = self.share;
        budget.over(period)
    }
}

/// A rate in parts per million, rounded down; for messages.
pub(crate) fn parts_per_million(rate: &Ratio) -> u64 {
    use num_traits::ToPrimitive;
    let million = Ratio::from_integer(1_000_000.into());
    let parts = (rate * million).max(Ratio::zero());
    parts.to_integer().to_u64().unwrap_or(u64::MAX)
}

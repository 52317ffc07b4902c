//! The search for a least fixed point, which ends.

use crate::supply::{Supply, parts_per_million};
use crate::{Error, Ratio, Result, Time};

/// Steps of one analysis before it is given up.
const MOST_STEPS: u32 = 1_000_000;

/// The effort that is left for one analysis.
pub(crate) struct Search<'a> {
    what: &'a str,
    left: u32,
}

impl<'a> Search<'a> {
    /// For the analysis of `what`.
    pub(crate) fn of(what: &'a str) -> Self {
        Self {
            what,
            left: MOST_STEPS,
        }
    }

    /// Refuses a search that cannot end: all supply is needed, and some of it is missing or used up by blocking.
    pub(crate) fn must_end(&self, rate: &Ratio, blocking: Time, supply: &dyn Supply) -> Result<()> {
        let missing = supply.window_for(Time::of(1)) > Time::of(1) || blocking > Time::ZERO;
        let supplied = supply.rate();
        if *rate > supplied {
            return Err(Error::Overload {
                what: self.what.into(),
                needed: parts_per_million(rate).saturating_add(1),
                supplied: parts_per_million(&supplied),
            });
        }
        if missing && *rate == supplied {
            return Err(Error::NotFound {
                what: self.what.into(),
                reached: Time::HORIZON,
            });
        }
        Ok(())
    }

    /// One more step, at a length of time.
    pub(crate) fn step(&mut self, at: Time) -> Result<()> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 || at > Time::HORIZON {
            return Err(Error::NotFound {
                what: self.what.into(),
                reached: at,
            });
        }
        Ok(())
    }

    /// The least fixed point, from `start` on, of a function that never decreases.
    pub(crate) fn fixed_point(&mut self, start: Time, next: impl Fn(Time) -> Time) -> Result<Time> {
        let mut at = start;
        loop {
            self.step(at)?;
            let then = next(at);
            if then <= at {
                return Ok(at);
            }
            at = then;
        }
    }
}

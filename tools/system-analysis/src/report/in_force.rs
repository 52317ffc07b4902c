//! The part of a run for which its description speaks: a bound follows from the budgets of the description, and a program
//! may change those of its contexts.

use std::collections::BTreeMap;
use std::fmt;

use system_description::System;
use system_description::system::{Context, Time as Given};

use super::{Time, shown};
use crate::time;

/// Parameters that a context has got in a run, as its trace shows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configured {
    /// The component whose context it is.
    pub component: String,
    /// The context, of which a component may have several.
    pub context: usize,
    /// When, since boot.
    pub time: Time,
    /// The budget.
    pub budget: Time,
    /// The period; none of a slice.
    pub period: Time,
}

impl Configured {
    /// Whether these are the parameters of a description: whole microseconds, which the kernel has in ticks.
    fn fits(&self, own: &Context) -> bool {
        let are_one = |seen: Time, described| {
            let distance = (seen - time(described)).nanos().abs();
            distance < Time::from_micros(1).nanos()
        };
        are_one(self.budget, own.budget) && are_one(self.period, own.period)
    }
}

/// The part of a run in which the budgets of its description are in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InForce {
    from: Time,
    until: Option<Time>,
}

impl InForce {
    /// The whole run.
    pub const WHOLE: Self = Self {
        from: Time::ZERO,
        until: None,
    };

    /// The part that begins when each context that gets a budget of the description has got it, and ends when the first of
    /// them gets another one. If that comes back, work may be left from the time between, of which the analysis knows
    /// nothing. A context that never has the budget of its component is one for emergencies, or for an extension.
    pub fn of(system: &System, configured: &[Configured]) -> Self {
        let mut part = Self::WHOLE;
        let mut fit = BTreeMap::new();
        for one in configured {
            let component = (system.components.iter()).find(|known| known.name == one.component);
            let Some(Given::Context(own)) = component.map(|known| known.time) else {
                continue;
            };
            let fits = one.fits(&own);
            match fit.insert(one.context, fits) {
                Some(true) if !fits => {
                    part.until = Some(one.time);
                    break;
                }
                Some(false) if fits => part.from = one.time,
                _ => {}
            }
        }
        part
    }

    /// Whether all of a response lies in it.
    pub fn contains(&self, begin: Time, length: Time) -> bool {
        self.from <= begin && self.until.is_none_or(|until| begin + length <= until)
    }
}

/// As a place in a sentence.
impl fmt::Display for InForce {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the trace")?;
        if self.from > Time::ZERO {
            write!(formatter, " from {}", shown(self.from))?;
        }
        match self.until {
            Some(until) => write!(formatter, " until {}", shown(until)),
            None => Ok(()),
        }
    }
}

//! Where events are missing.

use std::collections::HashMap;

use crate::{Numbered, Trace};

/// A time in which events of a core are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The core.
    pub core: u8,
    /// The number and the time of the last event before; `None` if the first events are missing.
    pub before: Option<(u64, u64)>,
    /// The number and the time of the first event afterwards; `None` if the last events are missing.
    pub after: Option<(u64, u64)>,
}

impl Gap {
    /// Whether it leaves unknown what happened between two times, of which it may have the events as well.
    pub fn touches(&self, from: u64, to: u64) -> bool {
        let begins_before = self.before.is_none_or(|(_, time)| time < to);
        let ends_after = self.after.is_none_or(|(_, time)| time >= from);
        begins_before && ends_after
    }

    /// The number of events that are missing there, if an event follows.
    fn length(&self) -> u64 {
        let first = self.before.map_or(0, |(number, _)| number + 1);
        self.after.map_or(0, |(number, _)| number - first)
    }
}

/// Finds gaps in the numbers of events, which come one after the other.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    last: HashMap<u8, (u64, u64)>,
}

impl Numbers {
    /// The gap before an event, if there is one.
    pub(crate) fn gap_before(&mut self, one: &Numbered) -> Option<Gap> {
        let (core, now) = (one.event.core, (one.number, one.event.time));
        let before = self.last.insert(core, now);
        let expected = before.map_or(0, |(number, _)| number.saturating_add(1));
        (one.number > expected).then_some(Gap {
            core,
            before,
            after: Some(now),
        })
    }
}

/// All gaps of a trace.
pub fn gaps(trace: &Trace) -> Vec<Gap> {
    let mut numbers = Numbers::default();
    let found = trace.events.iter();
    let mut found: Vec<_> = found.filter_map(|one| numbers.gap_before(one)).collect();
    for (&core, lost) in &trace.lost {
        let seen = found.iter().filter(|gap| gap.core == core);
        if lost.all() > seen.map(Gap::length).fold(0, u64::saturating_add) {
            found.push(Gap {
                core,
                before: numbers.last.get(&core).copied(),
                after: None,
            });
        }
    }
    found
}

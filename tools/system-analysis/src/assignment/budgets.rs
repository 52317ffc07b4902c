//! Budgets for jobs.

use std::cmp::Reverse;

use system_description::System;
use system_description::system::{ComponentId, Context, Time};

use super::priorities::is_in_time;
use crate::Figures;
use crate::search::{smallest, with_context};

/// The system in which each job has a budget: its own, or the smallest with which its deadline holds. A job for which
/// there is none stays as it is.
pub(super) fn of(system: &System, figures: &Figures) -> System {
    let mut system = system.clone();
    let mut jobs: Vec<_> = system
        .ids()
        .filter(|id| needs_budget(&system, figures, *id))
        .collect();
    jobs.sort_by_key(|id| Reverse(system[*id].priority));
    for id in jobs {
        let Some(period) = system[id].job.as_ref().and_then(|job| job.period) else {
            continue;
        };
        let core = system[id].core;
        let fits =
            |context: Context| is_in_time(&with_context(&system, id, context), figures, core, id);
        if let Some(found) = smallest(period.as_micros(), fits) {
            system = with_context(&system, id, found);
        }
    }
    system
}

fn needs_budget(system: &System, figures: &Figures, id: ComponentId) -> bool {
    let one = &system[id];
    let has_job = one
        .job
        .as_ref()
        .is_some_and(|job| !job.costs.is_empty() && job.period.is_some());
    let lacks = match one.time {
        Time::Slice(_) => true,
        Time::Context(_) => !is_in_time(system, figures, one.core, id),
        Time::Passive(_) => false,
    };
    has_job && lacks
}

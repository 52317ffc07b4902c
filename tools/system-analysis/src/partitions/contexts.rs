//! Partitions as contexts: each guest has a budget, and what it leaves is for all others.

use system_description::System;
use system_description::system::{ComponentId, Context, DomainId};

use super::Needs;
use crate::analyse::{hopeless, settle};
use crate::model::{Level, Partition};
use crate::report::Verdict;
use crate::search::{smallest, with_context};
use crate::{Figures, guest};

/// A context for each guest.
pub struct Contexts {
    /// The system with them.
    pub system: System,
}

/// A context for each guest, with the smallest share of those that suffice; from the highest priority to the lowest.
pub(super) fn of(system: &System, figures: &Figures, needs: &[Needs]) -> Result<Contexts, String> {
    let mut system = system.clone();
    system.domains = vec![String::new()];
    system.schedule.clear();
    for one in &mut system.components {
        one.domain = DomainId(0);
    }
    if let Some(supervisor) = &mut system.supervisor {
        supervisor.domain = DomainId(0);
    }
    let mut guests: Vec<_> = needs.iter().map(|one| one.component).collect();
    guests.sort_by_key(|id| std::cmp::Reverse(system[*id].priority));
    for id in guests {
        let name = &system[id].name;
        let Some(guest) = &system[id].guest else {
            continue;
        };
        if guest.policy == system_description::file::GuestPolicy::TimeTable {
            return Err(format!(
                "guest `{name}` has a time table, and a budget has no fixed place; use a schedule of domains"
            ));
        }
        let shortest = guest.tasks.iter().map(|task| task.period.as_micros()).min();
        let fits = |context: Context| holds(&system, figures, id, context);
        let Some(context) = smallest(shortest.unwrap_or_default(), fits) else {
            return Err(format!(
                "no budget of guest `{name}` in a part of its shortest period suffices at priority {}; raise the \
                 priority, or shorten what runs before it",
                system[id].priority.unwrap_or_default()
            ));
        };
        system = with_context(&system, id, context);
    }
    Ok(Contexts { system })
}

/// Whether a guest meets its deadlines with a context, and can use all of that.
fn holds(system: &System, figures: &Figures, id: ComponentId, context: Context) -> bool {
    let system = with_context(system, id, context);
    let core = system[id].core;
    let partition = Partition::new(&system, figures, core, DomainId(0), Level::At(0));
    let (Ok(partition), Some(guest)) = (partition, &system[id].guest) else {
        return false;
    };
    let is_own = |member: &crate::model::Member| member.component == Some(id);
    let Some(place) = partition.members.iter().position(is_own) else {
        return false;
    };
    let mut rows = guest::rows(&partition, place, guest, None);
    rows.iter_mut().for_each(settle);
    let is_good = |row: &crate::Row| row.verdict == Verdict::Holds;
    hopeless(&partition, place).is_none() && rows.iter().all(is_good)
}

//! Priorities of the components of one core.

use schedulability::fixed::{audsley, priorities};
use schedulability::model::Priority;
use system_description::System;
use system_description::system::ComponentId;

use crate::Figures;
use crate::analyse::core_rows;
use crate::report::Verdict;

/// The highest priority that is assigned.
const HIGHEST: Priority = Priority(254);

/// The system with priorities with which `core` is in time: those that it has, or, if they may be chosen, others.
pub(super) fn of(
    system: &System,
    figures: &Figures,
    core: u32,
    may_choose: bool,
) -> Option<System> {
    if holds(system, figures, core) {
        return Some(system.clone());
    }
    let own: Vec<_> = system.ids().filter(|id| system[*id].core == core).collect();
    // What a server delays depends on the priorities of all of its callers, so an order cannot be found from below.
    let has_servers = own.iter().any(|id| system[*id].time.is_passive());
    if !may_choose || has_servers {
        return None;
    }
    let with = |higher: &[usize], task: Option<usize>| {
        let mut trial = system.clone();
        for (place, id) in own.iter().enumerate() {
            let priority = match () {
                () if higher.contains(&place) => 3,
                () if task == Some(place) => 2,
                () => 1,
            };
            trial.components[id.0].priority = Some(priority);
        }
        trial
    };
    let found = audsley(own.len(), |task, higher| {
        Ok(is_in_time(
            &with(higher, Some(task)),
            figures,
            core,
            own[task],
        ))
    });
    let order = found.ok()?.value?;
    let mut system = system.clone();
    for (id, priority) in own.iter().zip(priorities(&order, HIGHEST).ok()?) {
        system.components[id.0].priority = Some(priority.0);
    }
    holds(&system, figures, core).then_some(system)
}

/// Whether all deadlines of a core hold.
pub(super) fn holds(system: &System, figures: &Figures, core: u32) -> bool {
    let rows = core_rows(system, figures, core);
    rows.is_ok_and(|rows| rows.iter().all(|row| row.verdict != Verdict::Fails))
}

/// Whether the deadlines of one component hold.
pub(super) fn is_in_time(system: &System, figures: &Figures, core: u32, id: ComponentId) -> bool {
    let name = &system[id].name;
    let inside = format!("{name}/");
    let rows = core_rows(system, figures, core);
    rows.is_ok_and(|rows| {
        let own = |row: &&crate::Row| row.name == *name || row.name.starts_with(&inside);
        rows.iter()
            .filter(own)
            .all(|row| row.verdict != Verdict::Fails)
    })
}

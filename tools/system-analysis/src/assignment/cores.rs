//! Which component runs on which core.

use schedulability::model::{Parameters, Task};
use schedulability::partition::{MOST_EXACT, exact, pack};
use schedulability::{Error, Time};
use system_description::System;
use system_description::system::{self, ComponentId};

use super::Packing;
use crate::time;

/// A way in which cores were assigned.
#[derive(Clone, Copy, Debug)]
pub struct Tried {
    /// The way.
    pub packing: Packing,
    /// Whether all deadlines hold with its result.
    pub is_found: bool,
}

/// Where components are that have no core yet.
const NOWHERE: u32 = u32::MAX;

/// The system with cores, and with priorities of what runs there, if each core holds what it gets.
///
/// `choose` has a system, a core, and the number of cores that will be used; it returns the system with priorities for
/// that core, if what runs there is in time.
///
/// # Errors
/// If utilisations cannot be compared: a sentence.
pub(super) fn of(
    system: &System,
    packing: Packing,
    most: u32,
    choose: &impl Fn(&System, u32, usize) -> Option<System>,
) -> Result<Option<System>, String> {
    if packing == Packing::Described {
        let count = system.cores().len();
        let cores = system.cores().into_iter();
        return Ok(cores
            .into_iter()
            .try_fold(system.clone(), |system, core| choose(&system, core, count)));
    }
    let groups = groups(system);
    let tasks: Result<Vec<_>, _> = groups.iter().map(|group| task(system, group)).collect();
    let tasks = tasks.map_err(|error| error.to_string())?;
    let count = most as usize;
    let with = |placed: &[usize], core: u32| {
        let mut trial = system.clone();
        for (place, group) in groups.iter().enumerate() {
            let core = if placed.contains(&place) {
                core
            } else {
                NOWHERE
            };
            group
                .iter()
                .for_each(|id| trial.components[id.0].core = core);
        }
        trial
    };
    // A core is asked for with its number, because what does not move is on some of them.
    let accepts = |core: usize, placed: &[usize]| {
        let core = u32::try_from(core).unwrap_or(NOWHERE);
        Ok::<_, Error>(choose(&with(placed, core), core, count).is_some())
    };
    let found = match packing {
        Packing::Fit(fit) => pack(&tasks, count, fit, accepts),
        _ if tasks.len() > MOST_EXACT => return Ok(None),
        _ => {
            // What stays makes a core different from others.
            let rest = with(&[], NOWHERE);
            let has_more = |core: usize| rest.cores().iter().any(|used| *used as usize == core);
            exact(&tasks, count, |core| !has_more(core), accepts)
        }
    };
    let Some(found) = found.map_err(|error| error.to_string())?.value else {
        return Ok(None);
    };
    let mut assigned = system.clone();
    for (group, core) in groups.iter().zip(found) {
        let core = u32::try_from(core).unwrap_or(NOWHERE);
        group
            .iter()
            .for_each(|id| assigned.components[id.0].core = core);
    }
    let cores = assigned.cores();
    Ok(cores
        .into_iter()
        .try_fold(assigned, |system, core| choose(&system, core, count)))
}

/// The components that can move, in groups that stay together: with the passive servers that they call.
fn groups(system: &System) -> Vec<Vec<ComponentId>> {
    // Each component's group has the number of one of its members.
    let mut group: Vec<usize> = (0..system.components.len()).collect();
    for id in system.ids() {
        for call in &system[id].calls {
            let server = system[call.to].server;
            if system[server].time.is_passive() {
                let (one, other) = (group[id.0], group[server.0]);
                group
                    .iter_mut()
                    .filter(|of| **of == other)
                    .for_each(|of| *of = one);
            }
        }
    }
    let mut groups = vec![Vec::new(); group.len()];
    for id in system.ids() {
        groups[group[id.0]].push(id);
    }
    groups.retain(|members: &Vec<ComponentId>| {
        let stays = |id: &ComponentId| {
            let one = &system[*id];
            !one.devices.is_empty() || !one.interrupts.is_empty()
        };
        let has_time = |id: &ComponentId| !system[*id].time.is_passive();
        !members.is_empty() && members.iter().any(has_time) && !members.iter().any(stays)
    });
    groups
}

/// A group as one task, of which only the utilisation counts.
fn task(system: &System, group: &[ComponentId]) -> Result<Task, Error> {
    const WHOLE: i128 = 1_000_000;
    let share = |id: &ComponentId| {
        let one = &system[*id];
        let cost = one
            .job
            .as_ref()
            .and_then(|job| job.costs.iter().max().copied());
        match (cost, one.job.as_ref().and_then(|job| job.period), one.time) {
            (Some(cost), Some(period), _) => (time(cost) * WHOLE).covered_by(time(period)),
            (_, _, system::Time::Context(context)) => {
                (time(context.budget) * WHOLE).covered_by(time(context.period))
            }
            _ => 0,
        }
    };
    let share: i128 = group.iter().map(share).sum();
    let name = group.first().map_or("", |id| &*system[*id].name);
    // More than a whole core is refused later, with the reason.
    let cost = u64::try_from(share.clamp(1, WHOLE)).unwrap_or(1);
    Task::new(Parameters::new(
        name,
        Time::from_nanos(cost),
        Time::from_nanos(WHOLE as u64),
    ))
}

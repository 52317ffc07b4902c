//! Which component runs on which core.

use std::cell::Cell;

use schedulability::model::{Parameters, Task};
use schedulability::partition::{MOST_EXACT, exact, pack};
use schedulability::{Error, Time};
use system_description::System;
use system_description::system::{self, Component, ComponentId};

use super::Packing;
use crate::time;

/// Where components are that have no core yet.
const NOWHERE: u32 = u32::MAX;

/// Trials of a core after which a search is given up.
const MOST_TRIALS: u32 = 2_000;

/// The result of a packing.
pub(super) enum Packed {
    /// The system with cores, and with priorities of what runs there.
    Found(Box<System>),
    /// A component found no core.
    Nothing,
    /// The search was given up.
    GivenUp,
}

/// Whether a component stays on its core: its devices and interrupts belong to that.
fn stays(one: &Component) -> bool {
    !one.devices.is_empty() || !one.interrupts.is_empty()
}

/// Puts a group on a core.
fn put(system: &mut System, group: &[ComponentId], core: u32) {
    for id in group {
        system.components[id.0].core = core;
    }
}

/// Refuses a number of cores on which what stays where it is has no place.
pub(super) fn require(system: &System, most: usize) -> Result<(), String> {
    let is_beyond = |id: &ComponentId| stays(&system[*id]) && system[*id].core as usize >= most;
    match system.ids().find(is_beyond) {
        Some(id) => Err(format!(
            "`{}` has devices or interrupts and stays on core {}, which is not among {most} cores; use `--cores {}`",
            system[id].name,
            system[id].core,
            system[id].core + 1
        )),
        None => Ok(()),
    }
}

/// How many cores are used if components are packed onto `count`: those, and the cores of what stays.
pub(super) fn used(system: &System, count: usize) -> usize {
    let packed = (0..).take(count);
    let mut cores: Vec<u32> = packed.chain(staying(system)).collect();
    cores.sort_unstable();
    cores.dedup();
    cores.len()
}

/// The cores of what stays: components that do not move, the supervisor, and interrupts.
fn staying(system: &System) -> Vec<u32> {
    let mut rest = system.clone();
    for group in groups(system) {
        put(&mut rest, &group, NOWHERE);
    }
    let interrupts = system.interrupts.iter().map(|rate| rate.core);
    let mut cores: Vec<_> = rest.cores().into_iter().chain(interrupts).collect();
    cores.retain(|core| *core != NOWHERE);
    cores
}

/// Packs components onto `count` cores.
///
/// `choose` has a system and a core; it returns the system with priorities for that core, if what runs there is in time.
///
/// # Errors
/// If utilisations cannot be compared: a sentence.
pub(super) fn of(
    system: &System,
    packing: Packing,
    count: usize,
    choose: &impl Fn(&System, u32) -> Option<System>,
) -> Result<Packed, String> {
    if packing == Packing::Described {
        return Ok(chosen(system.clone(), choose));
    }
    let groups = groups(system);
    let tasks: Result<Vec<_>, _> = groups.iter().map(|group| task(system, group)).collect();
    let tasks = tasks.map_err(|error| error.to_string())?;
    let with = |placed: &[usize], core: u32| {
        let mut trial = system.clone();
        for (place, group) in groups.iter().enumerate() {
            let core = if placed.contains(&place) {
                core
            } else {
                NOWHERE
            };
            put(&mut trial, group, core);
        }
        trial
    };
    let trials = Cell::new(0);
    let accepts = |core: usize, placed: &[usize]| {
        trials.set(trials.get() + 1);
        if trials.get() > MOST_TRIALS {
            let what = "an assignment to cores".into();
            return Err(Error::NotFound {
                what,
                reached: Time::ZERO,
            });
        }
        let core = u32::try_from(core).unwrap_or(NOWHERE);
        Ok(choose(&with(placed, core), core).is_some())
    };
    let found = match packing {
        Packing::Fit(fit) => pack(&tasks, count, fit, accepts),
        _ if tasks.len() > MOST_EXACT => return Ok(Packed::GivenUp),
        _ => {
            // What stays makes a core different from others.
            let different = staying(system);
            let is_plain = |core: usize| !different.iter().any(|other| *other as usize == core);
            exact(&tasks, count, is_plain, accepts)
        }
    };
    let found = match found {
        Ok(found) => found.value,
        Err(Error::NotFound { .. }) => return Ok(Packed::GivenUp),
        Err(error) => return Err(error.to_string()),
    };
    let Some(found) = found else {
        return Ok(Packed::Nothing);
    };
    let mut assigned = system.clone();
    for (group, core) in groups.iter().zip(found) {
        put(&mut assigned, group, u32::try_from(core).unwrap_or(NOWHERE));
    }
    Ok(chosen(assigned, choose))
}

/// The system with priorities for all of its cores.
fn chosen(system: System, choose: &impl Fn(&System, u32) -> Option<System>) -> Packed {
    let cores = system.cores();
    let found = cores
        .into_iter()
        .try_fold(system, |system, core| choose(&system, core));
    found.map_or(Packed::Nothing, |system| Packed::Found(Box::new(system)))
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
                let members = group.iter_mut().filter(|of| **of == other);
                members.for_each(|of| *of = one);
            }
        }
    }
    let mut groups = vec![Vec::new(); group.len()];
    for id in system.ids() {
        groups[group[id.0]].push(id);
    }
    groups.retain(|members: &Vec<ComponentId>| {
        let has_time = |id: &ComponentId| !system[*id].time.is_passive();
        members.iter().any(has_time) && !members.iter().any(|id| stays(&system[*id]))
    });
    groups
}

/// A group as one task, of which only the utilisation counts.
fn task(system: &System, group: &[ComponentId]) -> Result<Task, Error> {
    const PARTS: u64 = 1_000_000;
    let share = |id: &ComponentId| {
        let one = &system[*id];
        let cost = one
            .job
            .as_ref()
            .and_then(|job| job.costs.iter().max().copied());
        let period = one.job.as_ref().and_then(|job| job.period);
        let (used, period) = match (cost, period, one.time) {
            (_, _, system::Time::Passive(_)) => return 0,
            (Some(cost), Some(period), _) => (time(cost), time(period)),
            (_, _, system::Time::Context(context)) => (time(context.budget), time(context.period)),
            (_, _, system::Time::Slice(_)) => return 0,
        };
        if period == Time::ZERO {
            return 0;
        }
        (used * i128::from(PARTS)).covered_by(period)
    };
    let share: i128 = group.iter().map(share).sum();
    let name = group.first().map_or("", |id| &*system[*id].name);
    // What is more than a whole core is refused later, with the reason.
    let cost = u64::try_from(share).unwrap_or(PARTS).clamp(1, PARTS);
    let [cost, period] = [cost, PARTS].map(Time::from_nanos);
    Task::new(Parameters::new(name, cost, period))
}

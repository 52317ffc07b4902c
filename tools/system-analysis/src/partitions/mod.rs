//! Partitions for guests: what each guest needs from outside, the schedule of domains that gives it, and the contexts
//! that do, with which no time is wasted.

mod contexts;
mod html;
mod json;
mod schedule;
mod text;

use schedulability::guests::{self, Interface, Policy, Proxy, Slots};
use schedulability::model::{Parameters, Task};
use schedulability::{Error, Time};
use system_description::System;
use system_description::file::GuestPolicy;
use system_description::system::{ComponentId, Guest};

pub use contexts::Contexts;
pub use schedule::Schedule;

use crate::model::prioritised;
use crate::{Figures, time};

/// The parts of a guest's shortest period that are tried as the period of its interface.
const PARTS: u32 = 8;

/// What a guest needs, by formula and by exact analysis.
pub struct Needs {
    /// The component of the guest.
    pub component: ComponentId,
    /// Its tasks' share of the processor, in parts per million, rounded up.
    pub used: i128,
    /// Its proxy, for fixed slots and for sliding budgets; none if the formula does not apply or asks for too much.
    pub proxies: [Option<Proxy>; 2],
    /// Its smallest interface, for both; none for guests with a time table, or if the processor is too slow.
    pub interfaces: [Option<Interface>; 2],
}

/// What is known about the guests of a system.
pub struct Partitions {
    /// The system, with priorities.
    system: System,
    /// What a switch to a guest takes from its turn.
    switch: Time,
    /// Each guest.
    pub needs: Vec<Needs>,
    /// Turns of domains; or why there are none, in a sentence.
    pub schedule: Result<Schedule, String>,
    /// Contexts; or why there are none, in a sentence.
    pub contexts: Result<Contexts, String>,
}

/// Finds partitions for the guests of a system.
///
/// # Errors
/// If there are no guests, or a guest is impossible: a sentence.
pub fn partitions(system: &System, figures: &Figures) -> Result<Partitions, String> {
    let system = prioritised(system)?;
    let cores = system.cores().len();
    let switch = figures.section(cores) + figures.switch();
    let needs = system.ids().filter_map(|id| {
        let guest = system[id].guest.as_ref()?;
        Some(needs(id, guest, switch).map_err(|error| format!("{}: {error}", system[id].name)))
    });
    let needs: Vec<_> = needs.collect::<Result<_, _>>()?;
    if needs.is_empty() {
        return Err("no component has a guest; add `guest`".into());
    }
    let schedule = schedule::of(&system, figures, switch, &needs);
    let contexts = contexts::of(&system, figures, &needs);
    Ok(Partitions {
        system,
        switch,
        needs,
        schedule,
        contexts,
    })
}

impl Partitions {
    /// As text.
    pub fn text(&self) -> String {
        text::of(self)
    }

    /// As one HTML page without references to anything else.
    pub fn html(&self) -> String {
        html::of(self)
    }

    /// As JSON; times are in nanoseconds.
    pub fn json(&self) -> String {
        json::of(self)
    }

    /// Whether all guests have a partition.
    pub fn holds(&self) -> bool {
        self.schedule_holds() || self.contexts.is_ok()
    }

    /// Whether all guests are in time in their turns of domains.
    fn schedule_holds(&self) -> bool {
        let schedule = self.schedule.as_ref();
        schedule.is_ok_and(|found| found.misses.is_empty())
    }
}

/// A guest's tasks, for the analyses.
pub(crate) fn tasks(guest: &Guest) -> Result<Vec<Task>, Error> {
    let task = |task: &system_description::system::GuestTask| {
        Task::new(Parameters {
            deadline: time(task.deadline),
            offset: time(task.offset),
            ..Parameters::new(&*task.name, time(task.cost), time(task.period))
        })
    };
    guest.tasks.iter().map(task).collect()
}

/// How a guest chooses among its tasks, unless it has a table.
fn policy(guest: &Guest) -> Option<Policy> {
    match guest.policy {
        GuestPolicy::RateMonotonic => Some(Policy::RateMonotonic),
        GuestPolicy::Edf => Some(Policy::Edf),
        GuestPolicy::TimeTable => None,
    }
}

fn needs(component: ComponentId, guest: &Guest, switch: Time) -> Result<Needs, Error> {
    let tasks = tasks(guest)?;
    let both = [Slots::Fixed, Slots::Sliding];
    let proxies = match guest.policy {
        GuestPolicy::RateMonotonic => both.map(|slots| {
            guests::proxy(&tasks, slots)
                .ok()
                .and_then(|found| found.value)
        }),
        _ => [None; 2],
    };
    let mut interfaces = [None; 2];
    if let Some(policy) = policy(guest) {
        for (found, slots) in interfaces.iter_mut().zip(both) {
            *found = guests::smallest_interface(&tasks, policy, slots, switch, PARTS)?.value;
        }
    }
    let used = |task: &Task| (task.cost() * 1_000_000).covered_by(task.period());
    Ok(Needs {
        component,
        used: tasks.iter().map(used).sum(),
        proxies,
        interfaces,
    })
}

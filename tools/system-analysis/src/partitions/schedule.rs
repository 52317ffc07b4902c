//! The schedule of domains: a super-schedule of the guests' tables and slots.

use abi::config::{MOST_DOMAINS, MOST_TURNS};
use schedulability::Time;
use schedulability::guests::{Slots, smallest_budget};
use schedulability::tables::{
    Limits, LocalTable, TimeTable, check_super_schedule, enclose, synthesise,
};
use system_description::system::{self, DomainId, Guest, Turn};
use system_description::{Duration, System};

use super::{Needs, policy, tasks};
use crate::report::Verdict;
use crate::{Figures, analyse, time};

/// The domain of components that have no guest.
const REST: &str = "rest";

/// Turns that are multiples of the description's smallest duration.
const GRID: Time = Time::from_micros(1);

/// A schedule of domains, one for each guest.
pub struct Schedule {
    /// The system with it: domains, turns, phases, and the guests' components with all of their turns.
    pub system: System,
    /// The rows of the analysis that do not hold.
    pub misses: Vec<String>,
}

/// The turns of all guests; what is free is for the other components, or else for the guest before.
pub(super) fn of(
    system: &System,
    figures: &Figures,
    switch: Time,
    needs: &[Needs],
) -> Result<Schedule, String> {
    let say = |error: schedulability::Error| error.to_string();
    let has_rest = system.components.len() > needs.len();
    if needs.len() + usize::from(has_rest) > MOST_DOMAINS {
        return Err(format!(
            "there are {} guests{}, and the kernel has {MOST_DOMAINS} domains; use contexts, or put guests together",
            needs.len(),
            if has_rest {
                " beside other components"
            } else {
                ""
            }
        ));
    }
    if system.cores().len() > 1 {
        return Err(
            "turns are the same on all cores; put the guests on one core, or use contexts".into(),
        );
    }
    let mut locals = Vec::new();
    for one in needs {
        let component = &system[one.component];
        let Some(guest) = &component.guest else {
            continue;
        };
        let given = match component.time {
            system::Time::Context(context) => Some(time(context.period)),
            _ => None,
        };
        let section = figures.section(1);
        locals.push(local(&component.name, guest, given, switch, section)?);
    }
    let found = enclose(&locals, MOST_TURNS).map_err(say)?.value;
    check_super_schedule(&locals, &found).map_err(say)?;
    let mut table = TimeTable::default();
    for turn in &found.table.turns {
        let before = table.turns.last().and_then(|last| last.owner);
        let owner = match has_rest {
            true => Some(turn.owner.map_or(0, |owner| owner + 1)),
            false => turn.owner.or(before),
        };
        table.add(owner, turn.length);
    }
    let mut system = system.clone();
    system.domains = needs
        .iter()
        .map(|one| system[one.component].name.clone())
        .collect();
    if has_rest {
        let taken = system.domains.iter().any(|name| name == REST);
        let name = if taken { "other-components" } else { REST };
        system.domains.insert(0, name.into());
    }
    for one in &mut system.components {
        one.domain = DomainId(0);
    }
    if let Some(supervisor) = &mut system.supervisor {
        supervisor.domain = DomainId(0);
    }
    for (place, one) in needs.iter().enumerate() {
        let component = &mut system.components[one.component.0];
        component.domain = DomainId(place + usize::from(has_rest));
        component.time = system::Time::Slice(Duration::from_millis(1_000));
        if let Some(guest) = &mut component.guest {
            guest.phase = duration(found.phases[place]);
        }
    }
    system.schedule = (table.turns.iter())
        .filter_map(|turn| {
            Some(Turn {
                domain: DomainId(turn.owner?),
                duration: duration(turn.length),
            })
        })
        .collect();
    let report = analyse(&system, figures).map_err(|problems| problems.join("; "))?;
    let misses = report
        .rows
        .iter()
        .filter(|row| row.verdict == Verdict::Fails)
        .map(|row| row.name.clone())
        .collect();
    Ok(Schedule { system, misses })
}

/// A time in whole microseconds that is not negative.
fn duration(time: Time) -> Duration {
    Duration::from_nanos(u64::try_from(time.nanos()).unwrap_or_default())
}

fn up(time: Time) -> Time {
    GRID * time.covered_by(GRID)
}

/// The table of a time-driven guest; or one slot in each period, with what the kernel takes from it.
fn local(
    name: &str,
    guest: &Guest,
    given: Option<Time>,
    switch: Time,
    section: Time,
) -> Result<LocalTable, String> {
    let say = |error: schedulability::Error| format!("guest `{name}`: {error}");
    let tasks = tasks(guest).map_err(say)?;
    let Some(policy) = policy(guest) else {
        let limits = Limits {
            grid: GRID,
            lost: switch,
            turns: usize::MAX,
        };
        let table = synthesise(&tasks, &limits).map_err(say)?.value;
        schedulability::tables::check(&tasks, &table, switch).map_err(say)?;
        return Ok(LocalTable {
            name: name.into(),
            period: table.frame(),
            windows: table.windows(),
        });
    };
    let shortest = tasks
        .iter()
        .map(|task| task.period())
        .min()
        .unwrap_or_default();
    let period = given.unwrap_or(shortest);
    let period = GRID * period.whole(GRID);
    let found = smallest_budget(&tasks, policy, Slots::Fixed, period).map_err(say)?;
    let Some(found) = found.value else {
        return Err(format!(
            "guest `{name}`: no slot in each {period} suffices for its tasks; shorten the period or the tasks"
        ));
    };
    let length = up(found.budget + switch + section);
    Ok(LocalTable {
        name: name.into(),
        period,
        windows: vec![(Time::ZERO, length)],
    })
}

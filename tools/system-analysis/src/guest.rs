//! The tasks of guests, on what their component surely gets.

use schedulability::fixed::{
    Interference, RESPONSE_TIME, Residual, blocked, budget_response, interference, rate_monotonic,
    response_time,
};
use schedulability::supply::Supply;
use schedulability::tables::in_turns;
use schedulability::{Error, Time, edf};
use system_description::file::GuestPolicy;
use system_description::system::Guest;

use crate::analyse::{curve, empty, part, settle};
use crate::model::Partition;
use crate::partitions::tasks;
use crate::report::{Kind, Row, Source};
use crate::time;

/// The turns of a schedule: how long each is, and whether it is the guest's; and what the kernel takes of each.
pub(crate) type Turns = (Vec<(Time, bool)>, Time);

pub(crate) fn rows(
    partition: &Partition,
    place: usize,
    guest: &Guest,
    turns: Option<&Turns>,
) -> Vec<Row> {
    let row = |name: &str, deadline| {
        let whole = empty(partition, place, 0);
        Row {
            name: format!("{}/{name}", whole.name),
            kind: Kind::Guest,
            deadline: Some(deadline),
            ..whole
        }
    };
    let mut rows: Vec<_> = guest
        .tasks
        .iter()
        .map(|task| row(&task.name, time(task.deadline)))
        .collect();
    let result = match guest.policy {
        GuestPolicy::TimeTable => replay(partition, place, guest, turns, &mut rows),
        _ => fill(partition, place, guest, &mut rows),
    };
    if let Err(error) = result {
        for row in &mut rows {
            row.note = format!("{error}.");
        }
    }
    rows
}

/// A guest with a time table runs in the turns of its domain, which it has for itself.
fn replay(
    partition: &Partition,
    place: usize,
    guest: &Guest,
    turns: Option<&Turns>,
    rows: &mut [Row],
) -> Result<(), Error> {
    let refuse = |why: String| {
        Err(Error::NotApplicable {
            method: "replay of a time table",
            why,
        })
    };
    let Some((turns, lost)) = turns else {
        let why = "there is no schedule of domains; `cargo xtask analyse guests` proposes one";
        return refuse(why.into());
    };
    if partition.core.threads()[place].context.is_some() {
        let why =
            "its component has a budget, which ends at other times than turns; give it a slice";
        return refuse(why.into());
    }
    let others = partition.members.iter().enumerate();
    if let Some((_, other)) = others.into_iter().find(|(other, _)| *other != place) {
        let why = format!(
            "`{}` runs in its domain, too; give the guest its own",
            other.name
        );
        return refuse(why);
    }
    let found = in_turns(&tasks(guest)?, time(guest.phase), turns, *lost)?;
    for (row, bound) in rows.iter_mut().zip(found.value) {
        row.bound = Some(bound);
        row.method = Some(found.method);
        settle(row);
    }
    Ok(())
}

fn fill(partition: &Partition, place: usize, guest: &Guest, rows: &mut [Row]) -> Result<(), Error> {
    let core = &partition.core;
    let thread = &core.threads()[place];
    let (_, others) = interference(core, place);
    let supply: Box<dyn Supply> = match thread.context {
        Some(context) => {
            let used_up = budget_response(core, place, &*partition.supply)?
                .value
                .bound;
            Box::new(context.supply(used_up, core.kernel())?)
        }
        None => Box::new(Residual::new(
            &*partition.supply,
            others,
            blocked(core, place)?,
        )?),
    };
    let tasks = tasks(guest)?;
    match guest.policy {
        GuestPolicy::TimeTable => {}
        GuestPolicy::RateMonotonic => {
            let order = rate_monotonic(&tasks).value;
            for (rank, own) in order.iter().enumerate() {
                let higher: Vec<_> = order[..rank]
                    .iter()
                    .map(|other| Interference::of(&tasks[*other]))
                    .collect();
                let row = &mut rows[*own];
                match response_time(&tasks[*own], &higher, Time::ZERO, &*supply) {
                    Ok(found) => {
                        let response = found.value;
                        row.bound = Some(response.bound);
                        row.parts.push(part(Source::Own, "", response.own));
                        for (other, time) in order.iter().zip(&response.interference) {
                            row.parts
                                .push(part(Source::Interference, tasks[*other].name(), *time));
                        }
                        row.parts.push(part(
                            Source::Blackout,
                            "outside of the guest's time",
                            response.missing,
                        ));
                        if response.arrived == Time::ZERO {
                            row.curve = curve(row, response.own, &higher, &*supply);
                        }
                    }
                    Err(error) => row.note = format!("{error}."),
                }
                row.method = Some(&RESPONSE_TIME);
                settle(row);
            }
        }
        GuestPolicy::Edf => {
            let bounds = edf::response_times(&tasks, &*supply)?;
            for (row, bound) in rows.iter_mut().zip(bounds.value) {
                row.bound = Some(bound);
                row.method = Some(bounds.method);
                settle(row);
            }
        }
    }
    Ok(())
}

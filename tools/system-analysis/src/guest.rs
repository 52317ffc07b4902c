//! The tasks of guests, on what their component surely gets.

use schedulability::fixed::{
    Interference, RESPONSE_TIME, Residual, blocked, budget_response, interference, rate_monotonic,
    response_time,
};
use schedulability::model::{Parameters, Task};
use schedulability::supply::Supply;
use schedulability::{Error, Time, edf};
use system_description::file::GuestPolicy;
use system_description::system::Guest;

use crate::analyse::{curve, empty, part, settle};
use crate::model::Partition;
use crate::report::{Kind, Row, Source};
use crate::time;

pub(crate) fn rows(partition: &Partition, place: usize, guest: &Guest) -> Vec<Row> {
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
    if let Err(error) = fill(partition, place, guest, &mut rows) {
        for row in &mut rows {
            row.note = format!("{error}.");
        }
    }
    rows
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
        None => Box::new(Residual::new(others, blocked(core, place)?)?),
    };
    let tasks = guest.tasks.iter().map(|task| {
        let mut parameters = Parameters::new(&*task.name, time(task.cost), time(task.period));
        parameters.deadline = time(task.deadline);
        Task::new(parameters)
    });
    let tasks: Vec<_> = tasks.collect::<Result<_, _>>()?;
    match guest.policy {
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

//! Whether a table gives all jobs and guests their time. Nothing here is shared with what makes tables: it only adds up turns.

use super::{LocalTable, SuperSchedule, TimeTable};
use crate::model::Task;
use crate::{Error, Method, Result, Time};

/// [`check`] and its source.
pub const CHECK: Method = Method {
    name: "check of a time table",
    source: "definition",
    assumptions: &[
        "jobs are released at the same times of every frame, and take their costs",
        "a switch takes its time from the turn that begins; the first turn of a frame begins with one, too",
    ],
};

/// The time that an owner gets from the start of the table up to a time, however many frames later.
fn served(table: &TimeTable, owner: usize, lost: Time, until: Time) -> Time {
    let within = |until: Time| {
        let (mut at, mut sum, mut before) = (Time::ZERO, Time::ZERO, None);
        for turn in &table.turns {
            if turn.owner == Some(owner) {
                let lost = if before == turn.owner {
                    Time::ZERO
                } else {
                    lost
                };
                let end = (at + turn.length).min(until);
                sum += (end - at - lost).max(Time::ZERO);
            }
            before = turn.owner;
            at += turn.length;
        }
        sum
    };
    let frames = until.whole(table.frame());
    within(table.frame()) * frames + within(until - table.frame() * frames)
}

fn refuse(why: String) -> Result<()> {
    Err(Error::impossible("time table", why))
}

/// Turns are there, and none is empty.
fn check_form(table: &TimeTable, owners: usize) -> Result<()> {
    if table.turns.is_empty() {
        return refuse("it has no turns".into());
    }
    for (place, turn) in table.turns.iter().enumerate() {
        if turn.length <= Time::ZERO {
            return refuse(format!("turn {place} has a length of {}", turn.length));
        }
        if let Some(owner) = turn.owner.filter(|owner| *owner >= owners) {
            return refuse(format!(
                "turn {place} is for number {owner}, and there are {owners}"
            ));
        }
    }
    Ok(())
}

/// Whether every job gets its cost between its release and its deadline, if each turn loses `lost` at its begin. The
/// owners of the turns are the tasks.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(tasks: &[Task], table: &TimeTable, lost: Time) -> Result<()> {
    check_form(table, tasks.len())?;
    let frame = table.frame();
    for (owner, task) in tasks.iter().enumerate() {
        let (name, period) = (task.name(), task.period());
        if frame.nanos() % period.nanos() != 0 {
            return refuse(format!(
                "its frame of {frame} is no multiple of the period of {period} of task `{name}`"
            ));
        }
        if task.deadline() > period {
            return refuse(format!("the deadline of task `{name}` is above its period"));
        }
        for job in 0..frame.whole(period) {
            let release = period * job + task.parameters().offset;
            let due = release + task.deadline();
            let got = served(table, owner, lost, due) - served(table, owner, lost, release);
            if got < task.cost() {
                return refuse(format!(
                    "the job of task `{name}` that is released at {release} gets {got} of {} up to {due}",
                    task.cost()
                ));
            }
        }
    }
    Ok(())
}

/// Whether every window of every local table is a guest's own.
///
/// # Errors
/// The first thing that is wrong.
pub fn check_super_schedule(guests: &[LocalTable], found: &SuperSchedule) -> Result<()> {
    let table = &found.table;
    check_form(table, guests.len())?;
    if found.phases.len() != guests.len() {
        return refuse(format!(
            "it has {} phases for {} guests",
            found.phases.len(),
            guests.len()
        ));
    }
    let frame = table.frame();
    for (owner, (guest, phase)) in guests.iter().zip(&found.phases).enumerate() {
        if frame.nanos() % guest.period.nanos() != 0 {
            return refuse(format!(
                "its frame of {frame} is no multiple of the period of {} of guest `{}`",
                guest.period, guest.name
            ));
        }
        for count in 0..frame.whole(guest.period) {
            for (begin, length) in &guest.windows {
                let begin = guest.period * count + *phase + *begin;
                let end = begin + *length;
                let got =
                    served(table, owner, Time::ZERO, end) - served(table, owner, Time::ZERO, begin);
                if got != *length {
                    return refuse(format!(
                        "the window of guest `{}` from {begin} to {end} has {got} of its own",
                        guest.name
                    ));
                }
            }
        }
    }
    Ok(())
}

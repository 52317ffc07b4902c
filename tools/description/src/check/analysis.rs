//! What only an analysis needs: user-level schedulers, guests, the rates of interrupts, times of servers.

use super::components::{name, number};
use super::{Draft, unknown};
use crate::file::{self, At, GuestPolicy};
use crate::report::{Diagnostic, Kind, Report};
use crate::system::{Guest, GuestTask, InterruptRate, Scheduler, SchedulerId};
use crate::units::Duration;

/// A duration that is not zero.
fn positive(value: &At<Duration>, what: &str, report: &mut Report) -> bool {
    if **value > Duration::ZERO {
        return true;
    }
    let message = format!("the {what} is zero");
    let help = "write how long it is at least or at most";
    report.add(Diagnostic::error(Kind::OutOfRange, &value.span, message).help(help));
    false
}

/// The user-level schedulers. Each core has at most one.
pub(super) fn schedulers(draft: &mut Draft, report: &mut Report) {
    let most = i64::from(draft.platform.cores) - 1;
    for (called, one) in &draft.file.scheduler.0 {
        name(called, "scheduler", report);
        let mut cores = Vec::new();
        let listed = one.cores.as_ref().map(|cores| &cores.value[..]);
        if let Some(list) = one.cores.as_ref().filter(|list| list.is_empty()) {
            let message = format!("scheduler `{}` has no core", **called);
            let help = "name its cores, or remove `cores` for core 0";
            report.add(Diagnostic::error(Kind::MissingKey, &list.span, message).help(help));
        }
        for core in listed.unwrap_or_default() {
            let Some(number) = number(Some(core), 0..=most, "core of this platform", report) else {
                continue;
            };
            let number = number as u32;
            let earlier = &draft.system.schedulers;
            let other = earlier.iter().find(|one| one.cores.contains(&number));
            if cores.contains(&number) || other.is_some() {
                let message = match other {
                    Some(other) => format!(
                        "core {number} belongs to scheduler `{}` already",
                        other.name
                    ),
                    None => format!("core {number} is named twice"),
                };
                let help = "a core has one scheduler; put its components under that one";
                report.add(Diagnostic::error(Kind::Duplicate, &core.span, message).help(help));
                continue;
            }
            cores.push(number);
        }
        if one.cores.is_none() {
            let other = draft
                .system
                .schedulers
                .iter()
                .find(|one| one.cores.contains(&0));
            if let Some(other) = other {
                let message = format!("core 0 belongs to scheduler `{}` already", other.name);
                let help = "add `cores = [...]`, or put its components under that one";
                report.add(Diagnostic::error(Kind::Duplicate, &called.span, message).help(help));
            }
            cores.push(0);
        }
        draft.system.schedulers.push(Scheduler {
            name: called.value.clone(),
            policy: *one.policy,
            cores,
            decision: *one.decision,
        });
    }
}

/// The scheduler of a component.
pub(super) fn scheduler_of(
    draft: &Draft,
    called: &At<String>,
    one: &file::Component,
    report: &mut Report,
) -> Option<SchedulerId> {
    let written = one.scheduler.as_ref()?;
    let known: Vec<_> = draft
        .system
        .schedulers
        .iter()
        .map(|one| &*one.name)
        .collect();
    let Some(place) = known.iter().position(|known| *known == **written) else {
        report.add(unknown("scheduler", written, "", &known));
        return None;
    };
    let job = one.job.as_ref();
    let is_known = job.is_some_and(|job| {
        let has_period = job.period.is_some() || job.arrivals.is_some() || one.period.is_some();
        job.cost.is_some() && has_period
    });
    if !is_known && draft.is_complete(called) {
        let message = format!(
            "scheduler `{}` runs jobs, and `{}` has none",
            **written, **called
        );
        let help = "add `job = { cost = \"...\", period = \"...\" }`";
        report.add(Diagnostic::error(Kind::MissingKey, &written.span, message).help(help));
    }
    Some(SchedulerId(place))
}

/// The guest of a component.
pub(super) fn guest(one: &file::Component, report: &mut Report) -> Option<Guest> {
    let written = one.guest.as_ref()?;
    let mut conflict = |message: &str, help: &str| {
        report.add(Diagnostic::error(Kind::Conflict, &written.span, message).help(help));
    };
    if one.passive.as_ref().is_some_and(|passive| **passive) {
        conflict(
            "a guest needs time of its own",
            "remove `passive`, and add `budget` and `period`",
        );
    }
    if one.job.is_some() {
        conflict(
            "a component has either a job or a guest",
            "make the job a task of the guest",
        );
    }
    if written.task.0.is_empty() {
        conflict(
            "the guest has no tasks",
            "add `task.NAME = { cost = \"...\", period = \"...\" }`",
        );
    }
    let policy = *written.policy;
    let is_table = policy == GuestPolicy::TimeTable;
    if let Some(phase) = written.phase.as_ref().filter(|_| !is_table) {
        only_in_tables("phase", phase, report);
    }
    let mut tasks = Vec::new();
    for (called, task) in &written.task.0 {
        name(called, "task", report);
        positive(&task.cost, "cost", report);
        positive(&task.period, "period", report);
        let offset = task.offset.as_ref().map_or(Duration::ZERO, |at| **at);
        let rest = task.period.as_nanos().saturating_sub(offset.as_nanos());
        let rest = Duration::from_nanos(rest);
        let deadline = task.deadline.as_ref().map_or(rest, |at| **at);
        if *task.cost > deadline {
            let message = format!(
                "the job takes {}, and its deadline is {}",
                *task.cost, deadline
            );
            let help = "lengthen the deadline, or reduce the cost";
            report.add(Diagnostic::error(Kind::JobTooLong, &task.cost.span, message).help(help));
        }
        if let Some(offset) = task.offset.as_ref().filter(|_| !is_table) {
            only_in_tables("offset", offset, report);
        }
        if is_table && offset.saturating_add(deadline) > *task.period {
            let message = format!(
                "the job is due {} after the start of its period of {}",
                offset.saturating_add(deadline),
                *task.period
            );
            let help = "in a time table, a job is released and due within one period; shorten the offset or the \
                        deadline";
            let place = task.offset.as_ref().or(task.deadline.as_ref());
            let span = place.map_or(&task.period.span, |at| &at.span);
            report.add(Diagnostic::error(Kind::Conflict, span, message).help(help));
        }
        tasks.push(GuestTask {
            name: called.value.clone(),
            cost: *task.cost,
            period: *task.period,
            deadline,
            offset,
        });
    }
    let phase = written.phase.as_ref().map_or(Duration::ZERO, |at| **at);
    Some(Guest {
        policy,
        tasks,
        phase,
    })
}

/// A key that means something to time-driven guests only.
fn only_in_tables(key: &str, value: &At<Duration>, report: &mut Report) {
    let message = format!("`{key}` is for guests with a time table");
    let help = format!("remove `{key}`, or write `policy = \"time-table\"`");
    report.add(Diagnostic::error(Kind::Conflict, &value.span, message).help(help));
}

/// What concerns several components.
pub(super) fn all(draft: &mut Draft, report: &mut Report) {
    for (place, (called, _)) in draft.file.scheduler.0.iter().enumerate() {
        let scheduler = &draft.system.schedulers[place];
        let mut used = false;
        for id in draft.system.ids() {
            let component = &draft.system[id];
            if component.scheduler != Some(SchedulerId(place)) {
                continue;
            }
            used = true;
            if !scheduler.cores.contains(&component.core) && !scheduler.cores.is_empty() {
                let source = draft.source(id);
                let span = source
                    .scheduler
                    .as_ref()
                    .map_or(draft.place(id), |name| &name.span);
                let message = format!(
                    "`{}` begins on core {}, which scheduler `{}` does not have",
                    component.name, component.core, scheduler.name
                );
                let help = "write one of the scheduler's cores as `core`";
                report.add(Diagnostic::error(Kind::Conflict, span, message).help(help));
            }
        }
        if !used && !draft.has_gaps {
            let message = format!("scheduler `{}` runs no component", **called);
            let help = "add `scheduler = \"...\"` to its components, or remove it";
            report.add(Diagnostic::warning(Kind::Unused, &called.span, message).help(help));
        }
    }
    interrupts(draft, report);
    for id in draft.system.ids() {
        let source = draft.source(id);
        for (_, endpoint) in &source.serves.0 {
            if let Some(service) = &endpoint.service
                && positive(service, "service time", report)
                && draft.system[id].time.is_passive()
            {
                let message = format!(
                    "`{}` works on the time of its callers",
                    draft.system[id].name
                );
                let help = "write `cost` instead of `service`";
                report.add(Diagnostic::error(Kind::Conflict, &service.span, message).help(help));
            }
        }
    }
}

/// The rates of interrupts: of devices that components use, or of any name in a task set.
fn interrupts(draft: &mut Draft, report: &mut Report) {
    let most = i64::from(draft.platform.cores) - 1;
    for (called, one) in &draft.file.interrupt.0 {
        let components = &draft.system.components;
        let used = components.iter().flat_map(|one| &one.interrupts);
        let used: Vec<_> = used.map(|one| &*one.device).collect();
        if !draft.is_task_set() && !used.contains(&&***called) && !draft.has_gaps {
            let mut names = used.clone();
            names.dedup();
            report.add(unknown(
                "interrupt of a device",
                called,
                " that a component uses",
                &names,
            ));
        }
        name(called, "interrupt", report);
        positive(&one.gap, "gap", report);
        let core = number(one.core.as_ref(), 0..=most, "core of this platform", report);
        draft.system.interrupts.push(InterruptRate {
            name: called.value.clone(),
            gap: *one.gap,
            core: core.unwrap_or(0) as u32,
        });
    }
}

//! Components under user-level schedulers.

use schedulability::fixed::{Interference, Residual, interference};
use schedulability::model::{Overheads, Parameters, Releases, Task, charge};
use schedulability::{Error, Time, Verdict as Shown, edf, global};
use system_description::System;
use system_description::file::Policy;
use system_description::system::{Component, Scheduler, SchedulerId, Supervisor};

use crate::model::{Level, Partition, is_scheduler};
use crate::report::{Curve, Kind, Row, Verdict};
use crate::{Figures, time};

pub(crate) fn rows(system: &System, figures: &Figures) -> Result<Vec<Row>, Vec<String>> {
    let mut rows = Vec::new();
    for (place, scheduler) in system.schedulers.iter().enumerate() {
        let id = Some(SchedulerId(place));
        let components: Vec<_> = system
            .components
            .iter()
            .filter(|one| one.scheduler == id)
            .collect();
        if components.is_empty() {
            continue;
        }
        match analysed(system, figures, scheduler, &components) {
            Ok(more) => rows.extend(more),
            Err(error) => return Err(vec![format!("scheduler `{}`: {error}", scheduler.name)]),
        }
    }
    Ok(rows)
}

/// What a user-level scheduler adds to each job: what was measured of it; or else its decisions, and all else is the
/// kernel's. It is a thread, which takes the core for each release, whether a job is preempted or not.
pub fn overheads(decision: Time, figures: &Figures, cores: usize) -> Overheads {
    let bounds = Overheads {
        tick_period: Time::LONGEST,
        tick: Time::ZERO,
        release: time(figures.release) + figures.waiting(1, cores),
        release_latency: figures.section(cores),
        schedule: decision,
        // The scheduler wakes up by a timeout or a message, and runs the next thread.
        context_switch: figures.end_of_budget(cores) + figures.switch() + figures.waiting(1, cores),
        remote_reschedule: time(figures.interrupt) + time(figures.other_core),
        releases: Releases::Thread,
    };
    let Some(measured) = figures.scheduler else {
        return bounds;
    };
    let wake = time(measured.release_latency.worst);
    Overheads {
        // To wake the scheduler is a part of each of its passes.
        release: time(measured.release.worst) + wake + figures.waiting(1, cores),
        release_latency: bounds.release_latency + wake,
        schedule: decision.max(time(measured.schedule.worst)),
        context_switch: time(measured.context_switch.worst)
            + time(figures.cache_refill)
            + figures.waiting(2, cores),
        remote_reschedule: time(measured.remote_reschedule.worst) + time(figures.other_core),
        ..bounds
    }
}

fn tasks(components: &[&Component]) -> Result<Vec<Task>, Error> {
    let of = |one: &&Component| {
        let job = one.job.clone().unwrap_or(system_description::system::Job {
            costs: Vec::new(),
            period: None,
            bursts: Vec::new(),
            deadline: None,
            jitter: Default::default(),
            offset: Default::default(),
        });
        let period = time(job.period.unwrap_or_default());
        let levels = job.costs.len().min(usize::from(one.criticality) + 1);
        Task::new(Parameters {
            costs: job.costs[..levels].iter().map(|cost| time(*cost)).collect(),
            deadline: job.deadline.map_or(period, time),
            jitter: time(job.jitter),
            offset: time(job.offset),
            criticality: one.criticality,
            ..Parameters::new(&*one.name, Time::ZERO, period)
        })
    };
    components.iter().map(of).collect()
}

fn analysed(
    system: &System,
    figures: &Figures,
    scheduler: &Scheduler,
    components: &[&Component],
) -> Result<Vec<Row>, Error> {
    let row = |one: &&Component| Row {
        name: one.name.clone(),
        kind: Kind::Scheduled,
        core: one.core,
        level: 0,
        priority: one.priority,
        bound: None,
        deadline: one.job.as_ref().and_then(|job| job.deadline).map(time),
        verdict: Verdict::Fails,
        parts: Vec::new(),
        note: String::new(),
        method: None,
        observed: None,
        curve: Curve::default(),
    };
    let mut rows: Vec<_> = components.iter().map(row).collect();
    let own = tasks(components)?;
    let cores = scheduler.cores.len();
    let all = system.cores().len().max(cores);
    let charged = charge(
        &own,
        &vec![Time::ZERO; own.len()],
        &overheads(time(scheduler.decision), figures, all),
        cores,
    );
    let charged = match charged {
        Ok(found) => found.value,
        // Whatever the policy, and the tasks beside it.
        Err(error @ Error::Infeasible { .. }) => {
            for row in &mut rows {
                row.note = format!("No policy keeps the deadlines: {error}.");
            }
            return Ok(rows);
        }
        Err(error) => return Err(error),
    };
    for (row, (own, charged)) in rows.iter_mut().zip(own.iter().zip(&charged)) {
        row.note = format!(
            "Its job counts as {} with what the scheduler and the kernel add to {}.",
            crate::report::shown(charged.cost()),
            crate::report::shown(own.cost())
        );
    }
    if scheduler.policy != Policy::Edf || cores > 1 {
        have_whole_cores(system, scheduler, components)?;
    }
    let (shown, bounds, method) = match scheduler.policy {
        Policy::Edf if cores > 1 => {
            let found = global::any(&charged, cores)?;
            let bounds = global::response_times(&charged, cores)?.value;
            (found.value.holds(), bounds, found.method)
        }
        Policy::Edf => {
            let (partition, others) = left(system, figures, scheduler, components)?;
            let supply = Residual::new(&*partition.supply, others, partition.core.section())?;
            let found = edf::schedulable(&charged, &[], &supply)?;
            let bounds = edf::response_times(&charged, &supply)
                .ok()
                .map(|found| found.value);
            (found.value == Shown::Holds, bounds, found.method)
        }
        Policy::EdfVd => {
            let found = edf::virtual_deadlines(&charged)?;
            if let Some(deadlines) = &found.value {
                for (place, deadline) in deadlines.deadlines.iter().enumerate() {
                    // The release latency came off it.
                    let latency = own[place].deadline() - charged[place].deadline();
                    rows[place].note += &format!(
                        " Its virtual deadline is {}.",
                        crate::report::shown(*deadline + latency)
                    );
                }
            }
            (found.value.is_some(), None, found.method)
        }
    };
    for (place, row) in rows.iter_mut().enumerate() {
        row.method = Some(method);
        row.bound = bounds.as_ref().map(|bounds| bounds[place]);
        // The release latency came off the deadline.
        row.bound = row
            .bound
            .map(|bound| bound + (own[place].deadline() - charged[place].deadline()));
        let is_late = row.slack().is_some_and(|slack| slack < Time::ZERO);
        // Deadlines of one set hold together, or one of them fails.
        if shown || row.bound.is_some() && !is_late {
            row.verdict = Verdict::Holds;
        }
    }
    if !shown && rows.iter().all(|row| row.verdict == Verdict::Holds) {
        rows.iter_mut().for_each(|row| row.verdict = Verdict::Fails);
    }
    Ok(rows)
}

/// Refuses components of a scheduler that do not have all the time of their cores: the analyses of global EDF and
/// EDF-VD know no other supply.
fn have_whole_cores(
    system: &System,
    scheduler: &Scheduler,
    components: &[&Component],
) -> Result<(), Error> {
    let refused = |why: String| {
        Err(Error::NotApplicable {
            method: "global EDF and EDF-VD",
            why: format!(
                "they are analysed on whole cores, and {why}, or use plain EDF on one core"
            ),
        })
    };
    if !system.schedule.is_empty() {
        return refused("there are turns of domains; remove `schedule`".into());
    }
    let lowest = components.iter().filter_map(|one| one.priority).min();
    let is_own = |one: &Component| components.iter().any(|own| own.name == one.name);
    // Also a passive server: on the time of a caller with a low priority, it runs before these components.
    let other = system.ids().find(|&id| {
        let one = &system[id];
        scheduler.cores.contains(&one.core)
            && one.priority >= lowest
            && !is_own(one)
            && !is_scheduler(system, id)
    });
    if let Some(other) = other {
        return refused(format!(
            "`{}` can run before its components there; give it a lower priority or another core",
            system[other].name
        ));
    }
    let supervisor = system.supervisor.as_ref();
    let supervises =
        |one: &Supervisor| scheduler.cores.contains(&one.core) && Some(one.priority) >= lowest;
    if supervisor.is_some_and(supervises) {
        return refused("the supervisor can run before its components there; move it".into());
    }
    let interrupt = system
        .interrupts
        .iter()
        .find(|one| scheduler.cores.contains(&one.core));
    match interrupt {
        Some(one) => refused(format!(
            "the interrupt of `{}` is handled there; move it",
            one.name
        )),
        None => Ok(()),
    }
}

/// The threads of the scheduler's core in its domain, and what those of higher priority take of that.
fn left(
    system: &System,
    figures: &Figures,
    scheduler: &Scheduler,
    components: &[&Component],
) -> Result<(Partition, Vec<Interference>), Error> {
    let impossible = |why: String| Error::NotApplicable {
        method: "supply below other threads",
        why,
    };
    let core = scheduler.cores.first().copied().unwrap_or_default();
    let domain = components[0].domain;
    if components.iter().any(|one| one.domain != domain) {
        let why = "its components are in several domains; put them into one";
        return Err(impossible(why.into()));
    }
    let partition = Partition::new(system, figures, core, domain, Level::At(0));
    let partition = partition.map_err(|problems| impossible(problems.join("; ")))?;
    let lowest = components.iter().min_by_key(|one| one.priority);
    let place = partition
        .members
        .iter()
        .position(|member| lowest.is_some_and(|lowest| lowest.name == member.name));
    let place = place.ok_or_else(|| impossible("no thread is on its core".into()))?;
    let is_own = |place: usize| {
        let name = &partition.members[place].name;
        components.iter().any(|one| one.name == *name)
    };
    let (others, all) = interference(&partition.core, place);
    let unbounded = others
        .iter()
        .find(|other| partition.members[**other].is_unbounded && !is_own(**other));
    // Those that wait for turns of the scheduler run only in these.
    let is_ready = |other: usize| {
        let threads = partition.core.threads();
        threads[other].priority > threads[place].priority
    };
    if let Some(other) = unbounded.filter(|other| is_ready(**other)) {
        let name = &partition.members[*other].name;
        return Err(impossible(format!(
            "`{name}` has a higher priority and no bound; give it a budget or a job"
        )));
    }
    let others = others
        .iter()
        .zip(all)
        .filter(|(other, _)| !is_own(**other) && is_ready(**other));
    let others = others.map(|(_, one)| one).collect();
    Ok((partition, others))
}

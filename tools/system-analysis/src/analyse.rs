//! From the models to rows.

use std::collections::BTreeSet;

use schedulability::fixed::{
    Guarantee, Interference, Response, amc_rtb, blocking, budget_response, interference,
    thread_response_on,
};
use schedulability::supply::Supply;
use schedulability::{Error, Time};
use system_description::system::DomainId;
use system_description::{Duration, System};

use crate::model::{Level, Partition, prioritised};
use crate::report::{Curve, Kind, Part, Report, Row, Source, Verdict};
use crate::{Figures, changes, global, guest, time};

/// Analyses a system with the kernel's costs on its platform.
///
/// # Errors
/// What is not known or impossible: sentences.
pub fn analyse(system: &System, figures: &Figures) -> Result<Report, Vec<String>> {
    let system = prioritised(system).map_err(|problem| vec![problem])?;
    let rows = rows(&system, figures)?;
    let holds = rows.iter().all(|row| row.verdict != Verdict::Fails);
    Ok(Report {
        title: system.title.clone().unwrap_or_else(|| "A system".into()),
        platform: system.platform.clone(),
        holds,
        changes: changes::of(&system, figures, holds),
        rows,
        assumptions: assumptions(&system, figures),
    })
}

/// Whether all deadlines hold.
pub(crate) fn holds(system: &System, figures: &Figures) -> bool {
    let rows = rows(system, figures);
    rows.is_ok_and(|rows| rows.iter().all(|row| row.verdict != Verdict::Fails))
}

fn rows(system: &System, figures: &Figures) -> Result<Vec<Row>, Vec<String>> {
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for core in system.cores() {
        match core_rows(system, figures, core) {
            Ok(more) => rows.extend(more),
            Err(more) => problems.extend(more),
        }
    }
    match global::rows(system, figures) {
        Ok(more) => rows.extend(more),
        Err(more) => problems.extend(more),
    }
    if problems.is_empty() {
        return Ok(rows);
    }
    let mut known = BTreeSet::new();
    problems.retain(|problem| known.insert(problem.clone()));
    Err(problems)
}

/// The rows of one core, but for components under user-level schedulers.
///
/// # Errors
/// What is not known or impossible.
pub(crate) fn core_rows(
    system: &System,
    figures: &Figures,
    core: u32,
) -> Result<Vec<Row>, Vec<String>> {
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    let levels = system.components.iter().map(|one| one.criticality);
    let levels: BTreeSet<u8> = levels.chain([0]).collect();
    for domain in (0..system.domains.len()).map(DomainId) {
        for level in &levels {
            match Partition::new(system, figures, core, domain, Level::At(*level)) {
                Ok(partition) => {
                    partition_rows(system, figures, domain, &partition, *level, &mut rows)
                }
                Err(more) => problems.extend(more),
            }
        }
    }
    if problems.is_empty() {
        Ok(rows)
    } else {
        Err(problems)
    }
}

fn partition_rows(
    system: &System,
    figures: &Figures,
    domain: DomainId,
    partition: &Partition,
    level: u8,
    rows: &mut Vec<Row>,
) {
    for place in 0..partition.core.threads().len() {
        let member = &partition.members[place];
        // The kernel's own work, emergency time and the supervisor have no deadline.
        let Some(id) = member.component else { continue };
        let one = &system[id];
        if one.scheduler.is_some() {
            continue;
        }
        let mut row = empty(partition, place, level);
        if member.is_unbounded {
            row.kind = Kind::Rest;
            row.verdict = Verdict::NoPromise;
            row.deadline = None;
        } else if let Some(note) = hopeless(partition, place) {
            row.note = note;
        } else {
            let supply = &*partition.supply;
            let result = match member.has_job {
                true => job(partition, place, &mut row, supply),
                false => budget(partition, place, &mut row, supply),
            };
            if let Err(error) = result {
                row.note = format!("{error}.");
            }
            if level > 0 && member.has_job {
                change_of_level(system, figures, domain, partition, place, &mut row);
            }
            settle(&mut row);
        }
        rows.push(row);
        if let (Some(inside), 0) = (&one.guest, level) {
            let turns = turns(system, figures, domain);
            rows.extend(guest::rows(partition, place, inside, turns.as_ref()));
        }
    }
}

/// The turns of a domain, if there is a schedule.
pub(crate) fn turns(system: &System, figures: &Figures, domain: DomainId) -> Option<guest::Turns> {
    let turns = system.schedule.iter();
    let turns: Vec<_> = turns
        .map(|turn| (time(turn.duration), turn.domain == domain))
        .collect();
    let lost = figures.section(system.cores().len()) + figures.switch();
    (!turns.is_empty()).then_some((turns, lost))
}

/// The row of a thread, which fails unless something else is shown.
pub(crate) fn empty(partition: &Partition, place: usize, level: u8) -> Row {
    let thread = &partition.core.threads()[place];
    let member = &partition.members[place];
    Row {
        name: member.name.clone(),
        kind: if member.has_job {
            Kind::Job
        } else {
            Kind::Budget
        },
        core: partition.number,
        level,
        priority: Some(thread.priority.0),
        bound: None,
        deadline: Some(thread.task.deadline()),
        verdict: Verdict::Fails,
        parts: Vec::new(),
        note: String::new(),
        method: None,
        observed: None,
        curve: Curve::default(),
    }
}

/// Compares bound and deadline.
pub(crate) fn settle(row: &mut Row) {
    row.parts.retain(|part| part.time > Time::ZERO);
    if row.slack().is_some_and(|slack| slack >= Time::ZERO) {
        row.verdict = Verdict::Holds;
    }
}

/// A thread of this priority or above without a bound.
pub(crate) fn hopeless(partition: &Partition, place: usize) -> Option<String> {
    let threads = partition.core.threads();
    let mut others = (0..threads.len()).filter(|other| *other != place);
    let found = others.find(|other| {
        partition.members[*other].is_unbounded
            && threads[*other].priority >= threads[place].priority
    })?;
    let name = &partition.members[found].name;
    Some(format!(
        "`{name}`, of priority {}, may run for ever before it; give `{name}` a budget or a job.",
        threads[found].priority.0
    ))
}

fn job(
    partition: &Partition,
    place: usize,
    row: &mut Row,
    supply: &dyn Supply,
) -> Result<(), Error> {
    let core = &partition.core;
    let found = thread_response_on(core, place, supply)?;
    row.method = Some(found.method);
    let Guarantee {
        response,
        others,
        supply: own_supply,
    } = found.value;
    row.bound = Some(response.bound);
    let thread = &core.threads()[place];
    let member = &partition.members[place];
    let jobs = response.arrived.whole(thread.task.period()) + 1;
    let add = |row: &mut Row, source, by: &str, time| row.parts.push(part(source, by, time));
    add(
        row,
        Source::Own,
        "",
        (thread.task.cost() - member.kernel) * jobs,
    );
    let mut known = (thread.task.cost() - member.kernel) * jobs;
    for call in &thread.calls {
        let time = core.request(call) * i128::from(call.count) * jobs;
        add(
            row,
            Source::Request,
            &partition.servers[call.server.0],
            time,
        );
        known += time;
    }
    add(row, Source::Kernel, "for its job", member.kernel * jobs);
    known += member.kernel * jobs;
    for (server, time) in &member.waiting {
        add(row, Source::Waiting, server, *time * jobs);
        if own_supply.is_none() || thread.waits.is_charged {
            known += *time * jobs;
        }
    }
    interfering(partition, &others, &response, row);
    blocked(partition, place, response.blocking, row);
    if own_supply.is_some() {
        add(
            row,
            Source::Blackout,
            "budget left unused before thresholds",
            response.own - known,
        );
        let waited = match thread.waits.is_charged {
            true => Time::ZERO,
            false => thread.waits.time,
        };
        add(
            row,
            Source::Blackout,
            "until its budget is replenished",
            response.missing - waited,
        );
        row.note =
            "Its budget does not cover a whole job, so that it waits for replenishments.".into();
    } else {
        add(
            row,
            Source::Blackout,
            "turns of other domains",
            response.missing,
        );
    }
    add(row, Source::Jitter, "", response.jitter);
    if response.arrived > Time::ZERO {
        row.note = format!(
            "Job {jobs} of a busy window is the worst; it arrives {} after the first, whose work counts, too.",
            crate::report::shown(response.arrived)
        );
    } else {
        let (_, interference) = interference(core, place);
        row.curve = match &own_supply {
            Some(supply) => curve(row, response.own, &[], supply),
            None => curve(row, response.own + response.blocking, &interference, supply),
        };
    }
    Ok(())
}

/// All of a budget is used up before the next one is there.
fn budget(
    partition: &Partition,
    place: usize,
    row: &mut Row,
    supply: &dyn Supply,
) -> Result<(), Error> {
    let found = budget_response(&partition.core, place, supply)?;
    row.method = Some(found.method);
    let response = found.value;
    row.bound = Some(response.bound);
    row.parts.push(part(Source::Own, "", response.own));
    let (others, interference) = interference(&partition.core, place);
    interfering(partition, &others, &response, row);
    blocked(partition, place, response.blocking, row);
    row.parts.push(part(
        Source::Blackout,
        "turns of other domains",
        response.missing,
    ));
    if response.arrived == Time::ZERO {
        row.curve = curve(row, response.own + response.blocking, &interference, supply);
    }
    if response.arrived > Time::ZERO {
        row.note = format!(
            "A later budget of a busy window is the worst; it is there {} after the first, which counts, too.",
            crate::report::shown(response.arrived)
        );
    }
    Ok(())
}

pub(crate) fn part(source: Source, by: &str, time: Time) -> Part {
    let by = by.to_string();
    Part { source, by, time }
}

fn interfering(partition: &Partition, others: &[usize], response: &Response, row: &mut Row) {
    for (other, time) in others.iter().zip(&response.interference) {
        let member = &partition.members[*other];
        let source = match member.component {
            None if member.has_job => Source::Kernel,
            _ => Source::Interference,
        };
        row.parts.push(part(source, &member.name, *time));
    }
}

fn blocked(partition: &Partition, place: usize, all: Time, row: &mut Row) {
    let core = &partition.core;
    let times = i128::from(core.threads()[place].waits.count) + 1;
    let section = core.section() * times;
    row.parts.push(part(
        Source::Kernel,
        "section that has begun",
        section.min(all),
    ));
    let by = blocking(core, place).ok().and_then(|found| found.value.by);
    if let Some((server, caller)) = by {
        let name = format!(
            "{} for {}",
            partition.servers[server.0], partition.members[caller].name
        );
        row.parts.push(part(Source::Blocking, &name, all - section));
    }
}

/// The points of a curve.
const POINTS: i128 = 240;

pub(crate) fn curve(row: &Row, fixed: Time, others: &[Interference], supply: &dyn Supply) -> Curve {
    let end = row.bound.max(row.deadline).unwrap_or_default();
    let end = Time::from_nanos((end.nanos() * 21 / 20).max(1) as u64);
    let mut curve = Curve::default();
    for point in 0..=POINTS {
        let window = Time::from_nanos((end.nanos() * point / POINTS) as u64);
        let interference: Time = others.iter().map(|other| other.in_window(window)).sum();
        let demand = fixed + interference;
        // A step is drawn as a step.
        if let Some((_, before)) = curve.demand.last().filter(|(_, before)| *before != demand) {
            curve.demand.push((window, *before));
        }
        curve.demand.push((window, demand));
        curve.supply.push((window, supply.in_window(window)));
    }
    curve
}

/// When the criticality level is raised during a job, lower threads have interfered until then.
fn change_of_level(
    system: &System,
    figures: &Figures,
    domain: DomainId,
    partition: &Partition,
    place: usize,
    row: &mut Row,
) {
    let Ok(both) = Partition::new(system, figures, partition.number, domain, Level::Both) else {
        return;
    };
    let same =
        |member: &crate::model::Member| member.component == partition.members[place].component;
    let Some(place) = both.members.iter().position(same) else {
        return;
    };
    match amc_rtb(&both.core, place) {
        Ok(found) => match found.value.and_then(|found| found.high) {
            Some(high) => {
                row.method = Some(found.method);
                row.note = "With the change of the level in its middle.".into();
                let more = high - row.bound.unwrap_or(high);
                row.parts.push(part(
                    Source::Interference,
                    "lower criticality before the change",
                    more,
                ));
                row.bound = row.bound.max(Some(high));
            }
            None => {
                row.bound = None;
                row.note =
                    "When the level is raised in the middle of a job, it can be late.".into();
            }
        },
        Err(error) => {
            row.note =
                format!("After the change of the level; the change is not analysed: {error}.")
        }
    }
}

fn assumptions(system: &System, figures: &Figures) -> Vec<String> {
    let mut all = vec![
        format!(
            "the kernel's costs on {} are those of the file: a section of {}, {} for a release, {} for a switch, {} \
             for a call and its reply",
            figures.platform, figures.section, figures.release, figures.switch, figures.call
        ),
        format!(
            "costs are the longest execution times, {}; the kernel enforces budgets, thresholds and limits, not costs",
            match figures.cache_refill {
                Duration::ZERO => "with caches as they are after a preemption".into(),
                refill => format!(
                    "with warm caches; each thread that begins or continues loses {refill} until they are warm again, \
                     and its budget contains that for each preemption"
                ),
            }
        ),
    ];
    if system.cores().len() > 1 {
        let cores = system.cores().len();
        all.push(format!(
            "each kernel entry waits at most {} for {}",
            figures.other_core,
            match cores - 1 {
                1 => "the other core".into(),
                others => format!("each of the {others} other cores"),
            }
        ));
    }
    let silent = system.components.iter().flat_map(|one| {
        let unknown = |device: &str| !system.interrupts.iter().any(|rate| rate.name == device);
        one.interrupts
            .iter()
            .filter(move |used| unknown(&used.device))
    });
    for used in silent {
        all.push(format!(
            "interrupts of `{}` come no more than once for each job of their component; else state \
             `interrupt.{}.gap`",
            used.device, used.device
        ));
    }
    let has_promise = |one: &system_description::system::Component| {
        one.job.is_none() && matches!(one.time, system_description::system::Time::Context(_))
    };
    if system.components.iter().any(has_promise) {
        all.push(
            "a component without a job is promised its budget: all of it can be used before the next one is there"
                .to_string(),
        );
    }
    all
}

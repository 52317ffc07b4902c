//! Budgets, periods, jobs, and the turns of domains.

use abi::config::{MOST_DOMAINS, MOST_TURNS};

use super::Draft;
use super::components::{name, number};
use crate::file::{self, At, Replenishment, Startup};
use crate::report::{Diagnostic, Kind, Report, Span};
use crate::system::{Context, DomainId, Job, REFILLS, SMALLEST, Supervisor, Time, Turn};
use crate::units::Duration;

/// The longest budget and period: the kernel of every platform takes that much.
const LONGEST: Duration = Duration::from_millis(365 * 86_400 * 1_000);
/// The most extra refills that the kernel takes on 32-bit platforms, so that a description fits all.
const MOST_REFILLS: i64 = 32_765;

const STARTUP: Context = plain(Duration::from_millis(1), Duration::from_millis(20));

/// A context without anything special.
const fn plain(budget: Duration, period: Duration) -> Context {
    Context {
        budget,
        period,
        replenishment: Replenishment::Sporadic,
        extra_refills: 0,
        idling: false,
    }
}

/// Checks that the kernel takes a duration.
pub(super) fn duration(value: &At<Duration>, what: &str, report: &mut Report) -> bool {
    let (problem, help) = if !value.is_whole_micros() {
        (
            "is no whole number of microseconds",
            "the kernel counts in us".to_string(),
        )
    } else if **value < SMALLEST {
        let help =
            format!("write at least {SMALLEST}, which entering and leaving the kernel takes");
        ("is too short", help)
    } else if **value > LONGEST {
        ("is too long", "write at most a year".to_string())
    } else {
        return true;
    };
    let message = format!("the {what} {} {problem}", **value);
    report.add(Diagnostic::error(Kind::OutOfRange, &value.span, message).help(help));
    false
}

/// A budget and its period.
fn context(budget: &At<Duration>, period: &At<Duration>, report: &mut Report) -> Context {
    let good =
        [(budget, "budget"), (period, "period")].map(|(value, what)| duration(value, what, report));
    let (c, t) = (**budget, **period);
    if good == [true; 2] && c > t {
        let message = format!("the budget {c} is above the period {t}");
        let help = "reduce the budget, or lengthen the period";
        let one = Diagnostic::error(Kind::BudgetOverPeriod, &budget.span, message).help(help);
        report.add(one.related(&period.span, "the period"));
    }
    if good == [true; 2] && c == t {
        let message = "a budget that equals its period means round robin, without a bound";
        let help = format!("write `slice = \"{c}\"` if that is meant, or reduce the budget");
        let one = Diagnostic::error(Kind::WholePeriod, &budget.span, message).help(help);
        report.add(one.related(&period.span, "the period"));
    }
    plain(c, t)
}

/// The context of a `startup` or `emergency` table.
pub(super) fn small(table: &Startup, report: &mut Report) -> Context {
    context(&table.budget, &table.period, report)
}

/// The time of a component.
/// If the table is not complete, what it lacks may be in what could not be read.
pub(super) fn of(
    name: &At<String>,
    one: &file::Component,
    is_complete: bool,
    report: &mut Report,
) -> Time {
    let passive = one.passive.as_ref().filter(|passive| ***passive);
    let own = one.budget.as_ref().or(one.period.as_ref());
    let mut conflict = |span: &Span, message: &str, help: &str| {
        report.add(Diagnostic::error(Kind::Conflict, span, message).help(help));
    };
    if let (Some(slice), Some(_)) = (&one.slice, own) {
        let message = "a component has either a slice or a budget";
        conflict(
            &slice.span,
            message,
            "remove `slice`, or `budget` and `period`",
        );
    }
    if let Some(passive) = passive
        && (own.is_some() || one.slice.is_some())
    {
        let message = "a passive component has no time of its own";
        conflict(
            &passive.span,
            message,
            "remove `passive`, or its budget or slice",
        );
    }
    if let (Some(startup), None) = (&one.startup, passive) {
        let message = "only a passive component has startup time";
        conflict(
            &startup.budget.span,
            message,
            "remove `startup`, or add `passive = true`",
        );
    }
    let places = [
        (
            "replenishment",
            one.replenishment.as_ref().map(|it| &it.span),
        ),
        (
            "extra-refills",
            one.extra_refills.as_ref().map(|it| &it.span),
        ),
        ("idling", one.idling.as_ref().map(|it| &it.span)),
    ];
    for (key, span) in places {
        if let Some(span) = span
            && own.is_none()
        {
            let message = format!("`{key}` has no effect without a budget");
            conflict(span, &message, "remove it, or add `budget` and `period`");
        }
    }

    if let Some(slice) = &one.slice {
        duration(slice, "slice", report);
        return Time::Slice(**slice);
    }
    if passive.is_some() {
        let startup = one.startup.as_ref().map(|startup| small(startup, report));
        return Time::Passive(startup.unwrap_or(STARTUP));
    }
    match (&one.budget, &one.period) {
        (Some(budget), Some(period)) => {
            let refills = number(
                one.extra_refills.as_ref(),
                0..=MOST_REFILLS,
                "number of extra refills",
                report,
            );
            Time::Context(Context {
                replenishment: one
                    .replenishment
                    .as_ref()
                    .map(|it| **it)
                    .unwrap_or_default(),
                extra_refills: refills.map_or(REFILLS, |refills| refills as u32),
                idling: one.idling.as_ref().is_some_and(|idling| **idling),
                ..context(budget, period, report)
            })
        }
        (None, None) => {
            if !is_complete {
                return Time::Passive(STARTUP);
            }
            let message = format!("component `{}` has no time", **name);
            let help = "add `budget` and `period`, or `slice`, or `passive = true`";
            report.add(Diagnostic::error(Kind::NoTime, &name.span, message).help(help));
            Time::Passive(STARTUP)
        }
        (budget, period) => {
            if !is_complete {
                return Time::Passive(STARTUP);
            }
            let [has, lacks] = if budget.is_some() {
                ["budget", "period"]
            } else {
                ["period", "budget"]
            };
            let span = budget
                .as_ref()
                .or(period.as_ref())
                .map_or(&name.span, |value| &value.span);
            let message = format!("component `{}` has a {has} and no {lacks}", **name);
            let help = format!("add `{lacks} = \"...\"`");
            report.add(Diagnostic::error(Kind::MissingKey, span, message).help(help));
            Time::Passive(STARTUP)
        }
    }
}

/// The shortest windows of two, three, and more arrivals, if they are written and possible.
fn arrivals(written: &file::Job, report: &mut Report) -> Vec<Duration> {
    let Some(windows) = &written.arrivals else {
        return Vec::new();
    };
    let mut complain = |kind, span, message: &str, help| {
        report.add(Diagnostic::error(kind, span, message).help(help));
        Vec::new()
    };
    if let Some(period) = &written.period {
        let message = "a job has either a period or a list of arrivals";
        let help = "remove `period`; the first of `arrivals` is the shortest time between two jobs";
        return complain(Kind::Conflict, &period.span, message, help);
    }
    let Some(first) = windows.first() else {
        let help = "write the shortest windows in which two, three, and more jobs arrive";
        return complain(
            Kind::MissingKey,
            &windows.span,
            "no arrivals are listed",
            help,
        );
    };
    if **first == Duration::ZERO {
        let message = "two jobs cannot arrive at once";
        let help = "write the shortest time between two jobs, or make them one job";
        return complain(Kind::OutOfRange, &first.span, message, help);
    }
    if let Some([_, less]) = windows.array_windows().find(|[one, next]| **next < **one) {
        let message = "more jobs do not arrive in a shorter window";
        let help = "order the windows from the shortest to the longest";
        return complain(Kind::OutOfRange, &less.span, message, help);
    }
    windows.iter().map(|window| **window).collect()
}

/// What a component of this criticality does with its time.
pub(super) fn job(one: &file::Component, criticality: u8, report: &mut Report) -> Option<Job> {
    let written = one.job.as_ref()?;
    let costs = written.cost.as_ref().map(At::values).unwrap_or_default();
    if let Some([_, less]) = costs.array_windows().find(|[cost, next]| **next < **cost) {
        let message = "the cost of a higher criticality is less than that of a lower one";
        let help = "order the costs from the lowest criticality to the highest";
        report.add(Diagnostic::error(Kind::JobTooLong, &less.span, message).help(help));
    }
    let own = one.period.as_ref().map(|period| **period);
    let windows = arrivals(written, report);
    let period = written.period.as_ref().map(|period| **period);
    let period = period.or(windows.first().copied()).or(own);
    let deadline = written
        .deadline
        .as_ref()
        .map(|deadline| **deadline)
        .or(period);
    let cost = costs.get(usize::from(criticality)).or(costs.last());
    if let (Some(cost), Some(deadline)) = (cost, deadline)
        && **cost > deadline
    {
        let message = format!("the job takes {}, and its deadline is {deadline}", **cost);
        let help = "lengthen the deadline, or reduce the cost";
        report.add(Diagnostic::error(Kind::JobTooLong, &cost.span, message).help(help));
    } else if let (Some(cost), Some(budget), Some(own), Some(period)) =
        (cost, &one.budget, own, period)
    {
        let last = windows.last().copied().unwrap_or(period);
        let jobs = windows.len().max(1);
        // jobs * cost / last > budget / own, without rounding.
        let product =
            |a: Duration, b: Duration| u128::from(a.as_nanos()) * u128::from(b.as_nanos());
        if (product(**cost, own)).saturating_mul(jobs as u128) > product(**budget, last) {
            let jobs = match jobs {
                1 => "the job takes".to_string(),
                jobs => format!("{jobs} jobs take each"),
            };
            let message = format!(
                "{jobs} {} in every {last}, and the budget is {} in every {own}",
                **cost, **budget
            );
            let help = "enlarge the budget, or reduce the cost";
            let one = Diagnostic::error(Kind::JobTooLong, &cost.span, message).help(help);
            report.add(one.related(&budget.span, "the budget"));
        }
    }
    let or_zero =
        |value: &Option<At<Duration>>| value.as_ref().map_or(Duration::ZERO, |value| **value);
    Some(Job {
        costs: costs.iter().map(|cost| **cost).collect(),
        period,
        bursts: windows.into_iter().skip(1).collect(),
        deadline,
        jitter: or_zero(&written.jitter),
        offset: or_zero(&written.offset),
    })
}

/// The supervisor's time, if something is built and the root task is the generic one.
pub(super) fn supervisor(draft: &mut Draft, report: &mut Report) {
    let written = &draft.file.supervisor;
    let budget = written.budget.as_ref();
    let given = budget.or(written.period.as_ref()).map(|value| &value.span);
    let numbers = written.priority.as_ref().or(written.core.as_ref());
    let given = given.or(numbers.map(|value| &value.span));
    let given = given.or(written.domain.as_ref().map(|value| &value.span));
    if let (Some(span), Some(root)) = (given, &draft.file.root) {
        let message = format!(
            "the supervisor is part of the generic root task, but the root task is `{}`",
            **root
        );
        let help = "remove `supervisor`, or `root`";
        report.add(Diagnostic::error(Kind::Conflict, span, message).help(help));
    }
    if draft.file.root.is_some() || draft.is_task_set() {
        return;
    }
    let or = |value: &Option<At<Duration>>, default: Duration| {
        value.clone().unwrap_or(At {
            value: default,
            span: 0..0,
        })
    };
    let mut budget = or(&written.budget, STARTUP.budget);
    let period = or(&written.period, STARTUP.period);
    if written.budget.is_none() {
        budget.span = period.span.clone();
    }
    let priority = number(written.priority.as_ref(), 0..=255, "priority", report);
    let most = i64::from(draft.platform.cores) - 1;
    let core = number(written.core.as_ref(), 0..=most, "core", report);
    draft.system.supervisor = Some(Supervisor {
        time: context(&budget, &period, report),
        priority: priority.unwrap_or(255) as u8,
        core: core.unwrap_or(0) as u32,
        domain: domain_of(draft, written.domain.as_ref(), report),
    });
}

/// The domain of this name; the first one if none is written, or if it has no turn, which is reported.
pub(super) fn domain_of(
    draft: &Draft,
    written: Option<&At<String>>,
    report: &mut Report,
) -> DomainId {
    let Some(domain) = written else {
        return DomainId(0);
    };
    if draft.file.schedule.is_empty() {
        let message = format!(
            "domain `{}` has no turn, since there is no schedule",
            **domain
        );
        let help = "add `[[schedule]]` with `domain` and `duration`";
        report.add(Diagnostic::error(Kind::UnknownName, &domain.span, message).help(help));
        return DomainId(0);
    }
    let known = &draft.system.domains;
    let place = known.iter().position(|known| *known == **domain);
    if place.is_none() {
        let known: Vec<_> = known.iter().map(String::as_str).collect();
        report.add(super::unknown("domain", domain, "", &known));
    }
    DomainId(place.unwrap_or(0))
}

/// The domains, and their turns.
pub(super) fn schedule(draft: &mut Draft, report: &mut Report) {
    let turns = &draft.file.schedule;
    let domains = &mut draft.system.domains;
    for turn in turns {
        name(&turn.domain, "domain", report);
        duration(&turn.duration, "turn", report);
        if !domains.contains(&turn.domain) {
            domains.push(turn.domain.value.clone());
            if domains.len() == MOST_DOMAINS + 1 {
                let message =
                    format!("there are more than {MOST_DOMAINS} domains, all that the kernel has");
                let one = Diagnostic::error(Kind::OutOfRange, &turn.domain.span, message);
                report.add(one.help("put components that need no separation into one domain"));
            }
        }
        let domain = domains.iter().position(|known| *known == *turn.domain);
        let domain = DomainId(domain.unwrap_or(0));
        draft.system.schedule.push(Turn {
            domain,
            duration: *turn.duration,
        });
    }
    if let Some(turn) = turns.get(MOST_TURNS) {
        let message = format!(
            "there are {} turns, and the kernel takes {MOST_TURNS}",
            turns.len()
        );
        let one = Diagnostic::error(Kind::OutOfRange, &turn.domain.span, message);
        report.add(one.help("lengthen the turns"));
    }
    if domains.is_empty() {
        domains.push(String::new());
    }
}

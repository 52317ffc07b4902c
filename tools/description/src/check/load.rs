//! Whether the cores have the time that is promised.

use super::Draft;
use crate::report::{Diagnostic, Kind, Report, Span};
use crate::system::{Context, DomainId, EMERGENCY, EXTENSION, Time, WHOLE};

/// The most contexts that a message lists.
const LISTED: usize = 6;

/// Checks each core, and each domain on it.
pub(super) fn all(draft: &Draft, report: &mut Report) {
    for core in draft.system.cores() {
        let mut contexts = draft.system.contexts(core);
        // Others are reported already.
        contexts.retain(|(_, _, context)| context.budget < context.period);
        let all: Vec<_> = contexts
            .iter()
            .map(|(name, _, context)| (&**name, *context))
            .collect();
        if sum(&all) > WHOLE {
            let message = format!(
                "core {core} is promised {} of itself: {}",
                percent(sum(&all)),
                list(&all)
            );
            let help = "reduce budgets, lengthen periods, or use another core";
            let span = culprit(draft, &all, WHOLE);
            report.add(Diagnostic::error(Kind::CoreOverfull, &span, message).help(help));
            continue;
        }
        for domain in (0..draft.system.domains.len()).map(DomainId) {
            check_domain(draft, core, domain, &contexts, report);
        }
    }
    above_supervisor(draft, report);
}

/// Nothing bounds the share of a slice, so what has one leaves no time to a supervisor of a lower priority.
fn above_supervisor(draft: &Draft, report: &mut Report) {
    let Some(supervisor) = draft.system.supervisor else {
        return;
    };
    for (one, (source, place)) in draft.system.components.iter().zip(&draft.sources) {
        let (Time::Slice(_), Some(priority)) = (one.time, one.priority) else {
            continue;
        };
        let is_beside = one.core == supervisor.core && one.domain == supervisor.domain;
        if !is_beside || priority <= supervisor.priority {
            continue;
        }
        let (name, lower) = (&one.name, supervisor.priority);
        let message = format!(
            "the slice of `{name}`, with priority {priority}, leaves no time to the supervisor, which has {lower}"
        );
        let help = format!("give it `budget` and `period`, or a priority of at most {lower}");
        let span = source.slice.as_ref().map_or(place, |slice| &slice.span);
        report.add(Diagnostic::error(Kind::CoreOverfull, span, message).help(help));
    }
}

/// The time of a domain is that of its turns.
fn check_domain(
    draft: &Draft,
    core: u32,
    domain: DomainId,
    contexts: &[(String, DomainId, Context)],
    report: &mut Report,
) {
    let turns = &draft.system.schedule;
    let duration = |all: bool| {
        let turns = turns.iter().filter(|turn| all || turn.domain == domain);
        turns
            .map(|turn| u128::from(turn.duration.as_nanos()))
            .sum::<u128>()
    };
    let whole = duration(true);
    if whole == 0 {
        return;
    }
    let turn = u64::try_from(duration(false) * u128::from(WHOLE) / whole).unwrap_or(WHOLE);
    let own = contexts.iter().filter(|(_, other, _)| *other == domain);
    let own: Vec<_> = own.map(|(name, _, context)| (&**name, *context)).collect();
    if sum(&own) > turn {
        let message = format!(
            "domain `{}` is promised {} of core {core}, and its turns are {}: {}",
            draft.system[domain],
            percent(sum(&own)),
            percent(turn),
            list(&own)
        );
        let help = "lengthen its turns, or reduce budgets";
        let span = culprit(draft, &own, turn);
        report.add(Diagnostic::error(Kind::DomainOverfull, &span, message).help(help));
    }
}

fn sum(contexts: &[(&str, Context)]) -> u64 {
    contexts
        .iter()
        .fold(0, |sum, (_, context)| sum.saturating_add(context.share()))
}

/// The place of the first budget that does not fit any more.
fn culprit(draft: &Draft, contexts: &[(&str, Context)], limit: u64) -> Span {
    let mut used = 0_u64;
    let over = contexts.iter().find(|(_, context)| {
        used = used.saturating_add(context.share());
        used > limit
    });
    // The last is the supervisor if it is no component's.
    let name = over.map_or("", |(name, _)| component(name));
    let place = draft
        .system
        .components
        .iter()
        .position(|one| one.name == name);
    let supervisor = draft
        .file
        .supervisor
        .budget
        .as_ref()
        .map(|budget| budget.span.clone());
    match place {
        Some(place) => {
            let (source, name) = &draft.sources[place];
            source
                .budget
                .as_ref()
                .map_or(name, |budget| &budget.span)
                .clone()
        }
        None => supervisor
            .or_else(|| draft.sources.last().map(|last| last.1.clone()))
            .unwrap_or_default(),
    }
}

/// The name of the component to which a context belongs.
fn component(context: &str) -> &str {
    let added = |what| context.strip_suffix(&format!(" ({what})"));
    let name = added(EMERGENCY).or_else(|| added(EXTENSION));
    name.unwrap_or(context)
}

/// A share for people, rounded up to tenths, so that too much never looks like enough.
fn percent(billionths: u64) -> String {
    let tenths = billionths.div_ceil(WHOLE / 1_000);
    match tenths % 10 {
        0 => format!("{} %", tenths / 10),
        rest => format!("{}.{rest} %", tenths / 10),
    }
}

/// The largest shares.
fn list(contexts: &[(&str, Context)]) -> String {
    let mut largest: Vec<_> = contexts
        .iter()
        .map(|(name, context)| (context.share(), *name))
        .collect();
    largest.sort_by_key(|(share, _)| std::cmp::Reverse(*share));
    let more = largest.len().saturating_sub(LISTED);
    let shown = largest
        .iter()
        .take(LISTED)
        .map(|(share, name)| format!("{name} {}", percent(*share)));
    let mut shown: Vec<_> = shown.collect();
    if more > 0 {
        shown.push(format!("{more} others"));
    }
    shown.join(", ")
}

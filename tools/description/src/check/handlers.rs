//! What happens after faults and at timeouts.

use super::components::number;
use super::{Draft, links, time};
use crate::file::{self, At};
use crate::report::{Diagnostic, Kind, Report, Span};
use crate::system::{
    Component, ComponentId, Context, FaultAction, Handler, REFILLS, Time, TimeoutAction,
};
use crate::units::Duration;

/// The handlers of a component that are other components.
pub(super) fn of(one: &Component) -> impl Iterator<Item = Handler> {
    let fault = match one.on_fault {
        FaultAction::Handler(handler) => Some(handler),
        _ => None,
    };
    let timeout = match one.on_timeout {
        TimeoutAction::Handler(handler) => Some(handler),
        _ => None,
    };
    fault.into_iter().chain(timeout)
}

/// Resolves the handlers of all components.
pub(super) fn all(draft: &mut Draft, report: &mut Report) {
    for id in draft.system.ids() {
        let source = draft.source(id);
        if let Some(action) = &source.on_fault {
            let resolved = on_fault(draft, id, action, report);
            draft.system.components[id.0].on_fault = resolved;
        }
        if let Some(action) = &source.on_timeout {
            let resolved = on_timeout(draft, id, action, report);
            draft.system.components[id.0].on_timeout = resolved;
        }
        if let Some(ends) = source.ends_run.as_ref().filter(|ends| ***ends) {
            supervised(draft, &ends.span, report);
            let one = &draft.system[id];
            if let FaultAction::Handler(_) = one.on_fault {
                let message = format!("the end of `{}` goes to its handler", one.name);
                let help = "remove `ends-run` or `on-fault`";
                report.add(Diagnostic::error(Kind::Conflict, &ends.span, message).help(help));
            }
        }
        for may in [&source.floating_point, &source.asks_supervisor] {
            if let Some(may) = may.as_ref().filter(|may| ***may) {
                supervised(draft, &may.span, report);
            }
        }
        watches(draft, id, report);
        restarts(draft, id, report);
    }
}

/// Resolves the components whose time a component may read.
fn watches(draft: &mut Draft, id: ComponentId, report: &mut Report) {
    for (place, name) in draft.source(id).watches.iter().enumerate() {
        let Some(other) = draft.component(name, report) else {
            continue;
        };
        if draft.system[other].time.is_passive() {
            let message = format!("`{}` is passive and has no time to read", **name);
            let help = "name the components that call it";
            report.add(Diagnostic::error(Kind::Conflict, &name.span, message).help(help));
        }
        let earlier = &draft.source(id).watches[..place];
        if earlier.iter().any(|one| one.value == name.value) {
            let message = format!("the name `{}` is used twice", **name);
            report.add(Diagnostic::error(Kind::Duplicate, &name.span, message).help("remove it"));
        }
        draft.system.components[id.0].watches.push(other);
    }
}

fn on_fault(
    draft: &mut Draft,
    id: ComponentId,
    action: &At<file::FaultAction>,
    report: &mut Report,
) -> FaultAction {
    match &action.value {
        file::FaultAction::Stop => FaultAction::Stop,
        file::FaultAction::Restart => {
            supervised(draft, &action.span, report);
            FaultAction::Restart
        }
        file::FaultAction::Handler(to) => {
            handler(draft, id, to, false, report).map_or(FaultAction::Stop, FaultAction::Handler)
        }
    }
}

fn on_timeout(
    draft: &mut Draft,
    id: ComponentId,
    action: &At<file::TimeoutAction>,
    report: &mut Report,
) -> TimeoutAction {
    use file::TimeoutAction as Written;
    if !matches!(action.value, Written::Wait | Written::Handler(_)) {
        supervised(draft, &action.span, report);
    }
    if let (
        Written::Stop | Written::Restart | Written::Extend(_) | Written::Emergency(_),
        Some(supervisor),
    ) = (&action.value, draft.system.supervisor)
    {
        let one = &draft.system[id];
        let found = too_low(
            one,
            "supervisor",
            Some(supervisor.priority),
            true,
            &action.span,
        );
        found.into_iter().for_each(|error| report.add(error));
    }
    match &action.value {
        Written::Wait => TimeoutAction::Wait,
        Written::Report => TimeoutAction::Report,
        Written::Stop => TimeoutAction::Stop,
        Written::Restart => TimeoutAction::Restart,
        Written::Extend(more) => extension(draft, id, more, report),
        Written::Emergency(written) => emergency(draft, id, written, report),
        Written::Handler(to) => {
            let Some(handler) = handler(draft, id, to, true, report) else {
                return TimeoutAction::Wait;
            };
            let server = draft.system[handler.endpoint].server;
            if draft.system[server].time.is_passive() {
                let message = format!(
                    "`{}` is passive and gets no time with a timeout, as there is none left",
                    draft.system[server].name
                );
                let help = "give it `budget` and `period`";
                report.add(Diagnostic::error(Kind::BadHandler, &to.span, message).help(help));
            }
            TimeoutAction::Handler(handler)
        }
    }
}

/// Time that is added to the budget in each period.
fn extension(
    draft: &Draft,
    id: ComponentId,
    more: &At<Duration>,
    report: &mut Report,
) -> TimeoutAction {
    let one = &draft.system[id];
    let name = &one.name;
    let (kind, message, help) = match one.time {
        Time::Passive(_) => (
            Kind::Conflict,
            format!("`{name}` is passive and has no budget that could be extended"),
            "write `{ emergency = { budget = \"...\", period = \"...\" } }`",
        ),
        Time::Slice(_) => return never_used_up(name, &more.span, report),
        Time::Context(own) => {
            let good = time::duration(more, "extension", report);
            if !good || own.budget.saturating_add(**more) <= own.period {
                return TimeoutAction::Extend(**more);
            }
            let message = format!(
                "the budget {} of `{name}` and the extension {} are above the period {}",
                own.budget, **more, own.period
            );
            let help = "reduce one of them, or lengthen the period";
            (Kind::BudgetOverPeriod, message, help)
        }
    };
    report.add(Diagnostic::error(kind, &more.span, message).help(help));
    TimeoutAction::Wait
}

/// Time that is set aside.
fn emergency(
    draft: &Draft,
    id: ComponentId,
    written: &file::Startup,
    report: &mut Report,
) -> TimeoutAction {
    let one = &draft.system[id];
    if let Time::Slice(_) = one.time {
        return never_used_up(&one.name, &written.budget.span, report);
    }
    TimeoutAction::Emergency(Context {
        extra_refills: REFILLS,
        ..time::small(written, report)
    })
}

/// A slice comes again and again.
fn never_used_up(name: &str, span: &Span, report: &mut Report) -> TimeoutAction {
    let message = format!("`{name}` has slices, and its time is never used up");
    let help = "remove `on-timeout`, or give it `budget` and `period`";
    report.add(Diagnostic::error(Kind::Conflict, span, message).help(help));
    TimeoutAction::Wait
}

/// Actions of the supervisor, which only the generic root task has.
fn supervised(draft: &Draft, span: &Span, report: &mut Report) {
    let Some(root) = &draft.file.root else {
        return;
    };
    let message = format!(
        "the supervisor would do this, but the root task `{}` is in its place",
        **root
    );
    let help = "write `{ handler = \"COMPONENT.ENDPOINT\" }`, or remove `root`";
    report.add(Diagnostic::error(Kind::Conflict, span, message).help(help));
}

/// A component that handles.
fn handler(
    draft: &mut Draft,
    id: ComponentId,
    to: &At<String>,
    of_timeouts: bool,
    report: &mut Report,
) -> Option<Handler> {
    let endpoint = links::endpoint(draft, to, report)?;
    let (one, server) = (&draft.system[id], draft.system[endpoint].server);
    let other = &draft.system[server];
    if server == id {
        let message = format!("`{}` cannot handle its own faults and timeouts", one.name);
        let help = "name another component, or an action of the supervisor";
        report.add(Diagnostic::error(Kind::BadHandler, &to.span, message).help(help));
    } else if let Some(error) = too_low(one, &other.name, other.priority, of_timeouts, &to.span) {
        report.add(error.related(draft.place(server), "the handler"));
    }
    // One badge for both kinds of messages, which have different labels.
    let known = of(one).find(|handler| handler.endpoint == endpoint);
    let badge = known.map_or_else(|| links::free_badge(draft, endpoint), |known| known.badge);
    Some(Handler { endpoint, badge })
}

/// A handler that cannot preempt what it handles. A request of a passive server that has run out of time is ended by the
/// handler of timeouts, and other callers wait until then; callers can have the server's own priority.
fn too_low(
    one: &Component,
    handler: &str,
    priority: Option<u8>,
    of_timeouts: bool,
    span: &Span,
) -> Option<Diagnostic> {
    let (own, priority) = (one.priority?, priority?);
    let ends_requests = of_timeouts && one.time.is_passive();
    let (is, help) = if ends_requests && priority <= own {
        let help = format!("raise its priority above {own}, so that it preempts all callers");
        ("not above", help)
    } else if priority < own {
        ("below", format!("raise its priority to at least {own}"))
    } else {
        return None;
    };
    let message = format!(
        "the handler `{handler}` has priority {priority}, {is} the {own} of `{}`",
        one.name
    );
    Some(Diagnostic::error(Kind::BadHandler, span, message).help(help))
}

/// The limit of restarts.
fn restarts(draft: &mut Draft, id: ComponentId, report: &mut Report) {
    let Some(written) = &draft.source(id).restarts else {
        return;
    };
    let one = &draft.system[id];
    if one.on_fault != FaultAction::Restart && one.on_timeout != TimeoutAction::Restart {
        let message = format!("`{}` is never restarted", one.name);
        let help = "remove `restarts`, or add `on-fault = \"restart\"`";
        report.add(Diagnostic::error(Kind::Conflict, &written.most.span, message).help(help));
    }
    time::duration(&written.within, "time", report);
    let most = number(
        Some(&written.most),
        1..=1_000_000,
        "number of restarts",
        report,
    );
    draft.system.components[id.0].restarts = most.map(|most| (most as u32, *written.within));
}

//! The graph of calls: priorities, cycles, passive components, thresholds and limits.

use super::Draft;
use super::links::{position_of, target};
use crate::file::{self, At};
use crate::platform::Device;
use crate::report::{Diagnostic, Kind, Report, Span};
use crate::system::{ComponentId, DeviceUse, EndpointId, FaultAction, SMALLEST, TimeoutAction};

/// Checks the graph of calls.
pub(super) fn all(draft: &Draft, report: &mut Report) {
    for caller in draft.system.ids() {
        ceilings(draft, caller, report);
    }
    cycles(draft, report);
    for id in draft.system.ids() {
        passive(draft, id, report);
        other_cores(draft, id, report);
    }
    for id in (0..draft.system.endpoints.len()).map(EndpointId) {
        threshold(draft, id, report);
    }
    for id in draft.system.ids() {
        limits(draft, id, report);
    }
    silence(draft, report);
}

/// The calls of a component, with their places.
fn calls<'a>(
    draft: &'a Draft,
    caller: ComponentId,
) -> impl Iterator<Item = (EndpointId, Span)> + 'a {
    let written = &draft.source(caller).calls.0;
    draft.system[caller].calls.iter().filter_map(move |call| {
        let (_, at) = written.iter().find(|(name, _)| **name == call.name)?;
        Some((call.to, target(at).span))
    })
}

/// The same, and the endpoint of another component to which its faults go: the kernel sends them as calls.
fn calls_and_faults<'a>(
    draft: &'a Draft,
    caller: ComponentId,
) -> impl Iterator<Item = (EndpointId, Span)> + 'a {
    let written = draft.source(caller).on_fault.as_ref();
    let fault = match (draft.system[caller].on_fault, written.map(|at| &at.value)) {
        (FaultAction::Handler(handler), Some(file::FaultAction::Handler(to))) => {
            Some((handler.endpoint, to.span.clone()))
        }
        _ => None,
    };
    calls(draft, caller).chain(fault)
}

/// What the file says about an endpoint.
fn written<'a>(draft: &'a Draft, id: EndpointId) -> &'a (At<String>, At<file::Endpoint>) {
    &draft.source(draft.system[id].server).serves.0[position_of(draft, id)]
}

/// A server's priority is at least that of each caller: otherwise a thread in between delays both. The same
/// holds for criticality; that of a passive server is its caller's.
fn ceilings(draft: &Draft, caller: ComponentId, report: &mut Report) {
    for (to, span) in calls(draft, caller) {
        let server_id = draft.system[to].server;
        let (caller, server) = (&draft.system[caller], &draft.system[server_id]);
        if server.criticality < caller.criticality && !server.time.is_passive() {
            let message = format!(
                "`{}` has criticality {}, below the {} of its caller `{}`",
                server.name, server.criticality, caller.criticality, caller.name
            );
            let one = Diagnostic::warning(Kind::CeilingBroken, &span, message);
            report.add(one.help("raise its criticality, or make it `passive = true`"));
        }
        let (Some(own), Some(priority)) = (caller.priority, server.priority) else {
            continue;
        };
        if priority >= own {
            continue;
        }
        let message = format!(
            "`{}` has priority {priority}, below the {own} of its caller `{}`",
            server.name, caller.name
        );
        let one = if server.time.is_passive() {
            Diagnostic::error(Kind::CeilingBroken, &span, message)
        } else {
            Diagnostic::warning(Kind::CeilingBroken, &span, message)
        };
        let help = format!("raise the priority of `{}` to at least {own}", server.name);
        let place = draft.source(server_id).priority.as_ref();
        let place = place.map_or(draft.place(server_id), |priority| &priority.span);
        report.add(one.help(help).related(place, "the server's"));
    }
}

/// Components that wait for each other.
fn cycles(draft: &Draft, report: &mut Report) {
    let count = draft.system.components.len();
    let mut done = vec![false; count];
    for start in draft.system.ids() {
        // A path of components, each with the calls that are still to be followed.
        let mut path = Vec::new();
        let mut next = Some(start).filter(|start| !done[start.0]);
        while let Some(id) = next {
            path.push((id, calls(draft, id).collect::<Vec<_>>().into_iter()));
            next = None;
            while let Some((id, calls)) = path.last_mut() {
                let Some((to, span)) = calls.next() else {
                    done[id.0] = true;
                    path.pop();
                    continue;
                };
                let server = draft.system[to].server;
                if let Some(begin) = path.iter().position(|(id, _)| *id == server) {
                    circle(
                        draft,
                        path[begin..].iter().map(|(id, _)| *id),
                        &span,
                        report,
                    );
                } else if !done[server.0] {
                    next = Some(server);
                    break;
                }
            }
        }
    }
}

fn circle(
    draft: &Draft,
    path: impl Iterator<Item = ComponentId>,
    span: &Span,
    report: &mut Report,
) {
    let mut names: Vec<_> = path.map(|id| &*draft.system[id].name).collect();
    names.push(names[0]);
    let message = format!(
        "these components wait for each other: {}",
        names.join(" -> ")
    );
    let help = "replace one of the calls by a signal";
    report.add(Diagnostic::error(Kind::CallCycle, span, message).help(help));
}

/// A passive component runs only when it is called.
fn passive(draft: &Draft, id: ComponentId, report: &mut Report) {
    let one = &draft.system[id];
    let Some(written) = &draft.source(id).passive else {
        return;
    };
    if !one.time.is_passive() || draft.has_gaps {
        return;
    }
    let components = &draft.system.components;
    let called = components.iter().any(|other| {
        let calls = other.calls.iter().map(|call| call.to);
        let handlers = super::handlers::of(other).map(|handler| handler.endpoint);
        calls
            .chain(handlers)
            .any(|to| draft.system[to].server == id)
    });
    if !called {
        let message = format!("no component calls `{}`, so it never runs", one.name);
        let help = "let a component call it, or give it `budget` and `period`";
        report.add(Diagnostic::error(Kind::PassiveUncalled, &written.span, message).help(help));
    }
}

/// The components with time of their own on which a call of `caller` may run, with the place of their call.
fn donors(draft: &Draft, caller: ComponentId, span: &Span) -> Vec<(ComponentId, Span)> {
    let mut found = Vec::new();
    let mut seen = vec![caller];
    let mut waiting = vec![(caller, span.clone())];
    while let Some((id, span)) = waiting.pop() {
        if !draft.system[id].time.is_passive() {
            found.push((id, span));
            continue;
        }
        for other in draft
            .system
            .ids()
            .filter(|other| !seen.contains(other))
            .collect::<Vec<_>>()
        {
            let call =
                calls_and_faults(draft, other).find(|(to, _)| draft.system[*to].server == id);
            if let Some((_, span)) = call {
                seen.push(other);
                waiting.push((other, span));
            }
        }
    }
    found
}

/// A passive component runs on the cores of its callers, where a device that consists of registers of a core is another
/// one.
fn other_cores(draft: &Draft, id: ComponentId, report: &mut Report) {
    let driver = &draft.system[id];
    let is_of_core = |one: &&DeviceUse| {
        let Device {
            registers, ports, ..
        } = &one.resources;
        registers.is_empty() && ports.is_empty()
    };
    let Some(device) = driver.devices.iter().find(is_of_core) else {
        return;
    };
    if !driver.time.is_passive() {
        return;
    }
    for caller in draft.system.ids() {
        let uses = calls_and_faults(draft, caller);
        for (_, span) in uses.filter(|(to, _)| draft.system[*to].server == id) {
            for (donor, span) in donors(draft, caller, &span) {
                let donor = &draft.system[donor];
                if donor.core == driver.core {
                    continue;
                }
                let (driver, device, core) = (&driver.name, &device.device, driver.core);
                let message = format!(
                    "`{driver}` runs on core {} for `{}`, and its device `{device}` consists of registers of core {core}",
                    donor.core, donor.name
                );
                let help = format!(
                    "give both the same core, or `{driver}` a budget and a period instead of `passive`"
                );
                report.add(Diagnostic::error(Kind::OtherCore, &span, message).help(help));
            }
        }
    }
}

/// A threshold covers the request, and each caller can reach it.
fn threshold(draft: &Draft, id: EndpointId, report: &mut Report) {
    let (place, file) = written(draft, id);
    let name = draft.system.endpoint_name(id);
    let mut bad = |span: &Span, message: String, help: String| {
        report.add(Diagnostic::error(Kind::BadThreshold, span, message).help(help));
    };
    let server = &draft.system[draft.system[id].server];
    let Some(threshold) = &file.threshold else {
        if file.limit {
            let help = "add `threshold = \"...\"`".to_string();
            bad(
                &place.span,
                format!("the limit of `{name}` has no amount"),
                help,
            );
        }
        // With any condition, an endpoint takes no message that comes without a context, such as one about a timeout.
        if (file.donation_required || file.tell_budget) && !server.time.is_passive() {
            lends_nothing(&server.name, &place.span, &mut bad);
        }
        return;
    };
    if !server.time.is_passive() {
        lends_nothing(&server.name, &threshold.span, &mut bad);
        return;
    }
    // At a limit, the context returns to the caller: the server has none with which it could continue.
    let continues = matches!(
        server.on_timeout,
        TimeoutAction::Wait | TimeoutAction::Report
    );
    if file.limit && continues && draft.file.root.is_none() {
        let message = format!(
            "the limit of `{name}` ends a request, and after that `{}` would never receive again",
            server.name
        );
        let help = "add `on-timeout = \"restart\"`, `\"stop\"` or a handler".to_string();
        bad(&place.span, message, help);
    }
    // The guarantee of a threshold: docs/src/concepts/thresholds.md.
    let endpoint = &draft.system[id];
    if let Some(cost) = endpoint.cost
        && cost.saturating_add(SMALLEST) > **threshold
    {
        let needs = cost.saturating_add(SMALLEST);
        let longest = endpoint.operations.iter().find(|(_, other)| *other == cost);
        let request = longest.map_or("request".to_string(), |(name, _)| {
            format!("operation `{name}`")
        });
        let message = format!(
            "the threshold {} does not cover the {request}: {cost} and {SMALLEST} for the kernel",
            **threshold
        );
        bad(
            &threshold.span,
            message,
            format!("write at least `threshold = \"{needs}\"`"),
        );
    }
    let needs = threshold.saturating_add(SMALLEST);
    for caller in draft.system.ids() {
        for (_, span) in calls_and_faults(draft, caller)
            .filter(|(to, _)| *to == id)
            .collect::<Vec<_>>()
        {
            let donors = donors(draft, caller, &span);
            let mut users: Vec<_> = donors.iter().map(|(donor, _)| *donor).collect();
            // A passive one may call when it has no caller's time any more.
            if draft.system[caller].time.is_passive() {
                users.push(caller);
            }
            for user in users {
                let user = &draft.system[user];
                let Some((what, context)) = user.emergency() else {
                    continue;
                };
                if context.budget < needs {
                    let message = format!(
                        "`{}` cannot call `{name}` in its {what} time: that is {}, and the threshold needs {needs}",
                        user.name, context.budget
                    );
                    let help = "lengthen it, or lower the threshold".to_string();
                    bad(&span, message, help);
                }
            }
            for (donor, _) in donors {
                let budget = draft.system[donor].time.budget().unwrap_or_default();
                if budget < needs {
                    let donor = &draft.system[donor].name;
                    let message = format!(
                        "`{donor}` can never call `{name}`: its budget is {budget}, and the threshold \
                         needs {needs}"
                    );
                    bad(
                        &span,
                        message,
                        "enlarge the budget, or lower the threshold".to_string(),
                    );
                }
            }
        }
    }
}

fn lends_nothing(server: &str, span: &Span, bad: &mut impl FnMut(&Span, String, String)) {
    let message = format!("no caller can lend its time to `{server}`, which has time of its own");
    bad(
        span,
        message,
        "make it `passive = true`, or remove the condition".to_string(),
    );
}

/// A server that runs under a limit calls only where the limit holds, too.
fn limits(draft: &Draft, id: ComponentId, report: &mut Report) {
    let endpoints = draft.system[id].serves.iter().map(|id| &draft.system[*id]);
    let limits = endpoints
        .filter(|one| one.limit)
        .filter_map(|one| one.threshold);
    let Some(limit) = limits.min() else {
        return;
    };
    for (to, span) in calls_and_faults(draft, id) {
        let inner = &draft.system[to];
        if !draft.system[inner.server].time.is_passive() {
            continue;
        }
        let name = draft.system.endpoint_name(to);
        let message = match inner.threshold.filter(|_| inner.limit) {
            None => format!(
                "`{name}` has no limit, and `{}` runs under one",
                draft.system[id].name
            ),
            Some(amount) if amount > limit => format!(
                "the limit {amount} of `{name}` exceeds the {limit} under which `{}` runs",
                draft.system[id].name
            ),
            Some(_) => continue,
        };
        let help = format!("give it `limit = true` and a threshold of at most {limit}");
        report.add(Diagnostic::error(Kind::LimitNesting, &span, message).help(help));
    }
}

/// Signals and endpoints that no component uses.
fn silence(draft: &Draft, report: &mut Report) {
    if draft.has_gaps || draft.file.root.is_some() {
        return;
    }
    let components = &draft.system.components;
    for (place, signal) in draft.system.signals.iter().enumerate() {
        let sent = |one: &crate::system::Component| one.signals.iter().any(|(_, id)| id.0 == place);
        if components.iter().any(sent) {
            continue;
        }
        let waits = &draft.source(signal.receiver).waits;
        if let Some(at) = waits.get(signal.bit as usize) {
            let message = format!("no component sends the signal `{}`", signal.name);
            let help = "add it to the `signals` of a component, or remove it";
            report.add(Diagnostic::warning(Kind::Unused, &at.span, message).help(help));
        }
    }
}

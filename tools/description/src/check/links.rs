//! Endpoints and calls, signals, and shared memory: the references between components.

use std::collections::HashSet;

use super::components::{name, number};
use super::{Draft, time, unknown};
use crate::Duration;
use crate::file::{self, At, Either, Rights, Uses};
use crate::report::{Diagnostic, Kind, Report, Span};
use crate::system::{Call, ComponentId, Endpoint, EndpointId, Mapping, RegionId, Signal, SignalId};

/// The most calls that a job makes of one kind.
const MOST_TIMES: i64 = 1_000_000;

/// Resolves all references.
pub(super) fn all(draft: &mut Draft, report: &mut Report) {
    for id in draft.system.ids() {
        endpoints(draft, id, report);
        signals(draft, id, report);
    }
    let explicit = explicit_badges(draft);
    for id in draft.system.ids() {
        calls(draft, id, &explicit, report);
        sends(draft, id, report);
        maps(draft, id, report);
    }
}

/// The names in a list or table, each once.
pub(super) fn once<T>(uses: &Uses<T>, what: &str, report: &mut Report) {
    let names: Vec<_> = uses.0.iter().map(|(name, _)| name).collect();
    each_once(&names, what, report);
}

fn each_once(names: &[&At<String>], what: &str, report: &mut Report) {
    for (index, one) in names.iter().enumerate() {
        name(one, what, report);
        if let Some(first) = names[..index].iter().find(|other| other.value == one.value) {
            let message = format!("the name `{}` is used twice", one.value);
            let help = "write a table, `NAME = \"...\"`, with names of your own";
            let one = Diagnostic::error(Kind::Duplicate, &one.span, message).help(help);
            report.add(one.related(&first.span, "here, too"));
        }
    }
}

/// The endpoints at which a component serves.
fn endpoints(draft: &mut Draft, server: ComponentId, report: &mut Report) {
    let written = &draft.source(server).serves;
    once(written, "an endpoint", report);
    for (name, one) in &written.0 {
        if let Some(threshold) = &one.threshold {
            time::duration(threshold, "threshold", report);
        }
        if let Some(protocol) = &one.protocol {
            path(protocol, report);
        }
        let (cost, operations) = costs(one, report);
        let id = EndpointId(draft.system.endpoints.len());
        draft.system.endpoints.push(Endpoint {
            name: name.value.clone(),
            server,
            protocol: one.protocol.as_ref().map(|one| one.value.clone()),
            cost,
            operations,
            service: one.service.as_ref().map(|service| **service),
            threshold: one.threshold.as_ref().map(|threshold| **threshold),
            limit: one.limit,
            donation_required: one.donation_required,
            tell_budget: one.tell_budget,
        });
        draft.system.components[server.0].serves.push(id);
    }
}

/// The cost of a request, which is that of the longest operation, and those of the operations.
fn costs(one: &file::Endpoint, report: &mut Report) -> (Option<Duration>, Vec<(String, Duration)>) {
    let Some(cost) = &one.cost else {
        return (None, Vec::new());
    };
    let operations = match &cost.value {
        Either::Short(cost) => return (Some(*cost), Vec::new()),
        Either::Long(operations) => operations,
    };
    if one.protocol.is_none() {
        let help = "add `protocol = \"CRATE::MODULE\"`, or write one duration";
        let message = "operations without a protocol have no costs";
        report.add(Diagnostic::error(Kind::Conflict, &cost.span, message).help(help));
    }
    for (name, _) in operations.0.iter().filter(|(name, _)| !is_name(name)) {
        let message = format!("`{}` is no name of an operation", **name);
        let help = "write the name of the function in the protocol";
        report.add(Diagnostic::error(Kind::BadName, &name.span, message).help(help));
    }
    let costs = operations.0.iter();
    let costs: Vec<_> = costs
        .map(|(name, cost)| (name.value.clone(), **cost))
        .collect();
    (costs.iter().map(|(_, cost)| *cost).max(), costs)
}

/// The cost of a caller's requests, if it says for which operations it asks.
fn cost_of_operations(
    draft: &Draft,
    id: EndpointId,
    call: &file::Call,
    report: &mut Report,
) -> Option<Duration> {
    let endpoint = &draft.system[id];
    let known: Vec<_> = endpoint
        .operations
        .iter()
        .map(|(name, _)| &**name)
        .collect();
    for name in &call.operations {
        if !known.contains(&name.as_str()) {
            let place = format!(" with a cost at `{}`", draft.system.endpoint_name(id));
            report.add(unknown("operation", name, &place, &known));
        }
    }
    if let (Some(cost), [_, ..]) = (&call.cost, &*call.operations) {
        let message = "the cost of a request is that of its operations";
        let help = "remove `cost` or `operations`";
        report.add(Diagnostic::error(Kind::Conflict, &cost.span, message).help(help));
    }
    let is_asked = |name: &String| call.operations.iter().any(|one| one.value == *name);
    let costs = endpoint.operations.iter();
    costs
        .filter(|(name, _)| is_asked(name))
        .map(|(_, cost)| *cost)
        .max()
}

/// Whether Rust has such names.
fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// A protocol is a path of Rust.
fn path(protocol: &At<String>, report: &mut Report) {
    if !(protocol.contains("::") && protocol.split("::").all(is_name)) {
        let message = format!("`{}` is no path of a protocol", protocol.value);
        let help = "write the crate, with `_` for `-`, and the module: `CRATE::MODULE`";
        report.add(Diagnostic::error(Kind::BadValue, &protocol.span, message).help(help));
    }
}

/// The signals for which a component waits.
fn signals(draft: &mut Draft, receiver: ComponentId, report: &mut Report) {
    let written = &draft.source(receiver).waits;
    each_once(&written.iter().collect::<Vec<_>>(), "a signal", report);
    let most = draft.platform.badge_bits() as usize;
    if let Some(one) = written.get(most) {
        let message = format!(
            "{} signals are more than the {most} of a component",
            written.len()
        );
        let help = "use one signal for several purposes, or another component";
        report.add(Diagnostic::error(Kind::OutOfRange, &one.span, message).help(help));
    }
    for (bit, name) in written.iter().enumerate() {
        let id = SignalId(draft.system.signals.len());
        let name = name.value.clone();
        draft.system.signals.push(Signal {
            name,
            receiver,
            bit: bit as u32,
        });
        draft.system.components[receiver.0].waits.push(id);
    }
}

/// The endpoint of `COMPONENT` or `COMPONENT.ENDPOINT`.
pub(super) fn endpoint(
    draft: &mut Draft,
    to: &At<String>,
    report: &mut Report,
) -> Option<EndpointId> {
    let (component, endpoint) = split(to);
    let id = draft.component(&component, report)?;
    let server = &draft.system[id];
    let names: Vec<_> = server
        .serves
        .iter()
        .map(|id| &*draft.system[*id].name)
        .collect();
    let problem = match (endpoint, &*server.serves) {
        (Some(wanted), _) => match names.iter().position(|name| *name == *wanted) {
            Some(place) => return Some(server.serves[place]),
            None => unknown(
                "endpoint",
                &wanted,
                &format!(" of `{}`", server.name),
                &names,
            ),
        },
        (None, [only]) => return Some(*only),
        (None, []) => {
            let message = format!("component `{}` serves no calls", server.name);
            Diagnostic::error(Kind::UnknownName, &to.span, message)
                .help("add `serves = [\"NAME\"]` to it")
        }
        (None, _) => {
            let message = format!("component `{}` serves several endpoints", server.name);
            let names: Vec<_> = names
                .iter()
                .map(|name| format!("{}.{name}", server.name))
                .collect();
            Diagnostic::error(Kind::Ambiguous, &to.span, message)
                .help(format!("name one of {}", super::quoted(&names)))
        }
    };
    draft.has_gaps = true;
    report.add(problem);
    None
}

/// The parts of `COMPONENT.NAME`. Their place is that of the whole.
fn split(to: &At<String>) -> (At<String>, Option<At<String>>) {
    let part = |text: &str| At {
        value: text.to_string(),
        span: to.span.clone(),
    };
    match to.split_once('.') {
        Some((component, rest)) => (part(component), Some(part(rest))),
        None => (to.clone(), None),
    }
}

/// The target of a call in either form.
pub(super) fn target(call: &At<Either<String, crate::file::Call>>) -> At<String> {
    match &call.value {
        Either::Short(to) => At {
            value: to.clone(),
            span: call.span.clone(),
        },
        Either::Long(call) => call.to.clone(),
    }
}

/// A badge that is written in the file: where, and by which component.
type Badge = (String, u64);

/// The badges that are written in the file, for each target as it is written.
fn explicit_badges(draft: &Draft) -> Vec<Badge> {
    let mut badges = Vec::new();
    for (one, _) in &draft.sources {
        for (_, call) in &one.calls.0 {
            if let Either::Long(long) = &call.value
                && let Some(badge) = &long.badge
            {
                let count = one
                    .instances
                    .as_ref()
                    .map_or(1, |count| (**count).clamp(1, 64));
                for instance in 0..count {
                    badges.push((
                        long.to.value.clone(),
                        (**badge).saturating_add(instance).max(0) as u64,
                    ));
                }
            }
        }
    }
    badges
}

/// The next badge that nothing has at an endpoint.
pub(super) fn free_badge(draft: &Draft, endpoint: EndpointId) -> u64 {
    first_free(draft.badges(endpoint))
}

/// The first badge that is not among those `taken`.
fn first_free(taken: impl Iterator<Item = u64>) -> u64 {
    let taken: HashSet<_> = taken.collect();
    (1..)
        .find(|badge| !taken.contains(badge))
        .unwrap_or(u64::MAX)
}

impl Draft<'_> {
    /// The badges at an endpoint.
    fn badges(&self, endpoint: EndpointId) -> impl Iterator<Item = u64> {
        self.system.components.iter().flat_map(move |one| {
            let calls = one.calls.iter().filter(move |call| call.to == endpoint);
            let handlers =
                super::handlers::of(one).filter(move |handler| handler.endpoint == endpoint);
            calls
                .map(|call| call.badge)
                .chain(handlers.map(|handler| handler.badge))
        })
    }
}

/// The calls of a component.
fn calls(draft: &mut Draft, caller: ComponentId, explicit: &[Badge], report: &mut Report) {
    let source = draft.source(caller);
    once(&source.calls, "a call", report);
    let instance = u64::from(draft.system[caller].instance.unwrap_or(0));
    for (name, call) in &source.calls.0 {
        let to = target(call);
        let Some(id) = endpoint(draft, &to, report) else {
            continue;
        };
        let (badge, grant, times) = match &call.value {
            Either::Short(_) => (None, None, None),
            Either::Long(long) => (
                long.badge.as_ref(),
                long.grant.as_ref(),
                long.times.as_ref(),
            ),
        };
        let most = 1_i64
            .checked_shl(draft.platform.badge_bits())
            .map_or(i64::MAX, |end| end.wrapping_sub(1));
        let most = if most > 0 { most } else { i64::MAX };
        let written = number(badge, 1..=most, "badge", report);
        let badge = match (written, badge) {
            (Some(written), Some(at)) => {
                let badge = (written as u64).saturating_add(instance);
                if draft.badges(id).any(|used| used == badge) {
                    let name = draft.system.endpoint_name(id);
                    let message = format!("the badge {badge} is used twice at `{name}`");
                    let help = "write another badge, or none: then a free one is chosen";
                    report.add(Diagnostic::error(Kind::Duplicate, &at.span, message).help(help));
                }
                badge
            }
            _ => {
                let reserved = explicit.iter().filter(|(to, _)| same_target(draft, to, id));
                first_free(draft.badges(id).chain(reserved.map(|(_, badge)| *badge)))
            }
        };
        let may_grant = grant.is_some_and(|grant| **grant);
        let server = draft.system[id].server;
        let (_, accepts) = &draft.source(server).serves.0[position_of(draft, id)];
        if let Some(grant) = grant
            && **grant
            && !accepts.accepts_capabilities
        {
            let message = format!(
                "`{}` accepts no capabilities",
                draft.system.endpoint_name(id)
            );
            let help = "remove `grant`, or add `accepts-capabilities = true` to the endpoint";
            report.add(Diagnostic::error(Kind::Rights, &grant.span, message).help(help));
        }
        let times = number(times, 0..=MOST_TIMES, "number of calls", report);
        let cost = match &call.value {
            Either::Long(long) => {
                let operations = cost_of_operations(draft, id, long, report);
                operations.or(long.cost.as_ref().map(|cost| **cost))
            }
            Either::Short(_) => None,
        };
        let call = Call {
            name: name.value.clone(),
            to: id,
            badge,
            grant: may_grant,
            times: times.map_or(1, |times| times as u32),
            cost: cost.or(draft.system[id].cost),
        };
        draft.system.components[caller.0].calls.push(call);
    }
}

/// Whether the text of a target means this endpoint.
fn same_target(draft: &Draft, to: &str, id: EndpointId) -> bool {
    let server = &draft.system[draft.system[id].server];
    to == draft.system.endpoint_name(id) || (to == server.name && server.serves.len() == 1)
}

/// The place of an endpoint among those of its server.
pub(super) fn position_of(draft: &Draft, id: EndpointId) -> usize {
    let server = &draft.system[draft.system[id].server];
    server
        .serves
        .iter()
        .position(|other| *other == id)
        .unwrap_or(0)
}

/// The signals that a component sends.
fn sends(draft: &mut Draft, sender: ComponentId, report: &mut Report) {
    let source = draft.source(sender);
    once(&source.signals, "a signal", report);
    for (name, to) in &source.signals.0 {
        let (component, signal) = split(to);
        let Some(receiver) = draft.component(&component, report) else {
            continue;
        };
        let waits = &draft.system[receiver].waits;
        let known: Vec<_> = waits.iter().map(|id| &*draft.system[*id].name).collect();
        let place = match &signal {
            Some(signal) => known.iter().position(|name| **name == **signal),
            None => (known.len() == 1).then_some(0),
        };
        let Some(place) = place else {
            draft.has_gaps = true;
            report.add(no_signal(to, signal.as_ref(), &component, &known));
            continue;
        };
        let id = waits[place];
        draft.system.components[sender.0]
            .signals
            .push((name.value.clone(), id));
    }
}

fn no_signal(
    to: &At<String>,
    signal: Option<&At<String>>,
    component: &str,
    known: &[&str],
) -> Diagnostic {
    match signal {
        Some(signal) if !known.is_empty() => {
            unknown("signal", signal, &format!(" of `{component}`"), known)
        }
        None if known.len() > 1 => {
            let message = format!("component `{component}` waits for several signals");
            let names: Vec<_> = known
                .iter()
                .map(|name| format!("{component}.{name}"))
                .collect();
            Diagnostic::error(Kind::Ambiguous, &to.span, message)
                .help(format!("name one of {}", super::quoted(&names)))
        }
        _ => {
            let message = format!("component `{component}` waits for no signals");
            Diagnostic::error(Kind::UnknownName, &to.span, message)
                .help("add `waits = [\"NAME\"]` to it")
        }
    }
}

/// The shared memory that a component sees.
fn maps(draft: &mut Draft, id: ComponentId, report: &mut Report) {
    let source = draft.source(id);
    let regions = &draft.file.memory;
    each_once(
        &source
            .memory
            .0
            .iter()
            .map(|(name, _)| name)
            .collect::<Vec<_>>(),
        "shared memory",
        report,
    );
    for (name, one) in &source.memory.0 {
        let (region, rights, span) = match one {
            Either::Short(rights) => (name, *rights, &name.span),
            Either::Long(long) => (&long.region, *long.rights, &long.rights.span),
        };
        let Some(place) = regions.names().position(|known| known == **region) else {
            draft.has_gaps = true;
            report.add(unknown(
                "shared memory",
                region,
                "",
                &regions.names().collect::<Vec<_>>(),
            ));
            continue;
        };
        if let Some(most) = &regions.0[place].1.rights {
            check_rights(region, rights, span, most, report);
        }
        if rights == Rights::ReadExecute && regions.0[place].1.cacheable == Some(false) {
            let message = format!(
                "`{}` is not cacheable, and programs are not executed there",
                **region
            );
            let help = "let it be cacheable, or ask for `read`";
            report.add(Diagnostic::error(Kind::Rights, span, message).help(help));
        }
        let name = name.value.clone();
        let map = Mapping {
            name,
            region: RegionId(place),
            rights,
        };
        draft.system.components[id.0].maps.push(map);
    }
}

/// Rights that go beyond those of the memory.
fn check_rights(region: &str, rights: Rights, span: &Span, most: &At<Rights>, report: &mut Report) {
    if rights == **most || rights == Rights::Read {
        return;
    }
    let verb = if rights == Rights::ReadWrite {
        "write"
    } else {
        "execute"
    };
    let message = format!("no component may {verb} `{region}`");
    let one = Diagnostic::error(Kind::Rights, span, message);
    let one = one.help("ask for less, or change `rights` of the memory");
    report.add(one.related(&most.span, "the most rights"));
}

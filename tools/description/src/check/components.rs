//! Components: their names, instances and numbers.

use super::{Draft, analysis, each_once, programs_of, time};
use crate::file::{self, Argument, At};
use crate::report::{Diagnostic, Kind, Report, Span};
use crate::system::{Component, DomainId, FaultAction, TimeoutAction};
use crate::units::Size;

/// The longest name.
const LONGEST_NAME: usize = 32;
/// The most instances of a component.
const MOST_INSTANCES: i64 = 64;
/// The stack of a component that does not say anything else.
const STACK: Size = Size::from_bytes(16 << 10);
/// The highest criticality of the kernel.
const MOST_CRITICAL: i64 = 7;

/// Makes all components, without what connects them.
pub(super) fn all(draft: &mut Draft, report: &mut Report) {
    let file = draft.file;
    draft.system.programs = each_once(programs_of(file).collect());
    if let Some(root) = &file.root {
        let names = [root].into_iter().chain(&file.programs);
        names.for_each(|one| name(one, "program", report));
    }
    for (named, one) in &file.component.0 {
        name(named, "component", report);
        let exists = one
            .platforms
            .as_ref()
            .is_none_or(|platforms| platforms.iter().any(|name| **name == draft.platform.name));
        if exists {
            component(draft, named, one, report);
        }
    }
}

/// Checks the form of a name.
pub(super) fn name(name: &At<String>, what: &str, report: &mut Report) {
    let good = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let begins = name.starts_with(|letter: char| letter.is_ascii_alphabetic());
    if begins && name.chars().all(good) && name.len() <= LONGEST_NAME {
        return;
    }
    let message = format!("`{}` is no name of a {what}", name.escape_debug());
    let help = format!(
        "begin with a letter, and use letters, digits, `-` and `_`, {LONGEST_NAME} at the most"
    );
    report.add(Diagnostic::error(Kind::BadName, &name.span, message).help(help));
}

/// A name that is made of the one at `span` must not be too long.
pub(super) fn made_name(name: &str, span: &Span, report: &mut Report) {
    if name.len() > LONGEST_NAME {
        let message =
            format!("`{name}`, which is made of this name, has more than {LONGEST_NAME} letters");
        report.add(Diagnostic::error(Kind::BadName, span, message).help("use a shorter name"));
    }
}

/// Arguments have names, and numbers that are words of the platform.
fn arguments(draft: &Draft, one: &file::Component, report: &mut Report) {
    for (name, value) in &one.arguments.0 {
        self::name(name, "value for a program", report);
        let most = match is_signed(draft, one, name) {
            true => i64::from(i32::MAX),
            false => i64::from(u32::MAX),
        };
        let fits = |number: i64| (i64::from(i32::MIN)..=most).contains(&number);
        if let Argument::Number(number) = value
            && draft.platform.word_bits == 32
            && !fits(*number)
        {
            let message = format!("the argument `{}` is {number}, no word of 32 bits", **name);
            let help = format!(
                "write a smaller number, or another one in `[platform.{}]`",
                draft.platform.name
            );
            report.add(Diagnostic::error(Kind::OutOfRange, &name.span, message).help(help));
        }
    }
}

/// Whether an argument of a program is a number with a sign: one of the program's components has a negative one.
fn is_signed(draft: &Draft, one: &file::Component, name: &str) -> bool {
    let program = one.program.as_deref();
    let components = draft.file.component.0.iter().map(|(_, other)| other);
    let mut arguments = components
        .filter(|other| other.program.as_deref() == program)
        .flat_map(|other| &other.arguments.0);
    arguments.any(|(its, value)| **its == name && matches!(value, Argument::Number(..0)))
}

/// An integer within the kernel's range.
pub(super) fn number(
    value: Option<&At<i64>>,
    range: std::ops::RangeInclusive<i64>,
    what: &str,
    report: &mut Report,
) -> Option<i64> {
    let value = value?;
    if range.contains(value) {
        return Some(**value);
    }
    let message = format!("{} is no {what}", **value);
    let help = format!("write a number from {} to {}", range.start(), range.end());
    report.add(Diagnostic::error(Kind::OutOfRange, &value.span, message).help(help));
    None
}

/// All instances of a component.
fn component<'f>(
    draft: &mut Draft<'f>,
    name: &At<String>,
    one: &'f file::Component,
    report: &mut Report,
) {
    let span = &name.span;
    let count = number(
        one.instances.as_ref(),
        1..=MOST_INSTANCES,
        "number of instances",
        report,
    );
    let is_complete = draft.is_complete(name);
    if draft.file.root.is_none() && !draft.is_task_set() && one.program.is_none() && is_complete {
        let message = format!("component `{}` has no program, but others have", **name);
        let help = "add `program = \"...\"`, the name of its crate";
        report.add(Diagnostic::error(Kind::NoProgram, span, message).help(help));
    }
    if let Some(program) = &one.program {
        self::name(program, "program", report);
    }
    arguments(draft, one, report);
    let byte = |value: Option<&At<i64>>, most, what: &str, report: &mut Report| {
        number(value, 0..=most, what, report).map(|value| value as u8)
    };
    let priority = byte(one.priority.as_ref(), 255, "priority", report);
    if one.priority.is_none() && !draft.is_task_set() && is_complete {
        let message = format!("component `{}` has no priority", **name);
        let help = "add `priority = N`, from 0 to 255, which is the highest";
        report.add(Diagnostic::error(Kind::MissingKey, span, message).help(help));
    }
    let ceiling = byte(
        one.max_controlled_priority.as_ref(),
        255,
        "priority",
        report,
    );
    let criticality = byte(
        one.criticality.as_ref(),
        MOST_CRITICAL,
        "criticality",
        report,
    );
    let most_critical = byte(
        one.max_controlled_criticality.as_ref(),
        MOST_CRITICAL,
        "criticality",
        report,
    );
    let plain = Component {
        name: name.value.clone(),
        program: one.program.as_ref().map(|program| program.value.clone()),
        instance: None,
        heap: size(one.heap.as_ref(), Size::default(), "heap", report),
        stack: size(one.stack.as_ref(), STACK, "stack", report),
        arguments: one
            .arguments
            .0
            .iter()
            .map(|(name, value)| (name.value.clone(), value.clone()))
            .collect(),
        time: time::of(name, one, is_complete, report),
        priority,
        max_controlled_priority: ceiling.unwrap_or(0),
        criticality: criticality.unwrap_or(0),
        max_controlled_criticality: most_critical.unwrap_or(0),
        core: 0,
        domain: domain(draft, name, one, report),
        job: time::job(one, criticality.unwrap_or(0), report),
        scheduler: analysis::scheduler_of(draft, name, one, report),
        guest: analysis::guest(one, report),
        serves: Vec::new(),
        calls: Vec::new(),
        waits: Vec::new(),
        signals: Vec::new(),
        maps: Vec::new(),
        devices: Vec::new(),
        interrupts: Vec::new(),
        watches: Vec::new(),
        ends_run: one.ends_run.as_ref().is_some_and(|ends| **ends),
        asks_supervisor: one.asks_supervisor.as_ref().is_some_and(|asks| **asks),
        floating_point: one.floating_point.as_ref().is_some_and(|may| **may),
        on_fault: FaultAction::Stop,
        on_timeout: TimeoutAction::Wait,
        restarts: None,
    };
    let cores = cores(draft, one, count.unwrap_or(1) as usize, report);
    for (index, core) in cores.into_iter().enumerate() {
        let instance = count.map(|_| index as u32);
        let name = match instance {
            Some(number) => format!("{}-{number}", plain.name),
            None => plain.name.clone(),
        };
        made_name(&name, span, report);
        if draft
            .system
            .components
            .iter()
            .any(|other| other.name == name)
        {
            let message = format!("there is a component `{name}` already");
            report
                .add(Diagnostic::error(Kind::Duplicate, span, message).help("rename one of them"));
            continue;
        }
        draft.sources.push((one, span.clone()));
        draft.system.components.push(Component {
            name,
            instance,
            core,
            ..plain.clone()
        });
    }
}

/// The core of each instance.
fn cores(draft: &Draft, one: &file::Component, count: usize, report: &mut Report) -> Vec<u32> {
    let Some(written) = &one.core else {
        return vec![0; count];
    };
    let most = i64::from(draft.platform.cores) - 1;
    let mut cores = Vec::new();
    for core in written.values() {
        if !(0..=most).contains(&*core) {
            let message = format!("there is no core {}", *core);
            let help = match most {
                0 => "the only core is 0".to_string(),
                most => format!("the cores are 0 to {most}"),
            };
            report.add(Diagnostic::error(Kind::OutOfRange, &core.span, message).help(help));
        }
        cores.push(u32::try_from(*core).unwrap_or(0));
    }
    match cores.len() {
        1 => vec![cores[0]; count],
        length => {
            if length != count {
                let message = format!("there are {length} cores for {count} instances");
                let help = "write one core for each instance, or one for all";
                report.add(Diagnostic::error(Kind::Conflict, &written.span, message).help(help));
            }
            cores.resize(count, 0);
            cores
        }
    }
}

/// A size in whole pages.
pub(super) fn size(
    value: Option<&At<Size>>,
    default: Size,
    what: &str,
    report: &mut Report,
) -> Size {
    let Some(value) = value else {
        return default;
    };
    if !value.is_whole_pages() || (value.as_bytes() == 0 && what != "heap") {
        let message = format!("a {what} of {} is no whole number of pages", **value);
        let help = format!("write a multiple of {}", Size::PAGE);
        report.add(Diagnostic::error(Kind::OutOfRange, &value.span, message).help(help));
    }
    **value
}

/// The domain of a component.
fn domain(
    draft: &Draft,
    name: &At<String>,
    one: &file::Component,
    report: &mut Report,
) -> DomainId {
    if one.domain.is_none() && !draft.file.schedule.is_empty() && draft.is_complete(name) {
        let message = format!("component `{}` is in no domain", **name);
        let span: &Span = &name.span;
        let known = super::quoted(&draft.system.domains);
        let help = format!("add `domain = ...`, one of {known}");
        report.add(Diagnostic::error(Kind::MissingKey, span, message).help(help));
    }
    time::domain_of(draft, one.domain.as_ref(), report)
}

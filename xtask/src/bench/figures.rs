//! The kernel's costs for the analyser, from the reference results.

use std::fmt::Write;

use anyhow::{Context, bail};

use super::delay::BOUND;
use super::measurement::Measurement;
use super::reference::{self, Results};
use crate::Result;
use crate::workspace::Workspace;

/// The longest operations of each kind, in instructions, by the names of the analyser's options.
type Counts = [(&'static str, u64); 5];

/// The costs of a platform, as the reference results say.
pub(crate) fn figures(workspace: &Workspace, platform: &str) -> Result<Counts> {
    let measured = reference::read(workspace, platform, &Results::Plain)?;
    counts(&measured).with_context(|| {
        format!("the results of {platform} lack an operation; measure them with --write-reference")
    })
}

/// The overheads of the library's scheduler by what was measured, as lines for the analyser, after the kernel's costs in
/// `kernel`.
///
/// # Errors
/// If the suite `edf` was not measured.
pub(super) fn with_scheduler(
    workspace: &Workspace,
    platform: &str,
    measured: &[Measurement],
    kernel: &str,
) -> Result<String> {
    let other = reference::read(workspace, platform, &Results::Plain)?;
    let mut text = format!(
        "{kernel}\n# The scheduler of the library `dispatcher`, with up to 128 tasks on one core: the largest mean, and the \
         largest sample.\n[scheduler]\n"
    );
    let is_remote = |one: &Measurement| one.suite == SUITE && one.operation == REMOTE;
    let remote = match measured.iter().any(is_remote) {
        true => ("remote-reschedule", SUITE, REMOTE),
        // On one core: a core that is interrupted does what it does for a device.
        false => ("remote-reschedule", "interrupt", "interrupt_to_thread"),
    };
    for (name, suite, operation) in [
        ("context-switch", SUITE, "context_switch"),
        ("schedule", SUITE, "schedule"),
        ("release", SUITE, "release"),
        ("release-latency", SUITE, "release_latency"),
        remote,
    ] {
        let all = if suite == SUITE { measured } else { &other };
        let largest = |of: fn(&Measurement) -> f64| {
            let all = all.iter().filter(|one| {
                one.suite == suite
                    && one.operation == operation
                    && one.unit == "instructions"
                    // With YieldToTimeout.
                    && !one.parameters.contains_key("source")
            });
            all.map(of).reduce(f64::max)
        };
        let (Some(mean), Some(worst)) = (largest(|one| one.mean), largest(|one| one.max)) else {
            bail!(
                "{suite}/{operation} of {platform} was not measured; use --suite {SUITE}, without --kvm"
            );
        };
        let nanos = |count: f64| (count * SECTION_NANOS / BOUND).ceil();
        let _ = writeln!(
            text,
            "{name} = {{ mean = \"{} ns\", worst = \"{} ns\" }} # {mean:.0}, {worst:.0} instructions",
            nanos(mean),
            nanos(worst)
        );
    }
    Ok(text)
}

/// The suite of the scheduler.
const SUITE: &str = "edf";
/// The operation of several cores: the decision, and all that it takes until a job runs on another one.
const REMOTE: &str = "remote";
/// How long a section takes whose length is the bound: the ABI's worst case. So long counts an instruction.
const SECTION_NANOS: f64 = 10_000.0;

fn counts(measured: &[Measurement]) -> Option<Counts> {
    let longest = |names: &[(&str, &str)]| {
        let of = |(suite, operation): &(&str, &str)| {
            let all = measured.iter().filter(|one| {
                one.suite == *suite && one.operation == *operation && one.unit == "instructions"
            });
            all.map(|one| one.max).reduce(f64::max)
        };
        // Each of them must have been measured.
        let each: Option<Vec<_>> = names.iter().map(of).collect();
        Some(each?.into_iter().reduce(f64::max)?.ceil() as u64)
    };
    let call = longest(&[("ipc", "call"), ("threshold", "call")])?;
    let reply = longest(&[("ipc", "replyrecv"), ("threshold", "replyrecv")])?;
    let switch = longest(&[
        ("schedule", "yield"),
        ("signal", "wait"),
        ("signal", "signal"),
        ("ipc", "send"),
        ("ipc", "replyrecv"),
    ])?;
    let interrupt = longest(&[
        ("interrupt", "interrupt_to_thread"),
        ("interrupt", "interrupt_to_lower_priority"),
    ])?;
    Some([
        ("section", BOUND as u64),
        ("switch", switch),
        ("call", call + reply),
        ("interrupt", interrupt),
        ("timeout", longest(&[("fault", "timeout_to_handler")])?),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Map;

    #[test]
    fn the_scheduler_is_what_the_analyser_reads() {
        let workspace = Workspace::find().unwrap();
        let kernel = include_str!("../../../benches/overheads/pc99.toml");
        let of = |operation: &str, samples: &[f64]| {
            Measurement::new(SUITE, operation, Map::new(), "instructions", samples).unwrap()
        };
        let mut measured: Vec<_> = ["context_switch", "release", "release_latency"]
            .map(|operation| of(operation, &[300.0, 600.0]))
            .into();
        let lacks = with_scheduler(&workspace, "pc99", &measured, kernel).unwrap_err();
        assert!(lacks.to_string().contains("edf/schedule"), "{lacks}");
        measured.extend([of("schedule", &[3.0]), of("schedule", &[6.0])]);
        let text = with_scheduler(&workspace, "pc99", &measured, kernel).unwrap();
        let figures = system_analysis::Figures::read(&text).unwrap();
        let scheduler = figures.scheduler.unwrap();
        assert_eq!(scheduler.schedule.worst.as_nanos(), 20);
        assert_eq!(scheduler.context_switch.mean.as_nanos(), 1_500);
        assert_eq!(scheduler.context_switch.worst.as_nanos(), 2_000);
        let one_core = scheduler.remote_reschedule;
        measured.push(of(REMOTE, &[3_000.0, 9_000.0]));
        // The overheads are those with one source of time.
        let mut slower = of(REMOTE, &[20_000.0]);
        slower
            .parameters
            .insert("source".into(), "time server".into());
        measured.push(slower);
        let text = with_scheduler(&workspace, "pc99", &measured, kernel).unwrap();
        let figures = system_analysis::Figures::read(&text).unwrap();
        let several = figures.scheduler.unwrap().remote_reschedule;
        assert_eq!(several.worst.as_nanos(), 30_000);
        assert!(several.worst > one_core.worst);
    }
}

//! The kernel's costs for the analyser, from the reference results.

use anyhow::Context;

use super::delay::BOUND;
use super::measurement::Measurement;
use super::reference;
use crate::Result;
use crate::cli::Hardening;
use crate::workspace::Workspace;

/// The longest operations of each kind, in instructions, by the names of the analyser's options.
type Counts = [(&'static str, u64); 5];

/// The costs of a platform, as the reference results say.
pub(crate) fn figures(workspace: &Workspace, platform: &str) -> Result<Counts> {
    let measured = reference::read(workspace, platform, &Hardening::default())?;
    counts(&measured).with_context(|| {
        format!("the reference results of {platform} lack an operation; measure them again")
    })
}

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

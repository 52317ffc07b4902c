//! Operations that have become worse.

use super::measurement::{Measurement, number};

/// The relative change that is tolerated between programs of the same compiler. Counts of instructions are
/// reproducible; this leaves room for what an unrelated change does to the compiler's output.
const TOLERANCE: f64 = 0.02;
/// The same between programs of different compilers: user programs and slow paths differ by that much.
const OTHER_COMPILER: f64 = 0.1;
/// The absolute change that is tolerated, for small figures in which one instruction exceeds that fraction,
/// such as reading a timer.
const FEW: f64 = 3.0;
/// The relative change that makes a new reference suspicious: more than what two compilers differ by.
const MUCH: f64 = 0.1;

/// The change from `before` to `now` as a fraction.
pub(super) fn change(before: f64, now: f64) -> f64 {
    if before == now {
        0.0
    } else {
        (now - before) / before
    }
}

/// Whether a figure has become worse.
fn is_worse(before: f64, now: f64, tolerance: f64) -> bool {
    change(before, now) > tolerance && now - before > FEW
}

/// One sentence if an operation has become worse by more than `tolerance`.
fn complaint(before: &Measurement, now: &Measurement, tolerance: f64) -> Option<String> {
    is_worse(before.mean, now.mean, tolerance).then(|| {
        format!(
            "{now} has become worse by {:.1} %: {} instead of {} {}",
            100.0 * change(before.mean, now.mean),
            number(now.mean),
            number(before.mean),
            now.unit,
        )
    })
}

/// The operations that are much worse `now` than `before`, whatever the compilers.
pub(super) fn much_worse(before: &[Measurement], now: &[Measurement]) -> Vec<String> {
    let complaint = |one: &Measurement| {
        let old = before.iter().find(|old| old.is_about_the_same_as(one))?;
        complaint(old, one, MUCH)
    };
    now.iter().filter_map(complaint).collect()
}

/// The operations that are worse `now`, with `compiler`, than `before`. If `now` is `complete`, no operation may be missing,
/// and none may be new: it belongs in the reference.
pub(super) fn complaints(
    before: &[Measurement],
    now: &[Measurement],
    compiler: &str,
    complete: bool,
) -> Vec<String> {
    let tolerance = |old: &Measurement| match &old.compiler {
        Some(other) if other != compiler => OTHER_COMPILER,
        _ => TOLERANCE,
    };
    let mut complaints = Vec::new();
    for one in now {
        match before.iter().find(|old| old.is_about_the_same_as(one)) {
            Some(old) => complaints.extend(complaint(old, one, tolerance(old))),
            None if complete => complaints.push(format!("{one} has nothing to be compared with")),
            None => {}
        }
    }
    if complete {
        let missing = before
            .iter()
            .filter(|old| !now.iter().any(|one| old.is_about_the_same_as(one)));
        complaints.extend(missing.map(|old| format!("{old} was not measured")));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::measurement::tests::example;

    #[test]
    fn two_percent_are_the_same() {
        let before = [example("call", &[100.0])];
        assert!(complaints(&before, &[example("call", &[102.0])], "", true).is_empty());
        assert!(complaints(&before, &[example("call", &[10.0])], "", true).is_empty());
        let worse = complaints(&before, &[example("call", &[104.0])], "", true);
        assert_eq!(
            worse,
            ["ipc/call has become worse by 4.0 %: 104 instead of 100 instructions"]
        );
    }

    #[test]
    fn a_reference_that_is_much_worse_is_seen() {
        let before = [example("call", &[112.0]), example("send", &[300.0])];
        let now = [
            example("call", &[222.0]),
            example("send", &[330.0]),
            example("wait", &[900.0]),
        ];
        assert_eq!(
            much_worse(&before, &now),
            ["ipc/call has become worse by 98.2 %: 222 instead of 112 instructions"]
        );
        assert_eq!(much_worse(&now, &before), [""; 0]);
    }

    #[test]
    fn the_output_of_another_compiler_differs_more() {
        let mut before = example("call", &[100.0]);
        before.compiler = Some("rustc 1".to_string());
        let now = |count: f64| [example("call", &[count])];
        let before = [before];
        assert!(complaints(&before, &now(109.0), "rustc 2", true).is_empty());
        assert!(!complaints(&before, &now(111.0), "rustc 2", true).is_empty());
        assert!(!complaints(&before, &now(109.0), "rustc 1", true).is_empty());
    }

    #[test]
    fn a_few_instructions_are_the_same() {
        assert!(!is_worse(6.0, 9.0, TOLERANCE) && is_worse(6.0, 10.0, TOLERANCE));
        assert!(!is_worse(1000.0, 1020.0, TOLERANCE) && is_worse(1000.0, 1021.0, TOLERANCE));
    }

    #[test]
    fn a_complete_run_has_what_the_reference_has() {
        let before = [example("call", &[100.0])];
        let now = [example("send", &[100.0])];
        assert_eq!(complaints(&before, &now, "", true).len(), 2);
        assert!(complaints(&before, &now, "", false).is_empty());
    }

    #[test]
    fn nothing_stays_nothing() {
        assert_eq!(change(0.0, 0.0), 0.0);
        assert!(change(0.0, 1.0) > TOLERANCE);
    }
}

//! The printed results of a run, and their validity: a run that ends unexpectedly is a failure, whatever it
//! printed.

use super::tally::Tally;
use crate::{Result, ui};

/// How a run ended.
#[derive(Debug)]
pub(super) enum End {
    Success,
    Other(String),
}

impl End {
    /// The description of a failure.
    pub(super) fn failure(&self) -> Option<&str> {
        match self {
            Self::Success => None,
            Self::Other(how) => Some(how),
        }
    }
}

/// The line for a run that as a whole is a test.
pub(super) fn verdict(name: &str, failure: Option<&str>) -> String {
    match failure {
        None => format!("test {name} ... ok"),
        Some(how) => format!("test {name} ... FAILED: {how}"),
    }
}

/// Prints the line for a test that the tool performs by itself, and counts it.
pub(super) fn tell(name: &str, result: Result<()>) -> Result<Tally> {
    let failure = result.err().map(|error| format!("{error:#}"));
    let line = verdict(name, failure.as_deref());
    ui::print(format!("{line}\n"))?;
    Ok(Tally::from_test(&line).unwrap_or(Tally::FAILURE))
}

/// The tally of a run that printed `output`, and a complaint if it ended otherwise than printed.
pub(super) fn judge(output: &str, end: &End, must_run: bool) -> (Tally, Option<String>) {
    let lines = || output.lines().map(str::trim_end);
    let counted: Tally = lines().filter_map(Tally::from_test).sum();
    let summary = lines().filter_map(Tally::from_summary).next_back();
    let complaint = match (summary, end) {
        (None, End::Other(how)) => Some(format!("the run ended without its summary: {how}")),
        (None, End::Success) => Some("the run ended without its summary".to_string()),
        (Some(summary), _) if summary != counted => Some(format!(
            "the summary says {summary}, but the lines say {counted}"
        )),
        (Some(_), End::Other(how)) if counted.failed == 0 => Some(format!(
            "all tests passed, but the run did not end in success: {how}"
        )),
        (Some(_), _) if counted == Tally::default() && must_run => Some("no test ran".to_string()),
        _ => None,
    };
    let mut tally = counted;
    if complaint.is_some() {
        tally += Tally::FAILURE;
    }
    (tally, complaint)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "boot\r\ntest a ... ok\r\ntest b ... ok\r\n2 passed, 0 failed\r\n";
    const BAD: &str = "test a ... ok\ntest b ... FAILED: it is 3\n1 passed, 1 failed\n";

    fn dead() -> End {
        End::Other("it was ended after 600 s".to_string())
    }

    #[test]
    fn a_good_run_is_a_success() {
        let (tally, complaint) = judge(GOOD, &End::Success, true);
        assert_eq!(
            (tally, complaint),
            (
                Tally {
                    passed: 2,
                    failed: 0
                },
                None
            )
        );
    }

    #[test]
    fn a_failed_test_is_counted_once() {
        let (tally, complaint) = judge(BAD, &dead(), true);
        assert_eq!(
            (tally, complaint),
            (
                Tally {
                    passed: 1,
                    failed: 1
                },
                None
            )
        );
    }

    #[test]
    fn a_run_that_dies_is_a_failure() {
        let (tally, complaint) = judge("test a ... ok\ntest b ... ", &dead(), true);
        assert_eq!(
            tally,
            Tally {
                passed: 1,
                failed: 1
            }
        );
        assert_eq!(
            complaint.unwrap(),
            "the run ended without its summary: it was ended after 600 s"
        );
        assert_eq!(judge("", &End::Success, true).0, Tally::FAILURE);
    }

    #[test]
    fn a_clean_summary_does_not_hide_a_bad_end() {
        assert_eq!(
            judge(GOOD, &dead(), true).0,
            Tally {
                passed: 2,
                failed: 1
            }
        );
    }

    #[test]
    fn a_summary_must_agree_with_the_lines() {
        let (tally, complaint) = judge("test a ... ok\n2 passed, 0 failed\n", &End::Success, true);
        assert_eq!(
            tally,
            Tally {
                passed: 1,
                failed: 1
            }
        );
        assert!(
            complaint
                .unwrap()
                .contains("but the lines say 1 passed, 0 failed")
        );
    }

    #[test]
    fn an_example_is_one_test() {
        let tally = |end: End| Tally::from_test(&verdict("demo", end.failure())).unwrap();
        let [passed, failed] = [tally(End::Success), tally(dead())];
        assert_eq!((passed.passed, passed.failed), (1, 0));
        assert_eq!(failed, Tally::FAILURE);
    }

    #[test]
    fn no_tests_fail_unless_a_filter_asked_for_it() {
        assert_eq!(
            judge("0 passed, 0 failed\n", &End::Success, true).0,
            Tally::FAILURE
        );
        assert_eq!(
            judge("0 passed, 0 failed\n", &End::Success, false).0,
            Tally::default()
        );
    }
}

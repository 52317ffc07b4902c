//! Counts of tests, from their output.

use std::fmt;
use std::iter::Sum;
use std::ops::AddAssign;

/// How many tests passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passed: u32,
    pub(super) failed: u32,
}

impl Tally {
    pub(super) const FAILURE: Self = Self {
        passed: 0,
        failed: 1,
    };

    /// At least one test passed and none failed.
    pub(super) fn is_success(self) -> bool {
        self.passed > 0 && self.failed == 0
    }

    /// Reads the harness's `test result: ok. 3 passed; 0 failed; ...`.
    pub(super) fn from_harness(line: &str) -> Option<Self> {
        let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let mut counts = counts.split("; ");
        Self::read(counts.next()?, counts.next()?)
    }

    /// Reads the `3 passed, 0 failed` with which a run on the target ends.
    pub(super) fn from_summary(line: &str) -> Option<Self> {
        let (passed, failed) = line.split_once(", ")?;
        Self::read(passed, failed)
    }

    fn read(passed: &str, failed: &str) -> Option<Self> {
        let passed = passed.strip_suffix(" passed")?.parse().ok()?;
        let failed = failed.strip_suffix(" failed")?.parse().ok()?;
        Some(Self { passed, failed })
    }

    /// Reads a line of a run on the target about one test: `test NAME ... ok` or `test NAME ... FAILED: why`.
    pub(super) fn from_test(line: &str) -> Option<Self> {
        let (_, verdict) = line.strip_prefix("test ")?.split_once(" ... ")?;
        if verdict == "ok" {
            Some(Self {
                passed: 1,
                failed: 0,
            })
        } else {
            verdict.starts_with("FAILED").then_some(Self::FAILURE)
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |mut sum, tally| {
            sum += tally;
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_s_results_are_read() {
        let line = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; \
                    finished in 0.05s";
        assert_eq!(
            Tally::from_harness(line),
            Some(Tally {
                passed: 12,
                failed: 0
            })
        );
        let line = "test result: FAILED. 1 passed; 2 failed; 0 ignored";
        assert_eq!(
            Tally::from_harness(line),
            Some(Tally {
                passed: 1,
                failed: 2
            })
        );
        assert_eq!(Tally::from_harness("test tests::ok ... ok"), None);
    }

    #[test]
    fn summaries_are_read_and_written_alike() {
        let tally = Tally {
            passed: 60,
            failed: 2,
        };
        assert_eq!(Tally::from_summary("60 passed, 2 failed"), Some(tally));
        assert_eq!(tally.to_string(), "60 passed, 2 failed");
        for line in [
            "",
            "60 passed",
            "x passed, 2 failed",
            "60 passed, 2 failed!",
            "-1 passed, 0 failed",
        ] {
            assert_eq!(Tally::from_summary(line), None, "{line}");
        }
    }

    #[test]
    fn single_tests_are_read() {
        assert_eq!(
            Tally::from_test("test endpoint::call ... ok"),
            Some(Tally {
                passed: 1,
                failed: 0
            })
        );
        assert_eq!(
            Tally::from_test("test a ... FAILED: it is 3"),
            Some(Tally::FAILURE)
        );
        assert_eq!(Tally::from_test("test a ... "), None);
        assert_eq!(Tally::from_test("testing a ... ok"), None);
    }

    #[test]
    fn nothing_tested_is_no_success() {
        assert!(!Tally::default().is_success());
        assert!(
            Tally {
                passed: 1,
                failed: 0
            }
            .is_success()
        );
        assert!(
            !Tally {
                passed: 1,
                failed: 1
            }
            .is_success()
        );
    }
}

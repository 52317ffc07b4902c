//! The kinds of tests that a filter selects by the beginning of their names.

use super::examples::SYSTEM;

/// Tests of the fuzzer.
pub(super) const FUZZ: &str = "fuzz";
/// Tests of the system calls that only `bench` kernels have.
pub(super) const BENCHMARK: &str = "benchmark";
/// Tests of large machines; the tests of boot information run with them.
pub(super) const MACHINE: &str = "machine";
/// The test of the log.
pub(super) const LOG: &str = "log";
/// Tests that check progress only, in host time.
pub(super) const STRESS: &str = "stress";
/// The test of a trace.
pub(super) const TRACE: &str = "trace";
/// Tests that read trace events while they run.
pub(super) const STREAM: &str = "stream";
/// The files of the suite that pass on a kernel that a loader has entered.
pub(super) const LOADER: &str = "loader";

/// All kinds; other names select tests of the suite.
pub(super) const ALL: [&str; 9] = [
    FUZZ, BENCHMARK, MACHINE, SYSTEM, LOG, STRESS, TRACE, STREAM, LOADER,
];

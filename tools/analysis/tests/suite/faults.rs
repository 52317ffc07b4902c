//! Analyses that are wrong on purpose: each fault must make a comparison fail.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{book, edf, fixed, global, kernel, mixed, oracle, replenishments, threads};
use crate::fault::{Fault, select};

/// A fault, what is left out by it, a test that fails because of it, and with what that test compares.
type Case = (Fault, &'static str, fn(), &'static str);

const SIMULATED: &str = "simulations";
const BY_HAND: &str = "calculations by hand";

const CASES: [Case; 25] = [
    (
        Fault::Blocking,
        "blocking by servers",
        threads::responses_with_servers_are_not_exceeded_and_forgotten_blocking_is_noticed,
        SIMULATED,
    ),
    (
        Fault::Requests,
        "the requests of a thread's own jobs",
        kernel::no_response_is_longer_than_its_bound,
        "the kernel",
    ),
    (
        Fault::NestedRequests,
        "requests of servers to servers",
        threads::nested_requests_count_as_a_whole,
        BY_HAND,
    ),
    (
        Fault::JitterOfOthers,
        "the jitter of other tasks",
        oracle::bounds_are_those_of_the_package,
        "the package",
    ),
    (
        Fault::OwnJitter,
        "a task's own jitter",
        fixed::jitter_counts_for_the_task_and_for_those_below,
        BY_HAND,
    ),
    (
        Fault::LaterJobs,
        "later jobs of a busy window",
        oracle::bounds_are_those_of_the_package,
        "the package",
    ),
    (
        Fault::Bursts,
        "the further jobs of a burst",
        oracle::bounds_of_bursts_are_those_of_the_package,
        "the package",
    ),
    (
        Fault::Blackout,
        "the blackout of a supply",
        fixed::no_supply_is_worse_than_its_bound,
        SIMULATED,
    ),
    (
        Fault::SlidingBudget,
        "that budgets slide within their periods",
        fixed::no_supply_is_worse_than_its_bound,
        SIMULATED,
    ),
    (
        Fault::FullList,
        "full lists of replenishments",
        replenishments::no_history_supplies_less_than_promised,
        "all histories",
    ),
    (
        Fault::FullList,
        "the same",
        kernel::an_ideal_server_supplies_more_than_the_kernel,
        "the kernel",
    ),
    (
        Fault::LastJob,
        "the last job of a window's demand",
        edf::the_verdict_is_that_of_a_simulation,
        SIMULATED,
    ),
    (
        Fault::Sections,
        "critical sections under EDF",
        edf::sections_block_and_forgotten_ones_are_noticed,
        SIMULATED,
    ),
    (
        Fault::ShorterDeadlines,
        "jitter under EDF",
        edf::jitter_shortens_deadlines,
        BY_HAND,
    ),
    (
        Fault::Offsets,
        "offsets under EDF",
        edf::response_times_are_those_of_the_worst_offsets,
        SIMULATED,
    ),
    (
        Fault::CarryIn,
        "work carried into a window (BCL iterative, RTA)",
        global::accepted_sets_are_never_late,
        SIMULATED,
    ),
    (
        Fault::CarryInOfBar,
        "work carried into a window (BAR)",
        global::accepted_sets_are_never_late,
        SIMULATED,
    ),
    (
        Fault::LargestDensity,
        "the task of the largest density (GFB, BAK)",
        global::accepted_sets_are_never_late,
        SIMULATED,
    ),
    (
        Fault::ForcedForward,
        "demand that is forced forward (FF-DBF)",
        global::the_forced_forward_test_finds_a_speed_if_there_is_one,
        "all windows and speeds",
    ),
    (
        Fault::OwnCost,
        "the own cost of a late job",
        global::tardiness_is_bounded_at_full_use,
        SIMULATED,
    ),
    (
        Fault::LowTasks,
        "low tasks before the level is raised",
        mixed::responses_in_both_modes_are_not_exceeded,
        SIMULATED,
    ),
    (
        Fault::VirtualDeadlines,
        "virtual deadlines",
        mixed::accepted_sets_miss_no_deadline_in_either_mode,
        SIMULATED,
    ),
    (
        Fault::Switches,
        "context switches",
        book::overheads,
        BY_HAND,
    ),
    (
        Fault::Latency,
        "the latency of releases",
        book::overheads,
        BY_HAND,
    ),
    (
        Fault::Passes,
        "the passes of a scheduler that is a thread",
        book::overheads,
        BY_HAND,
    ),
];

#[test]
fn every_fault_is_noticed() {
    let mut missed = Vec::new();
    for (fault, what, comparison, _) in CASES {
        select(Some(fault));
        let found = catch_unwind(AssertUnwindSafe(comparison));
        select(None);
        if found.is_ok() {
            missed.push(what);
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn the_book_lists_the_faults() {
    let page = include_str!("../../../../docs/src/analysis/README.md");
    for (_, what, _, by) in CASES {
        assert!(
            page.contains(&format!("\n| {what} | {by} |\n")),
            "| {what} | {by} |"
        );
    }
}

//! Resources that the runner gives to a benchmark and to its partner.

/// Names of the resources.
pub mod names {
    /// Index of the suite; the partner has none.
    pub const SUITE: &str = "suite";
    /// Index of the benchmark in the suite.
    pub const BENCHMARK: &str = "benchmark";
    /// Index of the variant.
    pub const VARIANT: &str = "variant";
    /// A shared endpoint.
    pub const ENDPOINT: &str = "endpoint";
    /// A shared notification.
    pub const NOTIFICATION: &str = "notification";
    /// A second shared notification.
    pub const BACK: &str = "back";
    /// A reply object of its own.
    pub const REPLY: &str = "reply";
    /// A shared page.
    pub const SHARED: &str = "shared";
    /// The partner's thread.
    pub const PARTNER: &str = "partner";
    /// The partner's scheduling context, which is not bound.
    pub const PARTNER_TIME: &str = "partner-time";
    /// The endpoint for requests for an interrupt ([`SET_TIMER`](super::SET_TIMER)).
    pub const RUNNER: &str = "runner";
    /// The component's own scheduling context, if there are several cores.
    pub const TIME: &str = "time";
    /// The notification of that interrupt.
    pub const INTERRUPT: &str = "interrupt";
    /// The page of a timer that is used to count instructions if the processor has no counter.
    pub const COUNTER: &str = "counter";
    /// Offset of the counter in that page.
    pub const COUNTER_OFFSET: &str = "counter-offset";
    /// Number of cores. Their `SchedControl` capabilities are in contiguous slots.
    pub const CORES: &str = "cores";
    /// Counter frequency in megahertz, for runs in which instructions are not counted.
    pub const MEGAHERTZ: &str = "megahertz";
    /// The most attackers that benchmarks may have, if there is a limit.
    pub const ATTACKERS: &str = "attackers";
}

/// Label of a request for an interrupt after so many microseconds, the first word; 0 acknowledges an
/// interrupt.
pub const SET_TIMER: usize = 1;

/// Badge of the benchmark's faults, which include its exit.
pub const BY_BENCHMARK: usize = 1;
/// Badge of the partner's faults.
pub const BY_PARTNER: usize = 2;
/// Badge of requests for an interrupt.
pub const BY_CALLER: usize = 3;

/// The priority of a benchmark's first thread. Its maximum controlled priority is 254.
pub const PRIORITY: u8 = 100;

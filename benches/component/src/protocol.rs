//! What the runner gives to a benchmark and to its partner.

/// Names of what is given.
pub mod names {
    /// Which suite; the partner has none.
    pub const SUITE: &str = "suite";
    /// Which benchmark of the suite.
    pub const BENCHMARK: &str = "benchmark";
    /// Which variant of the benchmark.
    pub const VARIANT: &str = "variant";
    /// An endpoint that both have.
    pub const ENDPOINT: &str = "endpoint";
    /// A notification that both have.
    pub const NOTIFICATION: &str = "notification";
    /// A second notification that both have.
    pub const BACK: &str = "back";
    /// A reply object of its own.
    pub const REPLY: &str = "reply";
    /// A page that both see.
    pub const SHARED: &str = "shared";
    /// The partner's thread.
    pub const PARTNER: &str = "partner";
    /// The partner's scheduling context, which nothing is bound to.
    pub const PARTNER_TIME: &str = "partner-time";
    /// Where one asks for an interrupt ([`ALARM`](super::ALARM)).
    pub const RUNNER: &str = "runner";
    /// Its own scheduling context, if there are several cores.
    pub const TIME: &str = "time";
    /// The notification of that interrupt.
    pub const INTERRUPT: &str = "interrupt";
    /// The page of a timer that counts instructions where the processor has no counter.
    pub const COUNTER: &str = "counter";
    /// Where in that page the counter is.
    pub const COUNTER_OFFSET: &str = "counter-offset";
    /// How many cores there are. The rights to hand out time on them lie side by side.
    pub const CORES: &str = "cores";
    /// How often the counter counts in a microsecond where nobody counts instructions.
    pub const MEGAHERTZ: &str = "megahertz";
    /// The most attackers that benchmarks shall have, if there is a limit.
    pub const ATTACKERS: &str = "attackers";
}

/// Label of a call for an interrupt after so many microseconds: the first word. 0 acknowledges one.
pub const ALARM: usize = 1;

/// Badge of the benchmark's faults, among which is its end.
pub const BY_BENCHMARK: usize = 1;
/// Badge of the partner's faults.
pub const BY_PARTNER: usize = 2;
/// Badge of calls for an interrupt.
pub const BY_CALLER: usize = 3;

/// The priority of a benchmark's first thread. Its maximum controlled priority is 254.
pub const PRIORITY: u8 = 100;

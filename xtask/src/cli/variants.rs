//! What is built: the values of options that several commands share.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// The ways to compile a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kernel {
    /// Assertions, printing and the debugging system calls.
    #[default]
    Debug,
    /// The kernel for deployment, without additions.
    Release,
    /// As release, with the system calls that benchmarks need.
    Bench,
    /// As release, compiled for size, with one criticality, and without endpoint thresholds and fast paths in Rust.
    Small,
    /// As small, with the system calls that benchmarks need: for tests.
    #[value(skip)]
    SmallBench,
}

impl Kernel {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Release => "release",
            Self::Bench => "bench",
            Self::Small => "small",
            Self::SmallBench => "small-bench",
        }
    }

    /// The kind whose traces an SDK has beside this one.
    pub(crate) fn traced(self) -> Option<Self> {
        match self {
            Self::Debug => Some(Self::Debug),
            Self::Release => Some(Self::Bench),
            Self::Bench | Self::Small | Self::SmallBench => None,
        }
    }

    /// Whether it is compiled for size.
    pub(crate) fn is_small(self) -> bool {
        matches!(self, Self::Small | Self::SmallBench)
    }

    /// The options of the ABI that it has, whether they are asked for or not.
    pub(crate) fn implied(self) -> &'static [AbiOption] {
        match self.is_small() {
            true => &[AbiOption::OneCriticality],
            false => &[],
        }
    }
}

/// Which events a kernel with tracing keeps when the memory for them is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Keep {
    /// Those from the beginning on; later ones are counted.
    #[default]
    First,
    /// The last ones, as in a flight recorder.
    Last,
    /// Those for which there is room while the system itself reads them.
    Stream,
    /// All of them: the tool copies them from the machine's memory while the system runs.
    All,
}

impl Keep {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
            Self::Stream => "stream",
            Self::All => "all",
        }
    }

    /// What the kernel does, which does not know whether the tool takes events out of its memory.
    pub(crate) const fn by_kernel(self) -> Self {
        match self {
            Self::All => Self::Last,
            other => other,
        }
    }

    /// Whether the tool takes events while the system runs.
    pub(crate) const fn is_followed(self) -> bool {
        matches!(self, Self::Stream | Self::All)
    }
}

/// Events of a kernel with tracing, in addition to switches of threads and contexts, which every trace has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Events {
    /// Nothing else: each takes half of the memory, and threads have no names.
    Switches,
    /// Entries into the kernel and exits from it, and invocations.
    Entries,
    /// Parameters of contexts, charges, replenishments, donation, limits, ends of budgets.
    Budgets,
    /// Blocking and waking, faults, priorities, criticalities, domains, migration.
    Threads,
    /// What programs mark.
    Marks,
    /// All of them.
    #[value(skip)]
    All,
    /// None, and no fast paths: for measurements.
    #[value(skip)]
    Nothing,
    /// None, as no memory is reserved: for measurements.
    #[value(skip)]
    Off,
}

impl Events {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Switches => "switches",
            Self::Entries => "entries",
            Self::Budgets => "budgets",
            Self::Threads => "threads",
            Self::Marks => "marks",
            Self::All => "all",
            Self::Nothing => "nothing",
            Self::Off => "off",
        }
    }
}

/// What a kernel with tracing writes.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tracing {
    /// Which events to keep when a core has more than its memory holds.
    #[arg(long, value_enum, value_name = "WHICH", default_value_t)]
    pub(crate) keep: Keep,
    /// Which events to write, separated by commas; all by default.
    #[arg(long, value_enum, value_name = "KINDS", value_delimiter = ',')]
    pub(crate) events: Vec<Events>,
    /// Whether programs mark nothing in the trace, and so are those of other kernels.
    #[arg(skip)]
    pub(crate) is_unmarked: bool,
}

impl Tracing {
    /// Only these events.
    pub(crate) fn of(events: Events) -> Self {
        Self {
            events: vec![events],
            ..Self::default()
        }
    }

    /// The names of the chosen groups of events, separated by commas; empty for all.
    pub(crate) fn groups(&self) -> String {
        let mut chosen = self.events.clone();
        chosen.retain(|&one| one != Events::All);
        chosen.sort_unstable();
        chosen.dedup();
        // The others have them.
        if chosen.len() > 1 {
            chosen.retain(|&one| one != Events::Switches);
        }
        let names: Vec<_> = chosen.into_iter().map(Events::name).collect();
        names.join(",")
    }
}

/// Options of the ABI: each has the same effect on labels, object types and registers as seL4's corresponding
/// build option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AbiOption {
    /// Device page tables.
    Iommu,
    /// Hardware virtualisation on x86.
    Vtx,
    /// Hardware breakpoints and single stepping.
    Hwdebug,
    /// Sixteen scheduling domains instead of one.
    Domains,
    /// A root CNode of 2^17 slots instead of 2^12.
    LargeRoot,
    /// One criticality instead of eight.
    OneCriticality,
    /// AArch64: a capability to call the firmware, if there is a monitor.
    Smc,
    /// Arm: threads program the physical timer of their core.
    UserTimer,
}

impl AbiOption {
    /// The feature of crate `abi`.
    pub(crate) fn feature(self) -> &'static str {
        match self {
            Self::Iommu => "iommu",
            Self::Vtx => "vtx",
            Self::Hwdebug => "hwdebug",
            Self::Domains => "domains",
            Self::LargeRoot => "large-root",
            Self::OneCriticality => "one-criticality",
            Self::Smc => "smc",
            Self::UserTimer => "user-timer",
        }
    }
}

/// How verbose the kernel's log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl LogLevel {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// The number of cores, and how they share the kernel.
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cores {
    /// Number of cores.
    #[arg(long = "smp", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) count: u32,
    /// Use one lock for the whole kernel, for comparison.
    #[arg(long)]
    pub(crate) big_lock: bool,
}

impl Cores {
    /// One core.
    pub(crate) const ONE: Self = Self {
        count: 1,
        big_lock: false,
    };

    /// The smallest number of several cores.
    pub(crate) const TWO: Self = Self {
        count: 2,
        big_lock: false,
    };

    /// Whether the kernel is a multicore kernel.
    pub(crate) fn are_several(self) -> bool {
        self.count > 1
    }
}

/// An attack on the processor's speculative execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Attack {
    /// User mode loads memory that only the kernel may read.
    Meltdown,
    /// Branches go where other programs have trained the processor to go.
    Spectre,
    /// User mode loads data left in the processor's buffers.
    Mds,
    /// All of these.
    All,
}

/// The attacks against which the kernel is hardened.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub(crate) struct Hardening {
    /// Attacks on the processor's speculation that the kernel defends against, separated by commas.
    #[arg(
        long = "harden",
        value_enum,
        value_name = "ATTACKS",
        value_delimiter = ','
    )]
    attacks: Vec<Attack>,
}

impl Hardening {
    /// Hardening against all attacks.
    pub(crate) fn all() -> Self {
        Self {
            attacks: vec![Attack::All],
        }
    }

    /// Whether the kernel is hardened against this attack.
    pub(crate) fn is_against(&self, attack: Attack) -> bool {
        self.attacks.contains(&attack) || self.attacks.contains(&Attack::All)
    }

    /// Whether the kernel is hardened at all.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.attacks.is_empty()
    }

    /// A short name: `none`, the attacks, or `all`.
    pub(crate) fn name(&self) -> String {
        let prefix = "harden-";
        let attacks: Vec<_> = (self.features())
            .map(|feature| feature.trim_start_matches(prefix))
            .collect();
        match &*attacks {
            [] => "none".to_string(),
            [_, _, _] => "all".to_string(),
            some => some.join("-"),
        }
    }

    /// The features of the platform's crate.
    pub(crate) fn features(&self) -> impl Iterator<Item = &'static str> {
        [
            (Attack::Meltdown, "harden-meltdown"),
            (Attack::Spectre, "harden-spectre"),
            (Attack::Mds, "harden-mds"),
        ]
        .into_iter()
        .filter_map(|(attack, feature)| self.is_against(attack).then_some(feature))
    }
}

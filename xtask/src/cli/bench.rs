//! The arguments of benchmarks.

use std::path::PathBuf;

use clap::Args;

use super::{Cores, Hardening};

/// Without `--platform` every platform with committed results is measured. In a project the project's system is measured,
/// on pc99 or the given platforms: how long its components run, and its servers for requests.
#[derive(Args, Debug, PartialEq)]
pub(crate) struct BenchArguments {
    /// Only benchmarks with a `suite/name` that contains this text, or, after a `!`, all but those of a
    /// suite.
    #[arg(long, value_name = "S")]
    pub(crate) suite: Option<String>,
    /// The board; may be repeated.
    #[arg(long = "platform", value_name = "P")]
    pub(crate) platforms: Vec<String>,
    /// Write the results to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write what the scheduler of the suite `edf` costs into this file, for `analyse --overheads FILE`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kvm", "profile"])]
    pub(crate) overheads: Option<PathBuf>,
    /// Fail if an operation has become worse by more than 2 % since the results
    /// in this file, or in the platform's committed reference.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub(crate) compare: Option<Option<PathBuf>>,
    /// Make the results the committed reference, and write them into the book; fail, and leave the reference of a
    /// platform as it is, if an operation has become worse by more than 10 %.
    #[arg(long, conflicts_with = "kvm")]
    pub(crate) write_reference: bool,
    /// Write the reference though operations have become worse by more than 10 %.
    #[arg(long, requires = "write_reference")]
    pub(crate) accept_worse: bool,
    /// Write the committed results into the book again; measure nothing.
    #[arg(long, conflicts_with_all = ["kvm", "write_reference", "compare", "json", "overheads", "profile", "twice"])]
    pub(crate) write_book: bool,
    /// Measure twice, and fail if the results differ.
    #[arg(long)]
    pub(crate) twice: bool,
    /// Only this variant of each benchmark, counted from 0.
    #[arg(long, value_name = "N")]
    pub(crate) variant: Option<usize>,
    /// Limit the number of attackers in the suite `delay`.
    #[arg(long, value_name = "N")]
    pub(crate) attackers: Option<u64>,
    /// Show the path of this operation through the kernel. Choose its benchmark by --suite and --variant, as
    /// tracing is slow.
    #[arg(long, value_name = "OPERATION", conflicts_with_all = ["kvm", "write_reference", "compare", "json"])]
    pub(crate) profile: Option<String>,
    /// The same in a kernel that writes all trace events.
    #[arg(long, requires = "profile")]
    pub(crate) traced: bool,
    /// Measure what trace events cost: some operations, in kernels that write more and more of them.
    #[arg(long, conflicts_with_all = ["suite", "variant", "kvm", "profile", "attackers"])]
    pub(crate) tracing: bool,
    /// Measure kernels of kind `small`, which have results of their own.
    #[arg(long, conflicts_with_all = ["tracing", "attacks", "attackers"])]
    pub(crate) small: bool,
    /// Measure on this computer's own processor, in cycles, which are noisy.
    #[arg(long)]
    pub(crate) kvm: bool,
    #[command(flatten)]
    pub(crate) cores: Cores,
    #[command(flatten)]
    pub(crate) hardening: Hardening,
    /// The maximum duration of one platform's benchmarks, 600 s by default; in a project that of the run, by default 10 s.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
}

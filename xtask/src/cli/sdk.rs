//! The commands that make SDKs: ours, and Microkit's.

use std::path::PathBuf;

use clap::Args;

use super::{AbiOption, Kernel};

/// Without `--platform` and `--kernel` it has the usual kernels of all platforms.
#[derive(Args, Debug)]
pub(crate) struct SdkArguments {
    /// The archive to write; target/escapement-sdk-VERSION.tar by default.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Only kernels for this platform; may be repeated.
    #[arg(long = "platform", value_name = "P")]
    pub(crate) platforms: Vec<String>,
    /// Only kernels of this kind; may be repeated.
    #[arg(long = "kernel", value_enum, value_name = "KIND", default_values_t = [Kernel::Debug, Kernel::Release])]
    pub(crate) kinds: Vec<Kernel>,
    /// All kernels once more with these options of the ABI, separated by commas.
    #[arg(long, value_enum, value_name = "OPTIONS", value_delimiter = ',')]
    pub(crate) abi: Vec<AbiOption>,
}

/// With this SDK Microkit's tool builds systems for Escapement, without a change of their sources.
#[derive(Args, Debug)]
pub(crate) struct MicrokitArguments {
    /// An installed SDK, whose tool, libraries and headers are used; or Microkit's source, after its own build.
    #[arg(long, value_name = "DIR")]
    pub(crate) source: PathBuf,
    /// Where seL4's headers are, if not in the SDK: the folder `build` of Microkit's source.
    #[arg(long, value_name = "DIR")]
    pub(crate) headers: Option<PathBuf>,
    /// The folder to make.
    #[arg(short, long, value_name = "SDK")]
    pub(crate) output: PathBuf,
    /// Only this board of Microkit; may be repeated. By default all for which there is a kernel.
    #[arg(long = "board", value_name = "B")]
    pub(crate) boards: Vec<String>,
    /// Kernels that write trace events, for `cargo xtask qemu --microkit FILE --trace FILE`.
    #[arg(long)]
    pub(crate) trace: bool,
}

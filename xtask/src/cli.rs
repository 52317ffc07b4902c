//! The command line: its grammar only, not its effects.

mod bench;
mod sdk;
mod variants;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use bench::BenchArguments;
pub(crate) use sdk::{MicrokitArguments, SdkArguments};
pub(crate) use variants::{
    AbiOption, Attack, Cores, Events, Hardening, Keep, Kernel, LogLevel, Tracing,
};

/// Build, run, test and check Escapement.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
#[command(
    after_help = "Exit code: 0 success; 1 the guest, a test or a check failed; \
    2 invalid arguments, a missing tool or a failed build; 124 timeout; 130 interrupted."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Install what is missing: QEMU, a linker, a toolchain with core's sources.
    ///
    /// The other commands run it when needed. As root it installs packages by apt; otherwise it prints the
    /// command line.
    Setup {
        /// Install the programs, too, that read exported traces in tests: Babeltrace 2, Chromium, and PyPI's perfetto.
        #[arg(long)]
        readers: bool,
    },
    /// Make a project of your own, which is built against this checkout or SDK.
    New(NewArguments),
    /// Make an archive with which projects are built without this checkout: prebuilt kernels, libraries, and the tool.
    Sdk(SdkArguments),
    /// Make a Microkit SDK with kernels of this checkout, from an installed one or from its source.
    Microkit(MicrokitArguments),
    /// Build a boot image and print its path.
    Build(ImageArguments),
    /// Build a boot image and run it in QEMU.
    Qemu(QemuArguments),
    /// Connect gdb to the emulator that `qemu --gdb` has started, with symbols and commands of the kernel.
    Gdb(GdbArguments),
    /// Run the tests of the host and those on every platform.
    Test(TestArguments),
    /// Run a scenario against the kernel on the host, in virtual time.
    ///
    /// Without a scenario, they are listed. All arguments go to the simulator;
    /// `cargo xtask sim --help` is its help.
    #[command(disable_help_flag = true)]
    Sim {
        /// The scenario and the simulator's options.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Boot a system and write a trace of what the kernel did; or summarise, check, show or export a trace.
    ///
    /// `cargo xtask trace -o FILE` boots; `cargo xtask trace info|check|view|export FILE` reads, and
    /// `cargo xtask trace help` lists all ways to read.
    Trace(TraceArguments),
    /// Check the description of a system, and show its components, their connections and their time.
    System(SystemArguments),
    /// Calculate whether all deadlines and budgets of a system hold, with the kernel's costs.
    Analyse(AnalyseArguments),
    /// Run the on-target benchmarks and compare their results.
    Bench(BenchArguments),
    /// Search for bugs of the kernel on the host for a given time, and report.
    Assure(AssureArguments),
    /// Formatting, clippy, documentation, the repository's own rules, and a short run in Miri.
    Check(CheckArguments),
}

/// What to build; shared by the commands that build.
#[derive(Args, Clone, Debug)]
pub(crate) struct BuildArguments {
    /// The board: a folder of platforms/.
    #[arg(long, value_name = "P", default_value = "pc99")]
    pub(crate) platform: String,
    /// The system: a folder of systems/. The default is `demo`, and in a project the project's own.
    #[arg(long, value_name = "S")]
    pub(crate) system: Option<String>,
    /// How to compile the kernel.
    #[arg(long, value_enum, value_name = "KIND", default_value_t)]
    pub(crate) kernel: Kernel,
    /// Options of the ABI, separated by commas.
    #[arg(long, value_enum, value_name = "OPTIONS", value_delimiter = ',')]
    pub(crate) abi: Vec<AbiOption>,
    #[command(flatten)]
    pub(crate) cores: Cores,
    #[command(flatten)]
    pub(crate) hardening: Hardening,
}

#[derive(Args, Debug)]
pub(crate) struct ImageArguments {
    #[command(flatten)]
    pub(crate) build: BuildArguments,
    /// Build the kernel with trace events, which it leaves in the memory of a board, for `cargo xtask trace collect`.
    #[arg(long)]
    pub(crate) trace: bool,
    #[command(flatten)]
    pub(crate) tracing: Tracing,
}

#[derive(Args, Debug)]
pub(crate) struct NewArguments {
    /// The folder to make, after which the project is named.
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// Begin with a copy of this example, a folder of systems/ without a root task of its own. By default there are a server
    /// and its client.
    #[arg(long, value_name = "EXAMPLE")]
    pub(crate) template: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct QemuArguments {
    #[command(flatten)]
    pub(crate) build: BuildArguments,
    /// Boot this program, built for the ABI, as the initial thread.
    #[arg(long, value_name = "FILE.elf", conflicts_with = "system")]
    pub(crate) root_task: Option<PathBuf>,
    /// Boot this image, which Microkit's tool has built with an SDK by `cargo xtask microkit`.
    #[arg(long, value_name = "loader.img", conflicts_with_all = ["system", "root_task", "kernel", "abi", "log"])]
    pub(crate) microkit: Option<PathBuf>,
    /// Count executed instructions as time, so that a busy host has no influence: the default for a system.
    #[arg(long)]
    pub(crate) icount: bool,
    /// Use the host's time: the default for a program given by --root-task or --microkit.
    #[arg(long, conflicts_with = "icount")]
    pub(crate) real_time: bool,
    /// End the run after this time, with exit code 124.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Wait for a debugger before the first instruction.
    #[arg(long)]
    pub(crate) gdb: bool,
    /// Show the kernel's log, from this level up, on stderr.
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) log: Option<LogLevel>,
    /// Build the kernel with trace events, and write them into this file, for `cargo xtask trace`. With --microkit the SDK's
    /// kernel must have them.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tracing: Tracing,
    /// Further arguments for QEMU.
    #[arg(last = true, value_name = "QEMU ARGUMENTS")]
    pub(crate) more: Vec<OsString>,
}

#[derive(Args, Debug)]
pub(crate) struct GdbArguments {
    /// Refuse an emulator of another board than this one.
    #[arg(long, value_name = "P")]
    pub(crate) platform: Option<String>,
    /// Further arguments for gdb.
    #[arg(last = true, value_name = "GDB ARGUMENTS")]
    pub(crate) more: Vec<OsString>,
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct TraceArguments {
    #[command(subcommand)]
    pub(crate) reader: Option<TraceReader>,
    #[command(flatten)]
    pub(crate) build: BuildArguments,
    /// Boot this program, built for the ABI, as the initial thread.
    #[arg(long, value_name = "FILE.elf", conflicts_with = "system")]
    pub(crate) root_task: Option<PathBuf>,
    /// Use the host's time instead of the number of executed instructions.
    #[arg(long)]
    pub(crate) real_time: bool,
    /// End the run after this time; what has happened so far is in the trace.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) seconds: Option<u64>,
    #[command(flatten)]
    pub(crate) tracing: Tracing,
    /// The file to write.
    #[arg(short, long, value_name = "FILE", required = true)]
    pub(crate) output: Option<PathBuf>,
}

/// What the reader of traces does.
#[derive(Subcommand, Debug)]
pub(crate) enum TraceReader {
    /// All arguments go to the reader.
    #[command(external_subcommand)]
    Reader(Vec<OsString>),
}

/// Without `--platform` the description is checked for all platforms on which the system runs, and shown for
/// one.
#[derive(Args, Debug)]
pub(crate) struct SystemArguments {
    /// The system: a folder of systems/, or a file. In a project the default is its own.
    #[arg(value_name = "NAME|FILE")]
    pub(crate) system: Option<String>,
    /// The board.
    #[arg(long, value_name = "P")]
    pub(crate) platform: Option<String>,
    /// Draw the components and their connections into this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Print the JSON schema of descriptions, for editors.
    #[arg(long, conflicts_with_all = ["system", "platform", "svg"])]
    pub(crate) schema: bool,
}

/// The exit code is 0 if all deadlines hold, 1 if some do not, and 2 if the input cannot be analysed.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct AnalyseArguments {
    #[command(subcommand)]
    pub(crate) other: Option<AnalyseCommand>,
    #[command(flatten)]
    pub(crate) analysed: AnalysedArguments,
    /// Compare with this trace of a run, in which programs have marked their jobs.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) files: ReportFiles,
    /// Make the files in benches/overheads/ from the reference results.
    #[arg(long, conflicts_with_all = ["system", "platform", "overheads", "html", "json"])]
    pub(crate) write_figures: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AnalyseCommand {
    /// Find out which share of random task sets is schedulable.
    ///
    /// Without a name, the experiments are listed.
    Experiment(ExperimentArguments),
    /// Find partitions for the guests of a system: the smallest budgets, a schedule of domains, and contexts.
    Guests {
        #[command(flatten)]
        analysed: AnalysedArguments,
        #[command(flatten)]
        files: ReportFiles,
    },
    /// Find cores, priorities and budgets with which a system is in time.
    Assign(AssignArguments),
    /// Find out what a switch between guests costs, from the results of `bench --suite switch --json FILE`.
    Switch {
        /// The results.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// How many counts a microsecond has, to show times instead of counts.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
        megahertz: Option<u32>,
    },
}

/// The files into which a report is written, beside the text on the terminal.
#[derive(Args, Debug)]
pub(crate) struct ReportFiles {
    /// Write the report into this file, as one page.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the report into this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct AssignArguments {
    #[command(flatten)]
    pub(crate) analysed: AnalysedArguments,
    /// How many cores may be used; those of the description by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) cores: Option<u32>,
    #[command(flatten)]
    pub(crate) files: ReportFiles,
}

/// What is analysed.
#[derive(Args, Debug)]
pub(crate) struct AnalysedArguments {
    /// The system: a folder of systems/, or a file. In a project the default is its own.
    #[arg(value_name = "SYSTEM|FILE")]
    pub(crate) system: Option<String>,
    /// The board.
    #[arg(long, value_name = "P")]
    pub(crate) platform: Option<String>,
    /// The kernel's costs, instead of those in benches/overheads/.
    #[arg(long, value_name = "FILE")]
    pub(crate) overheads: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct ExperimentArguments {
    /// The experiment, or `all`.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The number of task sets for each utilisation; 500 by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) sets: Option<u32>,
    /// The seed of the sets; by default that of the curves in the book.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..1 << 32))]
    pub(crate) seed: Option<u64>,
    /// The board whose costs of the kernel count.
    #[arg(long, value_name = "P", default_value = "pc99")]
    pub(crate) platform: String,
    /// The kernel's costs, instead of those in benches/overheads/.
    #[arg(long, value_name = "FILE")]
    pub(crate) overheads: Option<PathBuf>,
    /// The folder of the CSV and SVG files; target/experiments by default.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
}

/// Without `--platform` everything is checked. In a project, its programs are compiled for pc99 or the given platforms.
#[derive(Args, Debug)]
pub(crate) struct CheckArguments {
    /// Rules and formatting, and the code for this platform; may be repeated.
    #[arg(long = "platform", value_name = "P")]
    pub(crate) platforms: Vec<String>,
    /// In a project: print the compiler's messages as JSON, for editors.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The emulator of a platform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Emulator {
    /// QEMU.
    #[default]
    Qemu,
    /// Bochs, which is slower and emulates other processors.
    Bochs,
}

/// Without `--host`, `--platform` and `--all`: all tests of the host, and on every platform those that depend
/// on it.
#[derive(Args, Clone, Debug)]
pub(crate) struct TestArguments {
    /// Everything, on every platform; an interrupted run is continued by the next one.
    #[arg(long, conflicts_with_all = ["host", "platforms", "filter"])]
    pub(crate) all: bool,
    /// Discard the results of an interrupted run of everything.
    #[arg(long, requires = "all")]
    pub(crate) fresh: bool,
    /// The tests that run on the host.
    #[arg(long)]
    pub(crate) host: bool,
    /// The on-target tests of this platform; may be repeated.
    #[arg(long = "platform", value_name = "P")]
    pub(crate) platforms: Vec<String>,
    /// The emulator of the platform; Bochs supports only some platforms.
    #[arg(
        long,
        value_enum,
        value_name = "NAME",
        default_value_t,
        requires = "platforms"
    )]
    pub(crate) emulator: Emulator,
    /// Only the tests with names that contain this text, or one of several, separated by commas.
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Options of the ABI for the on-target tests, separated by commas.
    #[arg(long, value_enum, value_name = "OPTIONS", value_delimiter = ',')]
    pub(crate) abi: Vec<AbiOption>,
    #[command(flatten)]
    pub(crate) cores: Cores,
    #[command(flatten)]
    pub(crate) hardening: Hardening,
    /// Let QEMU run the cores at the same time, so that they race. Time is the host's then: tests that read
    /// the clock fail if the host is busy.
    #[arg(long, requires = "platforms")]
    pub(crate) parallel: bool,
    /// Another seed for the fuzzer.
    #[arg(long, value_name = "N")]
    pub(crate) fuzz_seed: Option<u64>,
    /// The number of calls in each of the fuzzer's campaigns, in thousands.
    #[arg(long, value_name = "THOUSANDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) fuzz_calls: Option<u64>,
    /// Print every call of the fuzzer.
    #[arg(long)]
    pub(crate) fuzz_trace: bool,
    /// The maximum duration of each run in the emulator.
    #[arg(long, value_name = "SECONDS", default_value_t = 1200)]
    pub(crate) timeout: u64,
}

/// Tests against the model and of invariants, locks in all interleavings, a fuzzer, and mutants.
#[derive(Args, Debug)]
pub(crate) struct AssureArguments {
    /// The duration in minutes; each checker runs at least once.
    #[arg(long, value_name = "M", default_value_t = 2)]
    pub(crate) minutes: u64,
    /// Test all mutants of the kernel and nothing else, which takes hours.
    #[arg(long)]
    pub(crate) mutants: bool,
    /// Test all mutants of the fast paths in assembly, on the target, and nothing else.
    #[arg(long, conflicts_with = "mutants")]
    pub(crate) assembly: bool,
    /// The platform of the assembly mutants.
    #[arg(long, value_name = "P", default_value = "pc99", requires = "assembly")]
    pub(crate) platform: String,
    #[command(flatten)]
    pub(crate) cores: Cores,
    /// Only assembly mutants with a name that contains this text.
    #[arg(long, value_name = "TEXT", requires = "assembly")]
    pub(crate) only: Option<String>,
    /// Make the report part of the book.
    #[arg(long, conflicts_with_all = ["mutants", "assembly"])]
    pub(crate) write_report: bool,
    /// Add the fuzzer's new inputs to its committed corpus.
    #[arg(long, conflicts_with_all = ["mutants", "assembly"])]
    pub(crate) write_corpus: bool,
}

impl Command {
    /// The name of the command, if it needs more than an SDK has.
    pub(crate) fn of_checkout(&self, in_project: bool) -> Option<&'static str> {
        match self {
            Self::Sdk(_) => Some("sdk"),
            Self::Microkit(_) => Some("microkit"),
            Self::Bench(_) if !in_project => Some("bench"),
            Self::Assure(_) => Some("assure"),
            Self::Check(_) if !in_project => Some("check"),
            Self::Test(arguments) if !in_project || arguments.all => Some("test"),
            _ => None,
        }
    }
}

impl QemuArguments {
    /// Whether time is the number of executed instructions.
    pub(crate) fn is_virtual(&self) -> bool {
        let is_given = self.root_task.is_some() || self.microkit.is_some();
        self.icount || !is_given && !self.real_time
    }
}

impl BenchArguments {
    /// The arguments of other commands for a run of all benchmarks.
    pub(crate) fn of(timeout: u64) -> Self {
        Self {
            suite: None,
            platforms: Vec::new(),
            json: None,
            overheads: None,
            compare: None,
            write_reference: false,
            accept_worse: false,
            write_book: false,
            twice: false,
            variant: None,
            attackers: None,
            profile: None,
            traced: false,
            tracing: false,
            small: false,
            kvm: false,
            cores: Cores::ONE,
            hardening: Hardening::default(),
            timeout: Some(timeout),
        }
    }

    /// Whether all benchmarks are run.
    pub(crate) fn is_complete(&self) -> bool {
        self.tracing || self.suite.is_none() && self.measures_sizes()
    }

    /// Whether the kernel's sizes are measured, too: unless only a part is selected.
    pub(crate) fn measures_sizes(&self) -> bool {
        let all = self
            .suite
            .as_ref()
            .is_none_or(|suite| suite.starts_with('!'));
        all && self.variant.is_none() && self.attackers.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn arguments_after_two_dashes_go_to_qemu() {
        let cli = Cli::parse_from(["cargo xtask", "qemu", "--icount", "--", "-cpu", "Haswell"]);
        let Command::Qemu(arguments) = cli.command else {
            panic!("not `qemu`")
        };
        assert!(arguments.icount && arguments.is_virtual());
        assert_eq!(arguments.more, ["-cpu", "Haswell"]);
        assert_eq!(
            (
                &*arguments.build.platform,
                arguments.build.system.as_deref()
            ),
            ("pc99", None)
        );
    }

    #[test]
    fn systems_run_in_virtual_time_and_other_programs_in_the_host_s() {
        let is_virtual = |more: &[&str]| {
            let call = ["cargo xtask", "qemu"].iter().chain(more);
            let Command::Qemu(arguments) = Cli::parse_from(call).command else {
                panic!("not `qemu`")
            };
            arguments.is_virtual()
        };
        assert!(is_virtual(&[]) && is_virtual(&["--system", "edf"]));
        assert!(!is_virtual(&["--real-time"]) && !is_virtual(&["--root-task", "x.elf"]));
        assert!(!is_virtual(&["--microkit", "loader.img"]));
        assert!(is_virtual(&["--root-task", "x.elf", "--icount"]));
    }

    #[test]
    fn abi_options_are_separated_by_commas() {
        let cli = Cli::parse_from(["cargo xtask", "build", "--abi", "iommu,vtx"]);
        let Command::Build(arguments) = cli.command else {
            panic!("not `build`")
        };
        assert_eq!(arguments.build.abi, [AbiOption::Iommu, AbiOption::Vtx]);
    }

    #[test]
    fn events_are_chosen_only_of_an_image_that_is_traced() {
        let image = |more: &[&str]| {
            let call = ["cargo xtask", "build", "--keep", "last"].iter();
            let Command::Build(arguments) = Cli::parse_from(call.chain(more)).command else {
                panic!("not `build`")
            };
            arguments
        };
        assert!(image(&["--trace"]).trace);
        let workspace = crate::workspace::Workspace::find().unwrap();
        let error = crate::build::run(&workspace, &image(&[])).unwrap_err();
        assert!(error.to_string().ends_with("add --trace"), "{error}");
    }

    #[test]
    fn attacks_become_features() {
        let features = |list: &str| {
            let cli = Cli::parse_from(["cargo xtask", "bench", "--harden", list]);
            let Command::Bench(arguments) = cli.command else {
                panic!("not `bench`")
            };
            arguments.hardening.features().collect::<Vec<_>>()
        };
        let all = ["harden-meltdown", "harden-spectre", "harden-mds"];
        assert_eq!(features("mds,meltdown"), [all[0], all[2]]);
        assert_eq!(features("all"), all);
    }

    #[test]
    fn a_root_task_and_a_system_exclude_each_other() {
        let call = [
            "cargo xtask",
            "qemu",
            "--system",
            "demo",
            "--root-task",
            "x.elf",
        ];
        assert!(Cli::try_parse_from(call).is_err());
    }

    #[test]
    fn groups_of_events_are_chosen() {
        let groups = |more: &[&str]| {
            let call = ["cargo xtask", "trace", "-o", "x.trace"].iter().chain(more);
            let Command::Trace(arguments) = Cli::parse_from(call).command else {
                panic!("not `trace`")
            };
            arguments.tracing.groups()
        };
        assert_eq!(groups(&[]), "");
        assert_eq!(
            groups(&["--events", "marks,budgets,marks"]),
            "budgets,marks"
        );
        assert_eq!(groups(&["--events", "switches"]), "switches");
        assert_eq!(groups(&["--events", "switches,entries"]), "entries");
    }
}

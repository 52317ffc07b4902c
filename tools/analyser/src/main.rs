//! What `cargo xtask analyse` runs: the report about a system, partitions for its guests, experiments, the cost of
//! switches, and the file with the kernel's costs.
//!
//! The exit code is 0 if all deadlines hold, 1 if some do not, and 2 if the input cannot be analysed.

mod experiment;
mod switch;
mod system;

use std::io::{self, Write, stdin};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use system_analysis::{Figures, Instructions};

use experiment::Experiments;
use switch::Measured;
use system::{Described, Outputs};

/// How the analysis ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// All deadlines hold.
    Holds,
    /// Some do not.
    Fails,
}

impl Outcome {
    const fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }
}

type Result<T = Outcome> = anyhow::Result<T>;

/// Analyses systems; `cargo xtask analyse` finds the files for it.
#[derive(Parser)]
#[command(name = "analyser")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Will the system be in time? The boards, as JSON, are read from stdin.
    Report {
        #[command(flatten)]
        system: Described,
        /// The response times in a trace, as JSON, which are compared with the bounds.
        #[arg(long)]
        responses: Option<PathBuf>,
        #[command(flatten)]
        outputs: Outputs,
    },
    /// Partitions for the guests of a system. The boards, as JSON, are read from stdin.
    Guests {
        #[command(flatten)]
        system: Described,
        #[command(flatten)]
        outputs: Outputs,
    },
    /// Cores, priorities and budgets for a system. The boards, as JSON, are read from stdin.
    Assign {
        #[command(flatten)]
        system: Described,
        /// The most cores.
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=64))]
        cores: Option<u32>,
        #[command(flatten)]
        outputs: Outputs,
    },
    /// Runs experiments, or lists them.
    Experiment {
        #[command(flatten)]
        experiments: Experiments,
    },
    /// What a switch between guests costs, from the results of the benchmark suite `switch`.
    Switch {
        #[command(flatten)]
        measured: Measured,
    },
    /// Prints the file with the costs of the kernel on a platform.
    Figures {
        /// The platform.
        #[arg(long)]
        platform: String,
        #[command(flatten)]
        counts: Counts,
    },
}

/// See [`Instructions`].
#[derive(Args)]
struct Counts {
    #[arg(long)]
    section: u64,
    #[arg(long)]
    switch: u64,
    #[arg(long)]
    call: u64,
    #[arg(long)]
    interrupt: u64,
    #[arg(long)]
    timeout: u64,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(Outcome::Holds) => ExitCode::SUCCESS,
        Ok(Outcome::Fails) => ExitCode::FAILURE,
        Err(error) => {
            // An error is ignored: there is no output for it when stderr is closed.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result {
    match command {
        Command::Report {
            system,
            responses,
            outputs,
        } => system::report(&system.read(stdin())?, responses.as_deref(), &outputs),
        Command::Guests { system, outputs } => system::guests(&system.read(stdin())?, &outputs),
        Command::Assign {
            system,
            cores,
            outputs,
        } => system::assign(&system.read(stdin())?, cores, &outputs),
        Command::Experiment { experiments } => experiment::run(&experiments),
        Command::Switch { measured } => switch::run(&measured),
        Command::Figures { platform, counts } => {
            let counts = Instructions {
                section: counts.section,
                switch: counts.switch,
                call: counts.call,
                interrupt: counts.interrupt,
                timeout: counts.timeout,
            };
            print(&Figures::from_instructions(&platform, &counts))
        }
    }
}

/// Prints a result.
fn print(text: &str) -> Result {
    whole_file::print(text)?;
    Ok(Outcome::Holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls that the tool makes.
    #[test]
    fn calls_of_the_tool_are_understood() {
        for call in [
            "report s.toml --platform pc99 --overheads o.toml --responses r --html h --json n",
            "guests s.toml --platform pc99 --overheads o.toml --html h --json n",
            "assign s.toml --platform pc99 --overheads o.toml --cores 4 --html h --json n",
            "experiment --overheads o.toml --out f",
            "experiment --overheads o.toml --out f gedf-long-mean --sets 7 --seed 8",
            "switch results.json --megahertz 800",
            "figures --platform pc99 --section 1 --switch 2 --call 3 --interrupt 4 --timeout 5",
        ] {
            let words = ["analyser"].into_iter().chain(call.split(' '));
            let parsed = Arguments::try_parse_from(words);
            assert!(parsed.is_ok(), "{call}: {:?}", parsed.err());
        }
    }
}

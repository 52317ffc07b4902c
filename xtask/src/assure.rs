//! The command `assure`: searches for bugs of the kernel on the host for a given time, and reports.
//!
//! Every checker is a test on the host that also runs, in a short form, with the other host tests.
//! Checkers of a fixed set run once; those that draw random histories share the remaining time with the
//! fuzzer and with mutants of the kernel, which show how much the tests detect. The report is written again
//! after each round, so that a run can be ended at any time.

mod assembly;
mod checkers;
mod fuzz;
mod mutants;
mod plot;
mod report;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::cli::AssureArguments;
use crate::toolchain::Toolchain;
use crate::ui::{self, say};
use crate::workspace::Workspace;
use crate::{Outcome, Result};
use checkers::{Account, CHECKERS};

/// A run of the command.
struct Run<'a> {
    workspace: &'a Workspace,
    toolchain: Toolchain,
    /// The folder for reports and findings.
    folder: PathBuf,
    begin: Instant,
    minutes: u64,
}

/// The results so far.
#[derive(Default)]
struct Results {
    /// In the order of [`CHECKERS`].
    accounts: Vec<Account>,
    fuzz: Option<fuzz::Account>,
    mutants: Option<mutants::Account>,
    assembly: Option<assembly::Account>,
}

impl Results {
    fn findings(&self) -> u64 {
        let failures: u64 = self.accounts.iter().map(|account| account.failures).sum();
        failures + self.fuzz.as_ref().map_or(0, |fuzz| fuzz.findings)
    }
}

impl Run<'_> {
    /// A share, in percent, of all the time.
    fn share(&self, percent: u64) -> Duration {
        Duration::from_secs(60 * self.minutes * percent / 100)
    }

    fn is_over(&self) -> bool {
        self.begin.elapsed() >= self.share(100)
    }

    fn minutes_since(&self) -> f64 {
        self.begin.elapsed().as_secs_f64() / 60.0
    }
}

/// The command `assure`.
pub(crate) fn run(workspace: &Workspace, arguments: &AssureArguments) -> Result {
    let toolchain = Toolchain::host()?;
    let folder = workspace.target().join("assure");
    fs::create_dir_all(&folder)?;
    let mut run = Run {
        workspace,
        toolchain,
        folder,
        begin: Instant::now(),
        minutes: arguments.minutes,
    };
    let mut results = Results::default();
    if arguments.assembly {
        results.assembly = Some(assembly::all(&run, arguments)?);
        return finish(&run, &results, arguments);
    }
    if arguments.mutants {
        results.mutants = Some(mutants::all(&run)?);
        return finish(&run, &results, arguments);
    }
    checkers::build(&run)?;
    let fuzzer = fuzz::Fuzzer::build(&run)?;
    run.begin = Instant::now();
    results.accounts = CHECKERS.iter().map(|_| Account::default()).collect();
    let mut round = 0;
    while round == 0 || !run.is_over() {
        checkers::round(&run, round, &mut results.accounts)?;
        if let Some(fuzzer) = &fuzzer {
            fuzzer.run(&run, results.fuzz.get_or_insert_default())?;
        }
        if round == 0 {
            results.mutants = mutants::sample(&run)?;
        }
        report::write(&run, &results)?;
        round += 1;
    }
    let outcome = finish(&run, &results, arguments)?;
    if let Some(fuzzer) = fuzzer.filter(|_| arguments.write_corpus) {
        fuzzer.write_corpus(&run)?;
    }
    Ok(outcome)
}

fn finish(run: &Run<'_>, results: &Results, arguments: &AssureArguments) -> Result {
    ui::print(report::write(run, results)?)?;
    if arguments.write_report {
        report::publish(run, results)?;
    }
    let path = run.folder.join("report.md");
    say(&format!("report: {}", run.workspace.display(&path)));
    Ok(if results.findings() == 0 {
        Outcome::Success
    } else {
        Outcome::Failure
    })
}

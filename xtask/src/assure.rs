//! The command `assure`: searches for bugs of the kernel on the host for a given time, and reports.
//!
//! Every checker is a test of a crate in tests/ that also runs, in a short form, with the host tests.
//! Those that try a fixed set run once; those that draw histories at random share the remaining time.

use std::fmt::Write as _;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::plot::{Axis, Curve, Plot};
use crate::toolchain::Toolchain;
use crate::ui::{Step, say};
use crate::workspace::Workspace;
use crate::{Outcome, Result, cargo};

/// A test that looks for bugs.
struct Checker {
    about: &'static str,
    package: &'static str,
    /// What the names of its tests contain.
    filter: &'static str,
    /// Tests that the filter selects and that draw histories; 0 where the set is fixed.
    draws: u64,
}

const fn checker(
    about: &'static str,
    package: &'static str,
    filter: &'static str,
    draws: u64,
) -> Checker {
    Checker {
        about,
        package,
        filter,
        draws,
    }
}

const CHECKERS: [Checker; 8] = [
    checker(
        "all short histories against the model",
        "model",
        "explore",
        0,
    ),
    checker(
        "sabotaged kernels that must be caught",
        "model",
        "is_caught",
        0,
    ),
    checker("scenarios of the simulator", "simulator", "", 0),
    checker(
        "random histories against the model",
        "model",
        "kernel_and_model",
        1,
    ),
    checker("random histories, invariants", "host-tests", "random::", 1),
    checker(
        "random tangles of CNodes, invariants",
        "host-tests",
        "tangles::",
        1,
    ),
    checker(
        "supply of time in random systems",
        "host-tests",
        "supply::",
        2,
    ),
    checker(
        "donated budgets along chains of calls",
        "host-tests",
        "donated_budget",
        1,
    ),
];

/// Histories of one run of a checker that draws them.
const CASES: u64 = 500;

/// What one checker has done.
#[derive(Default)]
struct Account {
    runs: u64,
    failures: u64,
    taken: Duration,
    /// What it printed about itself.
    words: Vec<String>,
    /// Minutes, and histories until then.
    points: Vec<(f64, f64)>,
}

/// Runs all checkers for so many minutes.
pub(crate) fn run(workspace: &Workspace, minutes: u64) -> Result {
    let toolchain =
        Toolchain::host().context("no cargo is in use; start the tool as `cargo xtask`")?;
    let test = |package: &str| {
        let mut command = toolchain.cargo();
        command.current_dir(workspace.root());
        command.args(["test", "--profile", "host", "-p", package, "--tests"]);
        command
    };
    for package in ["model", "simulator", "host-tests"] {
        let step = Step::begin(&format!("building the tests of {package}"));
        cargo::run(&step, test(package).arg("--no-run"))?;
    }
    let folder = workspace.target().join("assure");
    fs::create_dir_all(&folder)?;
    let begin = Instant::now();
    let end = begin + Duration::from_secs(60 * minutes);
    let depth = match minutes {
        0..3 => "3",
        3..30 => "4",
        _ => "5",
    };
    let mut accounts: Vec<Account> = CHECKERS.iter().map(|_| Account::default()).collect();
    let mut round = 0;
    while round == 0 || Instant::now() < end {
        for (checker, account) in CHECKERS.iter().zip(&mut accounts) {
            if round > 0 && (checker.draws == 0 || Instant::now() >= end) {
                continue;
            }
            let step = Step::begin(&format!("{}, run {}", checker.about, account.runs + 1));
            let start = Instant::now();
            let output = test(checker.package)
                .args(["--quiet", checker.filter, "--", "--nocapture"])
                .env("PROPTEST_CASES", CASES.to_string())
                .env("EXPLORE_DEPTH", depth)
                .stdin(Stdio::null())
                .output()
                .context("cannot start cargo")?;
            account.runs += 1;
            account.taken += start.elapsed();
            let text = String::from_utf8_lossy(&output.stdout);
            let words = text.lines().filter(|line| line.starts_with("depth "));
            account.words.extend(words.map(str::to_string));
            let histories = account.runs * checker.draws * CASES;
            account
                .points
                .push((begin.elapsed().as_secs_f64() / 60.0, histories as f64));
            if !output.status.success() {
                account.failures += 1;
                let name = format!("finding-{}-{}.log", checker.package, account.runs);
                let errors = String::from_utf8_lossy(&output.stderr);
                fs::write(folder.join(&name), format!("{text}\n{errors}"))?;
                step.say(&format!(
                    "{}: a finding, see {}",
                    checker.about,
                    workspace.display(&folder.join(name))
                ));
            }
        }
        round += 1;
    }
    let findings = accounts.iter().map(|account| account.failures).sum::<u64>();
    fs::write(
        folder.join("report.md"),
        report(&accounts, begin.elapsed(), findings),
    )?;
    fs::write(folder.join("histories.svg"), plot(&accounts).svg())?;
    print!("{}", report(&accounts, begin.elapsed(), findings));
    say(&format!(
        "report: {}",
        workspace.display(&folder.join("report.md"))
    ));
    Ok(if findings == 0 {
        Outcome::Success
    } else {
        Outcome::Failure
    })
}

/// The histories over time.
fn plot(accounts: &[Account]) -> Plot<'static> {
    let curves: Vec<_> = (CHECKERS.iter().zip(accounts))
        .filter(|(checker, _)| checker.draws > 0)
        .map(|(checker, account)| Curve {
            name: checker.about,
            points: [&[(0.0, 0.0)], &*account.points].concat(),
        })
        .collect();
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let right = all().map(|point| point.0).fold(0.1, f64::max);
    let top = all().map(|point| point.1).fold(1.0, f64::max);
    Plot {
        title: "random histories",
        across: "minutes",
        x: Axis::Even { end: right },
        y: Axis::Even { end: top },
        curves,
    }
}

fn report(accounts: &[Account], taken: Duration, findings: u64) -> String {
    let mut text = String::from(
        "# Report\n\n| checker | runs | random histories | time | findings |\n|---|---|---|---|---|\n",
    );
    for (checker, account) in CHECKERS.iter().zip(accounts) {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.0} s | {} |",
            checker.about,
            account.runs,
            account.runs * checker.draws * CASES,
            account.taken.as_secs_f64(),
            account.failures,
        );
    }
    let _ = writeln!(text);
    for words in accounts.iter().flat_map(|account| &account.words) {
        let _ = writeln!(text, "All histories: {words}.");
    }
    let _ = writeln!(
        text,
        "\n{findings} findings in {:.1} minutes.\n\n![Random histories over time](histories.svg)",
        taken.as_secs_f64() / 60.0,
    );
    text
}

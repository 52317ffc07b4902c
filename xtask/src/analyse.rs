//! The command `analyse`: will a system be in time? The analyses are a program of their own, `tools/analyser`, which
//! gets the files that the arguments mean.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde_json::Value;

use crate::build::write_if_changed;
use crate::cli::{
    AnalyseArguments, AnalyseCommand, AnalysedArguments, ExperimentArguments, ReportFiles,
};
use crate::platform::Platform;
use crate::programs::{self, Program};
use crate::temporary;
use crate::workspace::Workspace;
use crate::{Outcome, Result, bench, describe, sdk};

/// The costs of the kernel, a file for each platform.
const FIGURES: &str = "benches/overheads";

/// The command `analyse`.
pub(crate) fn run(workspace: &Workspace, arguments: &AnalyseArguments) -> Result {
    match &arguments.other {
        Some(AnalyseCommand::Experiment(arguments)) => return experiment(workspace, arguments),
        Some(AnalyseCommand::Guests { analysed, files }) => {
            let mut call = described(workspace, "guests", analysed)?;
            write_into(&mut call, files);
            return with_boards(workspace, &call);
        }
        Some(AnalyseCommand::Assign(arguments)) => {
            let mut call = described(workspace, "assign", &arguments.analysed)?;
            write_into(&mut call, &arguments.files);
            extend(&mut call, "--cores", arguments.cores);
            return with_boards(workspace, &call);
        }
        Some(AnalyseCommand::Switch { file, megahertz }) => {
            return switch(workspace, file, *megahertz);
        }
        None => {}
    }
    if arguments.write_figures {
        return write_figures(workspace);
    }
    let mut call = described(workspace, "report", &arguments.analysed)?;
    let responses = match &arguments.trace {
        Some(trace) => {
            sdk::require_checkout(workspace, "analyse --trace")?;
            let responses = programs::responses(workspace, trace)?;
            Some(temporary::File::of(responses)?)
        }
        None => None,
    };
    if let Some(file) = &responses {
        call.extend(["--responses".into(), file.path().into()]);
    }
    write_into(&mut call, &arguments.files);
    with_boards(workspace, &call)
}

/// Adds the files of a report to the analyser's arguments.
fn write_into(call: &mut Vec<OsString>, files: &ReportFiles) {
    for (option, file) in [("--html", &files.html), ("--json", &files.json)] {
        if let Some(file) = file {
            call.extend([option.into(), file.into()]);
        }
    }
}

/// Adds a number to the analyser's arguments, if there is one.
fn extend(call: &mut Vec<OsString>, option: &str, number: Option<impl ToString>) {
    if let Some(number) = number {
        call.extend([option.into(), number.to_string().into()]);
    }
}

/// Fits what a switch between guests costs to the results of a benchmark.
pub(crate) fn switch(workspace: &Workspace, file: &Path, megahertz: Option<u32>) -> Result {
    let mut call = vec!["switch".into(), file.into()];
    extend(&mut call, "--megahertz", megahertz);
    programs::run(workspace, Program::Analyser, &call)
}

/// The analyser's arguments about a system; complaints about its description are shown.
fn described(
    workspace: &Workspace,
    command: &str,
    analysed: &AnalysedArguments,
) -> Result<Vec<OsString>> {
    let file = describe::file(workspace, analysed.system.as_deref())?;
    let platform = describe::of_file(workspace, &file, analysed.platform.as_deref())?.platform;
    Ok([
        command.into(),
        file.into_os_string(),
        "--platform".into(),
        OsString::from(&platform),
        "--overheads".into(),
        figures(workspace, analysed.overheads.as_deref(), &platform),
    ]
    .into())
}

/// Runs the analyser with a command that reads all boards.
fn with_boards(workspace: &Workspace, call: &[OsString]) -> Result {
    programs::run_with(workspace, Program::Analyser, call, boards(workspace)?)
}

/// All boards as the analyser reads them.
fn boards(workspace: &Workspace) -> Result<Stdio> {
    let boards = serde_json::to_vec(&Platform::all_for_descriptions(workspace)?)?;
    let boards = temporary::File::of(boards)?;
    let boards = fs::File::open(boards.path()).context("cannot read the file for the boards")?;
    Ok(Stdio::from(boards))
}

/// What the analysis of a described system says if a deadline does not hold, a response in a run took longer than its
/// bound, or the run shows nothing of a component that is named in `needed`; `responses` are those of the run, as the reader
/// of traces prints them.
pub(crate) fn complaint(
    workspace: &Workspace,
    description: &Path,
    platform: &str,
    responses: &Path,
    needed: &[&str],
) -> Result<Option<String>> {
    let figures = of_platform(workspace, platform);
    let analyser = programs::build(workspace, Program::Analyser)?;
    let report = temporary::File::new()?;
    let output = Command::new(&analyser)
        .arg("report")
        .arg(description)
        .args(["--platform", platform, "--overheads"])
        .args([&*figures, Path::new("--responses"), responses])
        .args([Path::new("--json"), report.path()])
        .stdin(boards(workspace)?)
        .output()
        .with_context(|| format!("cannot start {}", analyser.display()))?;
    let words = [&*output.stdout, &output.stderr].concat();
    let words = String::from_utf8_lossy(&words).into_owned();
    if !output.status.success() {
        return Ok(Some(words));
    }
    let report = fs::read(report.path()).context("cannot read the report")?;
    let report: Value = serde_json::from_slice(&report).context("cannot read the report")?;
    let rows = report["rows"].as_array().into_iter().flatten();
    let is_there = |row: &&Value| !row["observed"].is_null();
    let there = rows.filter(is_there);
    let there: Vec<_> = there.filter_map(|row| row["name"].as_str()).collect();
    let missing: Vec<_> = needed.iter().filter(|name| !there.contains(name)).collect();
    Ok((!missing.is_empty()).then(|| format!("the trace shows nothing of {missing:?}\n{words}")))
}

/// Runs experiments with random task sets.
fn experiment(workspace: &Workspace, arguments: &ExperimentArguments) -> Result {
    let default = workspace.target().join("experiments");
    let folder = arguments.out.as_ref().unwrap_or(&default);
    let mut call = vec![
        "experiment".into(),
        "--overheads".into(),
        figures(
            workspace,
            arguments.overheads.as_deref(),
            &arguments.platform,
        ),
        "--out".into(),
        folder.into(),
    ];
    call.extend(arguments.name.as_ref().map(OsString::from));
    extend(&mut call, "--sets", arguments.sets);
    extend(&mut call, "--seed", arguments.seed);
    programs::run(workspace, Program::Analyser, &call)
}

/// The file with the kernel's costs.
fn figures(workspace: &Workspace, chosen: Option<&Path>, platform: &str) -> OsString {
    chosen.map_or_else(|| of_platform(workspace, platform).into(), OsString::from)
}

fn of_platform(workspace: &Workspace, platform: &str) -> PathBuf {
    workspace.path(FIGURES).join(format!("{platform}.toml"))
}

/// The platforms for which there are benchmarks, and so the kernel's costs.
fn measured(workspace: &Workspace) -> Vec<String> {
    let mut names = Platform::names(workspace);
    names.retain(|name| bench::has(workspace, name));
    names
}

/// Writes the costs of the kernel on each platform that has reference results.
fn write_figures(workspace: &Workspace) -> Result {
    for name in measured(workspace) {
        let mut call = vec!["figures".to_string(), "--platform".into(), name.clone()];
        for (operation, count) in bench::figures(workspace, &name)? {
            call.extend([format!("--{operation}"), count.to_string()]);
        }
        let text = programs::output(workspace, Program::Analyser, &call)?;
        write_if_changed(&of_platform(workspace, &name), &text)?;
    }
    Ok(Outcome::Success)
}

#[cfg(test)]
mod tests;

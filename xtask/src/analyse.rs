//! The command `analyse`: will a system be in time?

mod experiment;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use serde::Deserialize;
use system_analysis::partitions::partitions;
use system_analysis::{Figures, Observed, Report, Time, analyse};
use system_description::System;
#[cfg(test)]
use system_description::{Source, check};

use crate::build::write_if_changed;
use crate::cli::{AnalyseArguments, AnalyseCommand, GuestsArguments};
use crate::platform::Platform;
use crate::workspace::Workspace;
use crate::{Outcome, Result, bench, describe, sim};

/// The costs of the kernel, a file for each platform.
const FIGURES: &str = "benches/overheads";

/// The command `analyse`.
pub(crate) fn run(workspace: &Workspace, arguments: &AnalyseArguments) -> Result {
    match &arguments.other {
        Some(AnalyseCommand::Experiment(arguments)) => {
            return experiment::run(workspace, arguments);
        }
        Some(AnalyseCommand::Guests(arguments)) => return guests(workspace, arguments),
        None => {}
    }
    if arguments.write_figures {
        return write_figures(workspace);
    }
    let name = arguments.system.as_deref();
    let system = describe::named(workspace, name, arguments.platform.as_deref())?;
    let file = match &arguments.overheads {
        Some(file) => file.clone(),
        None => figures_of(workspace, &system.platform),
    };
    let mut report = of(&system, &read(workspace, &file)?)?;
    if let Some(trace) = &arguments.trace {
        report.observe(&observed(workspace, trace)?);
    }
    let outputs = [
        (&arguments.html, Report::html as fn(&Report) -> String),
        (&arguments.json, Report::json),
    ];
    for (file, form) in outputs {
        if let Some(file) = file {
            write_if_changed(file, form(&report).as_bytes())?;
        }
    }
    describe::print(&report.text())?;
    Ok(if report.holds {
        Outcome::Success
    } else {
        Outcome::Failure
    })
}

/// The jobs in a trace. Those of a component have the number 0.
fn observed(workspace: &Workspace, trace: &Path) -> Result<Vec<Observed>> {
    #[derive(Deserialize)]
    struct Jobs {
        thread: String,
        task: u32,
        done: u64,
        longest: u64,
    }
    let jobs: Vec<Jobs> = serde_json::from_slice(&sim::jobs(workspace, trace)?)
        .with_context(|| format!("cannot read the jobs in {}", trace.display()))?;
    let own = jobs.into_iter().filter(|one| one.task == 0);
    let observed = own.map(|one| Observed {
        name: one.thread,
        jobs: one.done,
        longest: Time::from_nanos(one.longest),
    });
    Ok(observed.collect())
}

/// Partitions for the guests of a system.
fn guests(workspace: &Workspace, arguments: &GuestsArguments) -> Result {
    let name = arguments.system.as_deref();
    let system = describe::named(workspace, name, arguments.platform.as_deref())?;
    let default = figures_of(workspace, &system.platform);
    let figures = read(workspace, arguments.overheads.as_ref().unwrap_or(&default))?;
    let found = partitions(&system, &figures)
        .map_err(|problem| anyhow!("there are no partitions to find: {problem}"))?;
    describe::print(&found.text())?;
    Ok(if found.holds() {
        Outcome::Success
    } else {
        Outcome::Failure
    })
}

fn figures_of(workspace: &Workspace, platform: &str) -> PathBuf {
    workspace.path(FIGURES).join(format!("{platform}.toml"))
}

fn read(workspace: &Workspace, file: &Path) -> Result<Figures> {
    let shown = workspace.display(file).to_string();
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    Figures::read(&text).map_err(|error| anyhow!("{shown}: {}", error.trim_end()))
}

/// The report, or all that is not known in one error.
fn of(system: &System, figures: &Figures) -> Result<Report> {
    analyse(system, figures)
        .map_err(|problems| anyhow!("this cannot be analysed: {}", problems.join("\n  and: ")))
}

/// Writes the costs of the kernel on each platform that has reference results.
fn write_figures(workspace: &Workspace) -> Result {
    for name in Platform::names(workspace) {
        let text = bench::figures(workspace, &name)?;
        write_if_changed(&figures_of(workspace, &name), text.as_bytes())?;
    }
    Ok(Outcome::Success)
}

/// The system that a text describes on a platform.
#[cfg(test)]
fn described(workspace: &Workspace, text: &str, platform: &str) -> Result<System> {
    let source = Source {
        path: "system.toml",
        text,
    };
    let checked = check(source, &Platform::all_for_descriptions(workspace)?);
    if !checked.is_good() {
        anyhow::bail!("{}", checked.diagnostics[0].line(source));
    }
    let system = checked
        .systems
        .into_iter()
        .find(|one| one.platform == platform);
    system.context("the system runs on that platform")
}

#[cfg(test)]
mod tests;

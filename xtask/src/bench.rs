//! The command `bench`: on-target benchmarks, their results as a table and as JSON, and comparisons with
//! earlier results.
//!
//! The benchmarks are an ordinary system, `benches/system.toml`, and its components print their results. This
//! side adds the statistics.

mod boot;
mod compare;
mod criticality;
mod delay;
mod figures;
mod hardening;
mod measurement;
mod profile;
mod project;
mod reference;
mod run;
mod scaling;
mod schedulers;
mod speed;
mod switch;
mod table;
mod tracing;

use std::fs;

use anyhow::{Context, bail};

pub(crate) use figures::figures;
pub(crate) use reference::{Results, complaints, has};

use crate::cli::{BenchArguments, Cores, Events, Tracing};
use crate::platform::Platform;
use crate::qemu::Supervisor;
use crate::setup::BuildTools;
use crate::ui::{self, say};
use crate::workspace::Workspace;
use crate::{Outcome, Result, setup};
use measurement::Measurement;
use run::{Bench, Counted};

/// The maximum duration of one platform's benchmarks, in seconds.
const TIMEOUT: u64 = 600;

/// The command `bench`.
pub(crate) fn run(workspace: &Workspace, arguments: &BenchArguments) -> Result {
    if crate::project::folder().is_some() {
        return project::run(workspace, arguments);
    }
    if arguments.write_book {
        reference::write_book(workspace)?;
        return Ok(Outcome::Success);
    }
    let names = match &*arguments.platforms {
        [] if arguments.tracing => tracing::PLATFORMS.map(str::to_string).to_vec(),
        [] => {
            let mut names = Platform::names(workspace);
            names.retain(|name| has(workspace, name));
            names
        }
        some => some.to_vec(),
    };
    let is_one = arguments.json.is_some()
        || arguments.overheads.is_some()
        || matches!(arguments.compare, Some(Some(_)));
    if names.len() > 1 && is_one {
        bail!("one file holds the results of one platform; choose one with --platform");
    }
    for file in arguments.json.iter().chain(&arguments.overheads) {
        ui::require_file(file)?;
    }
    if let Some(suite) = &arguments.suite {
        require_suite(workspace, suite)?;
    }
    switch::require_no_comparison(arguments)?;
    let supervisor = Supervisor::new()?;
    let tools = setup::build_tools()?;
    let mut good = true;
    for name in &names {
        let platform = Platform::load(workspace, name)?;
        let fits = platform.has(arguments.cores) && scaling::fits(arguments, &platform);
        if arguments.platforms.is_empty() && !fits {
            continue;
        }
        let traced = arguments.traced.then(|| Tracing::of(Events::All));
        let bench = Bench {
            counted: if arguments.kvm {
                Counted::Cycles
            } else {
                Counted::Instructions
            },
            tracing: traced.as_ref(),
            ..Bench::new(workspace, &tools, &platform, &supervisor, arguments)
        };
        match &arguments.profile {
            Some(operation) => profile::show(&bench, operation)?,
            None => good &= one(&bench)?,
        }
        if supervisor.interrupted() {
            return Ok(Outcome::Interrupted);
        }
    }
    if arguments.write_reference {
        reference::write_book(workspace)?;
        say(
            "the analyses' costs of the kernel come from the references: run `cargo xtask analyse --write-figures`, too",
        );
    }
    Ok(if good {
        Outcome::Success
    } else {
        Outcome::Failure
    })
}

/// Refuses a text that selects no benchmark, before anything is built: neither a suite, which is a file or
/// folder of `benches`, nor a name in one.
fn require_suite(workspace: &Workspace, text: &str) -> Result<()> {
    const FOLDER: &str = "benches/component/src/suites";
    let mut suites = workspace.names_in(FOLDER)?;
    suites.retain(|name| name != "mod" && name != "sync");
    let text = text.trim_start_matches('!');
    let suite = text.split('/').next().unwrap_or_default();
    let is_name = || {
        let files = workspace.files().unwrap_or_default();
        let mut files = files.iter().filter(|file| file.starts_with(FOLDER));
        files.any(|file| {
            fs::read_to_string(workspace.path(file)).is_ok_and(|source| source.contains(text))
        })
    };
    if suites.iter().any(|known| known.contains(suite)) || is_name() {
        return Ok(());
    }
    bail!(
        "no benchmark has `{text}` in its name; there are the suites {}",
        suites.join(", ")
    )
}

/// The complaints about one platform: operations that are worse than the committed results, or missing in
/// them; delays of a high-priority thread that grow or are too long with few attackers; and cache lines that
/// cores share while they work on core-local objects. A short run leaves out the kernel without thresholds.
pub(crate) fn examine(
    workspace: &Workspace,
    tools: &BuildTools,
    platform: &Platform,
    supervisor: &Supervisor,
    timeout: u64,
    is_short: bool,
) -> Result<Vec<String>> {
    let arguments = BenchArguments {
        attackers: Some(delay::FEW),
        ..BenchArguments::of(timeout)
    };
    let bench = Bench::new(workspace, tools, platform, supervisor, &arguments);
    let measured = bench.measure_with_sizes(!is_short)?;
    let mut before = reference::read(workspace, &platform.name, &Results::of(&arguments))?;
    if is_short {
        before.retain(|one| !run::is_without_thresholds(one));
    }
    let mut complaints = worse(&before, &measured, tools.toolchain.version(), true);
    complaints.extend(delay::complaints(&measured));
    complaints.extend(boot::complaints(&measured));
    if !is_short || platform.is_sample() {
        complaints.extend(scaling::examine(&bench)?);
    }
    Ok(complaints)
}

/// The complaints about delays of a high-priority thread on a core of its own, with attackers on another
/// core.
pub(crate) fn examine_cores(
    workspace: &Workspace,
    tools: &BuildTools,
    platform: &Platform,
    supervisor: &Supervisor,
    timeout: u64,
) -> Result<Vec<String>> {
    let arguments = BenchArguments {
        suite: Some(delay::SUITE.to_string()),
        attackers: Some(delay::FEW_ELSEWHERE),
        cores: Cores::TWO,
        ..BenchArguments::of(timeout)
    };
    let bench = Bench::new(workspace, tools, platform, supervisor, &arguments);
    Ok(delay::complaints(&bench.measure()?))
}

/// The complaints about what trace events cost: operations that are worse than the committed results, or missing in them.
pub(crate) fn examine_tracing(
    workspace: &Workspace,
    tools: &BuildTools,
    platform: &Platform,
    supervisor: &Supervisor,
    timeout: u64,
) -> Result<Vec<String>> {
    let arguments = BenchArguments {
        tracing: true,
        ..BenchArguments::of(timeout)
    };
    let bench = Bench::new(workspace, tools, platform, supervisor, &arguments);
    let before = reference::read(workspace, &platform.name, &Results::of(&arguments))?;
    let compiler = tools.toolchain.version();
    Ok(worse(&before, &bench.measure()?, compiler, true))
}

/// Operations that are worse than before, if there are earlier results. The suite `delay` has bounds of its
/// own; its figures depend on where releases hit. Measured times differ in each run.
fn worse(
    before: &[Measurement],
    measured: &[Measurement],
    compiler: &str,
    complete: bool,
) -> Vec<String> {
    let [before, measured] = [before, measured].map(reproducible);
    if before.is_empty() {
        return Vec::new();
    }
    compare::complaints(&before, &measured, compiler, complete)
}

/// The results that are the same in each run.
fn reproducible(list: &[Measurement]) -> Vec<Measurement> {
    let mut list = list.to_vec();
    list.retain(|one| one.suite != delay::SUITE && !scaling::SUITES.contains(&&*one.suite));
    // The emulator's cores take turns of different lengths.
    list.retain(|one| !reference::is_of_several_cores(one));
    list
}

/// Benchmarks one platform; returns whether there are no complaints.
fn one(bench: &Bench<'_>) -> Result<bool> {
    let (arguments, name) = (bench.arguments, &*bench.platform.name);
    let measured = match bench.measure() {
        Ok(measured) => measured,
        // A failure of one platform must not hide the others' results.
        Err(error) => {
            ui::error(&error.context(format!("{name} could not be measured")));
            return Ok(false);
        }
    };
    let mut good = true;
    if arguments.twice {
        let again = bench.measure()?;
        if again == measured {
            say(&format!(
                "{name}: both runs have the same {} results",
                measured.len()
            ));
        } else {
            say(&format!("{name}: the second run differs from the first"));
            good = false;
        }
    }
    let before = match &arguments.compare {
        None => None,
        Some(None) => Some(reference::read(
            bench.workspace,
            name,
            &Results::of(arguments),
        )?),
        Some(Some(file)) => {
            let context = || format!("cannot use {}", file.display());
            let text = fs::read_to_string(file).with_context(context)?;
            Some(measurement::parse_list(&text).with_context(context)?)
        }
    };
    let (points, rest): (Vec<_>, Vec<_>) = measured.iter().cloned().partition(switch::is_point);
    ui::print(table::terminal(&rest, before.as_deref()))?;
    if !points.is_empty() {
        switch::show(bench.workspace, &points)?;
    }
    if let Some(file) = &arguments.json {
        whole_file::write(file, measurement::format_list(&measured)?)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    if let Some(file) = &arguments.overheads {
        let kernel = fs::read_to_string(
            bench
                .workspace
                .path(format!("benches/overheads/{name}.toml")),
        )
        .with_context(|| format!("there are no costs of the kernel on {name}"))?;
        let text = figures::with_scheduler(bench.workspace, name, &measured, &kernel)?;
        whole_file::write(file, text)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    if arguments.write_reference {
        let mut measured = measured.clone();
        if arguments.cores.are_several() && scaling::wanted(bench.filter()).is_none() {
            // The others are those of one core.
            measured.retain(reference::is_of_several_cores);
        }
        good &= write_reference(
            bench.workspace,
            name,
            arguments,
            &measured,
            bench.tools.toolchain.version(),
        )?;
    }
    let bounds = [delay::complaints, boot::complaints, scaling::complaints];
    for complaint in bounds.iter().flat_map(|complaints| complaints(&measured)) {
        say(&format!("{name}: {complaint}"));
        good = false;
    }
    if let Some(before) = before {
        let complaints = worse(
            &before,
            &measured,
            bench.tools.toolchain.version(),
            arguments.is_complete(),
        );
        for complaint in &complaints {
            say(&format!("{name}: {complaint}"));
        }
        good &= complaints.is_empty();
    }
    Ok(good)
}

/// Makes `measured` the reference. Returns whether that is so: what is much worse than the reference is refused, so that
/// a lost fast path cannot become the reference unseen.
fn write_reference(
    workspace: &Workspace,
    platform: &str,
    arguments: &BenchArguments,
    measured: &[Measurement],
    compiler: &str,
) -> Result<bool> {
    let results = Results::of(arguments);
    let before = reference::read(workspace, platform, &results).unwrap_or_default();
    let complaints = compare::much_worse(&reproducible(&before), &reproducible(measured));
    for complaint in &complaints {
        say(&format!("{platform}: {complaint}"));
    }
    if !complaints.is_empty() && !arguments.accept_worse {
        say(&format!(
            "{platform}: the reference stays as it was; if the change of costs is intended, add --accept-worse"
        ));
        return Ok(false);
    }
    reference::write(workspace, platform, &results, measured, compiler)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measurement::tests::example;

    #[test]
    fn platforms_with_the_costs_of_others_are_measured_on_request_only() {
        let workspace = Workspace::find().unwrap();
        let mut names = Platform::names(&workspace);
        names.retain(|name| !has(&workspace, name));
        assert_eq!(names, ["qemu-virt"]);
        let benches = crate::system::System::benches(&workspace).unwrap();
        assert!(benches.runs_on("qemu-virt"));
    }

    #[test]
    fn a_reference_is_not_made_much_worse_unseen() {
        let folder = crate::temporary::Folder::new().unwrap();
        let workspace = Workspace::at(folder.path());
        let mut arguments = BenchArguments::of(1);
        let mut write = |count: f64, accept_worse| {
            arguments.accept_worse = accept_worse;
            let measured = [example("call", &[count])];
            let is_written =
                write_reference(&workspace, "pc99", &arguments, &measured, "").unwrap();
            let stored = reference::read(&workspace, "pc99", &Results::Plain).unwrap();
            (is_written, stored[0].mean)
        };
        assert_eq!(write(112.0, false), (true, 112.0));
        assert_eq!(write(222.0, false), (false, 112.0));
        assert_eq!(write(123.0, false), (true, 123.0));
        assert_eq!(write(222.0, true), (true, 222.0));
        assert_eq!(write(112.0, false), (true, 112.0));
    }
}

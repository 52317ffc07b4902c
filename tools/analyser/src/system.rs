//! The analysis of a described system.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde::Deserialize;
use system_analysis::partitions::partitions;
use system_analysis::{Configured, Figures, InForce, Observed, Shown, Time, analyse, assignment};
use system_description::{Platform, Source, System, check};

use crate::{Outcome, Result, print};

/// A system and the costs of its kernel.
#[derive(Args)]
pub(crate) struct Described {
    /// The description.
    file: PathBuf,
    /// The platform.
    #[arg(long)]
    platform: String,
    /// The kernel's costs.
    #[arg(long)]
    overheads: PathBuf,
}

/// The files into which a result is written, beside the text on stdout.
#[derive(Args, Default)]
pub(crate) struct Outputs {
    /// As one page.
    #[arg(long)]
    html: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: Option<PathBuf>,
}

impl Outputs {
    /// Writes the files, then the text.
    fn write(&self, text: &str, html: impl Fn() -> String, json: impl Fn() -> String) -> Result {
        let files: [(_, &dyn Fn() -> String); 2] = [(&self.html, &html), (&self.json, &json)];
        for (file, form) in files {
            if let Some(file) = file {
                let written = file
                    .parent()
                    .map_or(Ok(()), fs::create_dir_all)
                    .and_then(|()| whole_file::write(file, form()));
                written.with_context(|| format!("cannot write {}", file.display()))?;
            }
        }
        print(text)
    }
}

/// What is analysed.
#[derive(Debug)]
pub(crate) struct Input {
    system: System,
    figures: Figures,
    /// The cores of the board.
    cores: u32,
}

impl Described {
    /// The system, the kernel's costs, and the cores of the board; `boards` has all platforms, as JSON.
    pub(crate) fn read(&self, boards: impl Read) -> Result<Input> {
        let boards: Vec<Platform> =
            serde_json::from_reader(boards).context("cannot read the boards on stdin")?;
        let shown = self.file.display().to_string();
        let text =
            fs::read_to_string(&self.file).with_context(|| format!("cannot read {shown}"))?;
        let source = Source {
            path: &shown,
            text: &text,
        };
        let mut systems = check(source, &boards).systems.into_iter();
        let system = systems.find(|one| one.platform == self.platform);
        let system =
            system.with_context(|| format!("{shown} describes no system for {}", self.platform))?;
        let board = boards.iter().find(|one| one.name == self.platform);
        Ok(Input {
            system,
            figures: figures(&self.overheads)?,
            cores: board.map_or(1, |board| board.cores),
        })
    }
}

/// The kernel's costs in a file.
pub(crate) fn figures(file: &Path) -> Result<Figures> {
    let shown = file.display();
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    Figures::read(&text).map_err(|error| anyhow!("{shown}: {}", error.trim_end()))
}

/// The report about a system, beside what a trace shows.
pub(crate) fn report(
    Input {
        system, figures, ..
    }: &Input,
    responses: Option<&Path>,
    outputs: &Outputs,
) -> Result {
    let mut report = analyse(system, figures).map_err(all)?;
    if let Some(responses) = responses {
        let (observed, part) = observed(responses, system)?;
        report.observe(&observed, &part);
    }
    outputs.write(&report.text(), || report.html(), || report.json())?;
    Ok(Outcome::of(report.holds))
}

/// What is wrong with a system, in one error.
fn all(problems: Vec<String>) -> anyhow::Error {
    anyhow!("this cannot be analysed: {}", problems.join("\n  and: "))
}

/// What a run shows of components, whose own jobs have the number 0, while the budgets of the description are in force.
fn observed(responses: &Path, system: &System) -> Result<(Vec<Observed>, InForce)> {
    #[derive(Deserialize)]
    struct Run {
        jobs: Vec<Jobs>,
        budgets: Vec<Budgets>,
        configured: Vec<Parameters>,
    }
    /// The begin and the length of each, in nanoseconds.
    type Responses = Vec<[u64; 2]>;
    #[derive(Deserialize)]
    struct Jobs {
        thread: String,
        task: u32,
        responses: Responses,
    }
    #[derive(Deserialize)]
    struct Budgets {
        thread: String,
        responses: Responses,
    }
    #[derive(Deserialize)]
    struct Parameters {
        thread: String,
        context: usize,
        time: u64,
        budget: u64,
        period: u64,
    }
    let file = responses.display();
    let text = fs::read(responses).with_context(|| format!("cannot read {file}"))?;
    let Run {
        jobs,
        budgets,
        configured,
    } = serde_json::from_slice(&text).with_context(|| {
        format!("{file} has no response times as `cargo xtask trace responses` prints them")
    })?;
    let jobs = jobs.into_iter().filter(|one| one.task == 0);
    let jobs = jobs.map(|one| (one.thread, Shown::Jobs, one.responses));
    let budgets = budgets.into_iter();
    let budgets = budgets.map(|one| (one.thread, Shown::Budgets, one.responses));
    let configured = configured.into_iter().map(|one| Configured {
        component: one.thread,
        context: one.context,
        time: Time::from_nanos(one.time),
        budget: Time::from_nanos(one.budget),
        period: Time::from_nanos(one.period),
    });
    let part = InForce::of(system, &configured.collect::<Vec<_>>());
    let observed = jobs.chain(budgets).map(|(name, shown, responses)| {
        let responses = responses.into_iter().map(|one| one.map(Time::from_nanos));
        let lengths = responses
            .filter(|&[begin, length]| part.contains(begin, length))
            .map(|[_, length]| length);
        let lengths: Vec<_> = lengths.collect();
        Observed {
            name,
            shown,
            count: lengths.len() as u64,
            longest: lengths.into_iter().max().unwrap_or(Time::ZERO),
        }
    });
    Ok((observed.collect(), part))
}

/// Partitions for the guests of a system.
pub(crate) fn guests(
    Input {
        system, figures, ..
    }: &Input,
    outputs: &Outputs,
) -> Result {
    let found = partitions(system, figures)
        .map_err(|problem| anyhow!("there are no partitions to find: {problem}"))?;
    outputs.write(&found.text(), || found.html(), || found.json())?;
    Ok(Outcome::of(found.holds()))
}

/// Cores, priorities and budgets for a system, on at most so many cores.
pub(crate) fn assign(input: &Input, cores: Option<u32>, outputs: &Outputs) -> Result {
    if let Some(most) = cores.filter(|most| *most > input.cores) {
        let (board, has) = (&input.system.platform, input.cores);
        let cores = if has == 1 { "core" } else { "cores" };
        bail!("{board} has {has} {cores}, not {most}; use `--cores {has}` or less");
    }
    let found = assignment::assign(&input.system, &input.figures, cores).map_err(all)?;
    outputs.write(&found.text(), || found.html(), || found.json())?;
    Ok(Outcome::of(found.holds()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PC99: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../benches/overheads/pc99.toml"
    );

    #[test]
    fn overheads_that_lack_something_are_refused_with_their_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("o.toml");
        let text = fs::read_to_string(PC99).unwrap();
        fs::write(&file, text.replace("switch =", "context-switch =")).unwrap();
        let error = figures(&file).unwrap_err().to_string();
        assert!(error.contains("unknown field `context-switch`"), "{error}");
        assert!(error.contains("line 7, column 1"), "{error}");
        let missing = figures(Path::new("nowhere.toml")).unwrap_err();
        assert_eq!(missing.to_string(), "cannot read nowhere.toml");
    }

    const CONFIGURED: &str = r#"{"thread": "control", "context": 2, "time": 50000, "budget": 2000000, "period": 10000000}"#;
    const CHANGED: &str = r#"{"thread": "control", "context": 2, "time": 50000, "budget": 2000000, "period": 10000000},
           {"thread": "control", "context": 2, "time": 70000000, "budget": 3000000, "period": 10000000}"#;

    /// A job of one millisecond, and one of so many nanoseconds, as the reader of traces prints them.
    fn responses(length: &str) -> String {
        format!(
            r#"{{"jobs": [{{"thread": "control", "task": 0, "done": 2, "missed": 0,
                            "responses": [[60000, 1000000], [65000000, {length}]]}}],
                "budgets": [], "configured": [{CONFIGURED}]}}"#
        )
    }

    #[test]
    fn a_system_is_found_for_its_platform_and_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        let text = "[component.control]\nprogram = \"control\"\npriority = 100\nbudget = \"2 ms\"\nperiod = \"10 ms\"\n\
                    job = { cost = \"1 ms\", period = \"20 ms\" }\n";
        fs::write(path("system.toml"), text).unwrap();
        let boards =
            r#"[{"name": "pc99", "word_bits": 64, "cores": 1, "memory": "1 GiB", "devices": {}}]"#;
        let mut described = Described {
            file: path("system.toml"),
            platform: "pc99".to_string(),
            overheads: PC99.into(),
        };
        let read = described.read(boards.as_bytes()).unwrap();
        fs::write(path("jobs"), responses("900000000")).unwrap();
        // It has another budget in the meantime, in which the bound does not hold.
        fs::write(
            path("changed"),
            responses("900000000").replace(CONFIGURED, CHANGED),
        )
        .unwrap();
        let outputs = Outputs {
            html: Some(path("new/report.html")),
            json: None,
        };
        assert_eq!(report(&read, None, &outputs).unwrap(), Outcome::Holds);
        let page = fs::read_to_string(path("new/report.html")).unwrap();
        assert!(page.contains("control"), "{page}");
        // A job that took longer than its bound.
        let late = report(&read, Some(&path("jobs")), &Outputs::default());
        assert_eq!(late.unwrap(), Outcome::Fails);
        let changed = report(&read, Some(&path("changed")), &Outputs::default());
        assert_eq!(changed.unwrap(), Outcome::Holds);
        let (observed, part) = observed(&path("changed"), &read.system).unwrap();
        assert_eq!(part.to_string(), "the trace until 70 ms");
        assert_eq!(
            (observed[0].count, observed[0].longest),
            (1, Time::from_millis(1))
        );
        let outputs = Outputs {
            html: Some(path("new/assignment.html")),
            json: Some(path("new/assignment.json")),
        };
        assert_eq!(assign(&read, None, &outputs).unwrap(), Outcome::Holds);
        let json = fs::read_to_string(path("new/assignment.json")).unwrap();
        assert!(json.contains("\"holds\": true"), "{json}");
        assert!(path("new/assignment.html").exists());
        let error = assign(&read, Some(2), &outputs).unwrap_err().to_string();
        assert!(error.starts_with("pc99 has 1 core, not 2;"), "{error}");
        let error = guests(&read, &outputs).unwrap_err().to_string();
        assert!(
            error.ends_with("no component has a guest; add `guest`"),
            "{error}"
        );
        described.platform = "kzm".to_string();
        let error = described.read(boards.as_bytes()).unwrap_err().to_string();
        assert!(error.ends_with("describes no system for kzm"), "{error}");
    }
}

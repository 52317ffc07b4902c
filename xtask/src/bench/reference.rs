//! The committed results: one file for each platform, and the pages of the book that show them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;

use super::measurement::{self, Measurement, number};
use super::{criticality, delay, hardening, scaling, schedulers, speed, tracing};
use crate::Result;
use crate::cli::BenchArguments;
use crate::workspace::Workspace;

/// The folder of the files.
const FOLDER: &str = "benches/reference";
/// In it, the folder of the results of hardened kernels: a folder for each platform.
const HARDENED: &str = "hardened";
/// The platform whose hardened kernels are shown in the book, its kernels in the order of the columns, and the
/// page.
const HARDENED_KERNELS: (&str, [&str; 4]) = ("pc99", ["meltdown", "spectre", "mds", "all"]);
const HARDENED_PAGE: &str = "docs/src/reference/hardware-attacks.md";
/// In it, the folder of the results of kernels of kind `small`.
const SMALL: &str = "small";
/// In it, the folder of the costs of tracing, and the page that shows them.
const TRACING: &str = "tracing";
const TRACING_PAGE: &str = "docs/src/reference/tracing.md";
/// The pages of the book that show results, and the functions that write them.
const PAGES: [(&str, Show); 4] = [
    ("docs/src/reference/benchmarks.md", tables),
    ("docs/src/reference/delay.md", delay::page),
    ("docs/src/reference/scaling.md", scaling::page),
    ("docs/src/reference/schedulers.md", schedulers::page),
];
/// The page that compares with seL4, and kernels of kind `small` with others.
const SPEED_PAGE: &str = "docs/src/reference/speed.md";
/// The plots, one for each platform with such results: the beginnings of their file names, and the functions
/// that draw them.
const PLOTS: [(&str, Draw); 8] = [
    ("docs/src/images/criticality", criticality::plot),
    ("docs/src/images/delay", delay::plot),
    ("docs/src/images/locks", scaling::locks_plot),
    ("docs/src/images/pairs", scaling::pairs_plot),
    ("docs/src/images/payload", scaling::payload_plot),
    ("docs/src/images/decisions", schedulers::decisions_plot),
    ("docs/src/images/decisions-cores", schedulers::cores_plot),
    ("docs/src/images/remote-decisions", schedulers::remote_plot),
];
/// The tool writes the part of a page after this line.
const MARK: &str = "<!-- What follows is written by `cargo xtask bench --write-reference`. -->\n";

/// A platform's name and results.
pub(super) type Platform = (String, Vec<Measurement>);
/// Writes the results as the text of a page.
type Show = fn(&[Platform]) -> String;
/// Draws the results of one platform as a plot.
type Draw = fn(&str, &[Measurement]) -> Option<String>;

/// Which kernels were measured.
#[derive(Clone, Debug)]
pub(crate) enum Results {
    Plain,
    /// Hardened ones, by their name.
    Hardened(String),
    /// Some that write trace events.
    Tracing,
    /// Those of kind `small`.
    Small,
}

impl Results {
    /// Those of a run with these arguments.
    pub(super) fn of(arguments: &BenchArguments) -> Self {
        match (arguments.tracing, arguments.hardening.is_wanted()) {
            (true, _) => Self::Tracing,
            _ if arguments.small => Self::Small,
            (_, true) => Self::Hardened(arguments.hardening.name()),
            _ => Self::Plain,
        }
    }
}

fn file(workspace: &Workspace, platform: &str, results: &Results) -> PathBuf {
    let folder = workspace.path(FOLDER);
    match results {
        Results::Plain => folder.join(format!("{platform}.json")),
        Results::Hardened(name) => folder
            .join(HARDENED)
            .join(platform)
            .join(format!("{name}.json")),
        Results::Small => folder.join(SMALL).join(format!("{platform}.json")),
        Results::Tracing => folder.join(TRACING).join(format!("{platform}.json")),
    }
}

/// Whether a platform has committed results. Only these are measured unless another one is chosen: qemu-virt has the devices
/// of hikey and tx1, and so their costs.
pub(crate) fn has(workspace: &Workspace, platform: &str) -> bool {
    file(workspace, platform, &Results::Plain).is_file()
}

/// The results of `platform`.
pub(super) fn read(
    workspace: &Workspace,
    platform: &str,
    results: &Results,
) -> Result<Vec<Measurement>> {
    let path = file(workspace, platform, results);
    let context = || format!("cannot use the reference {}", workspace.display(&path));
    let text = fs::read_to_string(&path).with_context(context)?;
    measurement::parse_list(&text).with_context(context)
}

/// Whether a result is one of several cores, measured with `--smp` only; the suites that compare numbers of cores measure all
/// of them at once.
pub(super) fn is_of_several_cores(one: &Measurement) -> bool {
    one.parameters.contains_key("cores") && !scaling::SUITES.contains(&&*one.suite)
}

/// Whether two results are always measured together: those of a suite, or of a suite with this number of cores.
fn belong_together(one: &Measurement, other: &Measurement) -> bool {
    let cores =
        |one: &Measurement| is_of_several_cores(one).then(|| one.parameters["cores"].clone());
    one.suite == other.suite && cores(one) == cores(other)
}

/// Makes `measured` the results of `platform`, made with `compiler`. Results that belong to none of them are kept.
pub(super) fn write(
    workspace: &Workspace,
    platform: &str,
    results: &Results,
    measured: &[Measurement],
    compiler: &str,
) -> Result<()> {
    let mut list = measured.to_vec();
    for one in &mut list {
        one.compiler = Some(compiler.to_string());
    }
    let is_measured = |old: &Measurement| measured.iter().any(|one| belong_together(one, old));
    let mut old = read(workspace, platform, results).unwrap_or_default();
    old.retain(|one| !is_measured(one));
    list.extend(old);
    // They stand at the end of their suite's table.
    list.sort_by_key(is_of_several_cores);
    let path = file(workspace, platform, results);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, measurement::format_list(&list)?)
        .with_context(|| format!("cannot write {}", workspace.display(&path)))
}

/// Writes all results into the book.
pub(super) fn write_book(workspace: &Workspace) -> Result<()> {
    for (path, text) in book(workspace)? {
        fs::write(workspace.path(&path), text).with_context(|| format!("cannot write {path}"))?;
    }
    Ok(())
}

/// Complaints about pages of the book that do not show the current results.
pub(crate) fn complaints(workspace: &Workspace) -> Result<Vec<String>> {
    let book = book(workspace)?.into_iter();
    let outdated = book.filter(|(path, text)| {
        fs::read_to_string(workspace.path(path)).map_or(true, |shown| shown != *text)
    });
    Ok(outdated
        .map(|(path, _)| format!("{path} does not show the results in {FOLDER}"))
        .collect())
}

/// The pages and plots that show results: their paths, and their contents.
fn book(workspace: &Workspace) -> Result<Vec<(String, String)>> {
    let all = all(workspace, &Results::Plain)?;
    let mut files = Vec::new();
    let mut pages: Vec<_> = (PAGES.iter())
        .map(|(path, show)| (*path, show(&all)))
        .collect();
    let small = self::all(workspace, &Results::Small)?;
    pages.push((SPEED_PAGE, speed::page(&all) + &speed::small(&all, &small)));
    pages.push((HARDENED_PAGE, hardening::page(&hardened(workspace, &all)?)));
    pages.push((
        TRACING_PAGE,
        tracing::page(&self::all(workspace, &Results::Tracing)?),
    ));
    for (path, shown) in pages {
        let old = fs::read_to_string(workspace.path(path));
        let old = old.with_context(|| format!("cannot read {path}"))?;
        let head = old.split_once(MARK).map_or(&*old, |(head, _)| head);
        files.push((path.to_string(), format!("{head}{MARK}{shown}")));
    }
    for (name, measured) in &all {
        for (path, draw) in PLOTS {
            files.extend(draw(name, measured).map(|plot| (format!("{path}-{name}.svg"), plot)));
        }
    }
    Ok(files)
}

/// The results of all platforms that have some, by name.
pub(super) fn all(workspace: &Workspace, results: &Results) -> Result<Vec<Platform>> {
    let names = crate::platform::Platform::names(workspace).into_iter();
    let measured = names.filter(|name| file(workspace, name, results).is_file());
    measured
        .map(|name| Ok((name.clone(), read(workspace, &name, results)?)))
        .collect()
}

/// The results of the plain kernel and of the hardened ones that have some.
fn hardened(workspace: &Workspace, all: &[Platform]) -> Result<Vec<Platform>> {
    let (platform, names) = HARDENED_KERNELS;
    let mut kernels = Vec::new();
    if let Some((_, plain)) = all.iter().find(|(name, _)| name == platform) {
        kernels.push(("none".to_string(), plain.clone()));
    }
    let folder = workspace.path(FOLDER).join(HARDENED).join(platform);
    for name in names {
        if let Ok(text) = fs::read_to_string(folder.join(format!("{name}.json"))) {
            kernels.push((name.to_string(), measurement::parse_list(&text)?));
        }
    }
    Ok(kernels)
}

/// Whether the page of all suites shows a result. Some suites have pages of their own.
fn is_shown(one: &Measurement) -> bool {
    one.suite != delay::SUITE && !scaling::SUITES.contains(&&*one.suite)
}

/// The compilers that the figures were made with, and their platforms.
fn compilers(platforms: &[&Platform]) -> String {
    let mut used: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, list) in platforms {
        for compiler in list.iter().filter_map(|one| one.compiler.as_deref()) {
            used.entry(compiler).or_default().insert(name);
        }
    }
    let mut text = String::new();
    for (compiler, names) in used {
        let names: Vec<_> = names.into_iter().collect();
        let _ = writeln!(text, "\nCompiled by {compiler}: {}.", names.join(", "));
    }
    text
}

/// One table for each suite and unit; the platforms are its columns.
fn tables(platforms: &[Platform]) -> String {
    let mut rows: Vec<&Measurement> = Vec::new();
    for one in platforms.iter().flat_map(|(_, list)| list) {
        if is_shown(one) && !rows.iter().any(|row| row.is_about_the_same_as(one)) {
            // After the last row of its suite.
            let place = rows.iter().rposition(|row| row.suite == one.suite);
            rows.insert(place.map_or(rows.len(), |place| place + 1), one);
        }
    }
    let has_some = |(_, list): &&Platform| list.iter().any(is_shown);
    let platforms: Vec<_> = platforms.iter().filter(has_some).collect();
    let mut text = compilers(&platforms);
    for group in rows.chunk_by(|a, b| (&a.suite, &a.unit) == (&b.suite, &b.unit)) {
        let _ = writeln!(text, "\n## {} ({})\n", group[0].suite, group[0].unit);
        text.push_str("| operation | parameters |");
        for (name, _) in &platforms {
            let _ = write!(text, " {name} |");
        }
        let _ = writeln!(text, "\n|---|---|{}", "--:|".repeat(platforms.len()));
        for row in group {
            let _ = write!(text, "| {} | {} |", row.operation, row.parameters());
            for (_, list) in &platforms {
                let one = list.iter().find(|one| one.is_about_the_same_as(row));
                let _ = write!(text, " {} |", one.map_or(String::new(), cell));
            }
            text.push('\n');
        }
    }
    text
}

/// The mean or median, and the extremes if they differ.
pub(super) fn cell(one: &Measurement) -> String {
    let typical = number(one.typical());
    if one.min == one.max {
        typical
    } else {
        format!("{typical} ({}–{})", number(one.min), number(one.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::measurement::tests::example;

    #[test]
    fn results_of_several_cores_are_kept_beside_those_of_one() {
        let with = |cores: Option<u64>| {
            let mut one = example("remote", &[1.0]);
            if let Some(cores) = cores {
                one.parameters.insert("cores".into(), cores.into());
            }
            one
        };
        let [one, two, four] = [None, Some(2), Some(4)].map(with);
        assert!(!is_of_several_cores(&one) && is_of_several_cores(&two));
        assert!(belong_together(&one, &example("other", &[1.0])));
        assert!(belong_together(&two, &two));
        assert!(!belong_together(&one, &two) && !belong_together(&two, &four));
    }

    #[test]
    fn platforms_are_columns() {
        let pc = vec![example("call", &[100.0]), example("send", &[1.0, 3.0])];
        let arm = vec![example("call", &[200.0]), example("wait", &[5.0])];
        let text = tables(&[("arm".into(), arm), ("pc".into(), pc)]);
        assert!(
            text.contains("| operation | parameters | arm | pc |\n|---|---|--:|--:|\n"),
            "{text}"
        );
        assert!(text.contains("| call |  | 200 | 100 |"), "{text}");
        assert!(text.contains("| send |  |  | 2 (1–3) |"), "{text}");
        assert!(text.contains("| wait |  | 5 |  |"), "{text}");
    }
}

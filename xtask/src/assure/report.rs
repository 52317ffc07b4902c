//! The report of a run, for people.

use std::fmt::Write as _;
use std::fs;

use super::checkers::CHECKERS;
use super::{Results, Run, plot};
use crate::Result;

/// The page of the book that holds a report, and the line after which it begins.
const PAGE: &str = "docs/src/reference/assurance.md";
const MARK: &str = "<!-- What follows is written by `cargo xtask assure --write-report`. -->\n";
/// The folder of the page's images.
const IMAGES: &str = "docs/src/images";

/// Writes report and images to the folder of the run; returns the report.
pub(super) fn write(run: &Run<'_>, results: &Results) -> Result<String> {
    let text = format!("# Report\n\n{}", body(run, results, ""));
    fs::write(run.folder.join("report.md"), &text)?;
    for (name, picture) in pictures(results) {
        fs::write(run.folder.join(name), picture)?;
    }
    Ok(text)
}

/// Makes the report part of the book.
pub(super) fn publish(run: &Run<'_>, results: &Results) -> Result<()> {
    let path = run.workspace.path(PAGE);
    let page = fs::read_to_string(&path)?;
    let (head, _) = page.split_once(MARK).unwrap_or((&page, ""));
    let body = body(run, results, "../images/");
    fs::write(path, format!("{head}{MARK}\n{body}"))?;
    for (name, picture) in pictures(results) {
        fs::write(run.workspace.path(IMAGES).join(name), picture)?;
    }
    Ok(())
}

const HISTORIES: &str = "assure-histories.svg";
const EDGES: &str = "assure-edges.svg";

fn pictures(results: &Results) -> Vec<(&'static str, String)> {
    let curves: Vec<_> = (CHECKERS.iter().zip(&results.accounts))
        .filter(|(checker, _)| checker.draws > 0)
        .map(|(checker, account)| (checker.about, &account.points))
        .collect();
    let mut pictures = Vec::new();
    if !curves.is_empty() {
        pictures.push((HISTORIES, plot::lines(&curves, "histories")));
    }
    if let Some(fuzz) = &results.fuzz {
        pictures.push((
            EDGES,
            plot::lines(&[("system calls", &fuzz.points)], "edges"),
        ));
    }
    pictures
}

fn body(run: &Run<'_>, results: &Results, images: &str) -> String {
    let mut text = String::new();
    if !results.accounts.is_empty() {
        text += "| checker | runs | random histories | time | findings |\n|---|--:|--:|--:|--:|\n";
    }
    for (checker, account) in CHECKERS.iter().zip(&results.accounts) {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.0} s | {} |",
            checker.about,
            account.runs,
            account.histories(checker),
            account.taken.as_secs_f64(),
            account.failures,
        );
    }
    if let Some(fuzz) = &results.fuzz {
        let _ = writeln!(
            text,
            "| system calls under the fuzzer | | {} | {} s | {} |",
            fuzz.inputs, fuzz.seconds, fuzz.findings,
        );
    }
    let _ = writeln!(text);
    for words in results.accounts.iter().flat_map(|account| &account.words) {
        let _ = writeln!(text, "All histories: {words}.\n");
    }
    if let Some(fuzz) = &results.fuzz {
        let _ = writeln!(
            text,
            "The fuzzer has seen {} edges of the control flow, {} features.\n",
            fuzz.edges, fuzz.features,
        );
    }
    if let Some(mutants) = &results.mutants {
        let _ = writeln!(
            text,
            "Mutants ({}): {} noticed, of them {} by never coming to an end; {} missed; {} do \
             not compile. Score {:.1} %.\n",
            mutants.part,
            mutants.caught + mutants.endless,
            mutants.endless,
            mutants.missed.len(),
            mutants.unviable,
            mutants.score(),
        );
        for missed in &mutants.missed {
            let _ = writeln!(text, "- missed: `{missed}`");
        }
        let _ = writeln!(text);
    }
    if let Some(assembly) = &results.assembly {
        let _ = writeln!(
            text,
            "Mutants of the fast paths in assembly ({}): {} detected, {} missed, {} equivalent.\n",
            assembly.platform,
            assembly.caught,
            assembly.missed.len(),
            assembly.equivalent.len(),
        );
        for (what, names) in [
            ("missed", &assembly.missed),
            ("equivalent", &assembly.equivalent),
        ] {
            for name in names {
                let _ = writeln!(text, "- {what}: {name}");
            }
        }
        let _ = writeln!(text);
    }
    let findings = results.findings();
    let _ = writeln!(
        text,
        "{findings} findings in {:.1} minutes.",
        run.minutes_since()
    );
    for (name, _) in pictures(results) {
        let about = match name {
            HISTORIES => "Random histories over time",
            _ => "Edges seen by the fuzzer over time",
        };
        let _ = writeln!(text, "\n![{about}]({images}{name})");
    }
    text
}

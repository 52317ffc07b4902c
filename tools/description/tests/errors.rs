//! Every kind of diagnostic, with its message and its place.

#[path = "errors/analysis.rs"]
mod analysis;
mod common;
#[path = "errors/devices.rs"]
mod devices;
#[path = "errors/form.rs"]
mod form;
#[path = "errors/meaning.rs"]
mod meaning;
#[path = "errors/overruns.rs"]
mod overruns;

use system_description::{Kind, Source, check, place};

/// What is wrong with a description, a line for each diagnostic.
fn complaints(text: &str) -> Vec<String> {
    let source = Source { path: "s", text };
    let checked = check(source, &common::boards());
    checked
        .diagnostics
        .iter()
        .map(|one| one.line(source).to_string())
        .collect()
}

/// The kinds and places of everything in `text`, which has exactly these.
#[track_caller]
fn assert_complaints(text: &str, expected: &[(Kind, &str)]) {
    let source = Source { path: "s", text };
    let checked = check(source, &common::boards());
    let found: Vec<_> = checked
        .diagnostics
        .iter()
        .map(|one| (one.kind, one.line(source).to_string()))
        .collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(kind, line)| (*kind, (*line).to_string()))
        .collect();
    assert_eq!(found, expected, "in\n{text}");
}

/// A text, and what is wrong with it.
type Case = (&'static str, &'static [(Kind, &'static str)]);

fn cases() -> impl Iterator<Item = &'static Case> {
    let cases = form::CASES.iter().chain(meaning::CASES);
    let cases = cases.chain(analysis::CASES).chain(overruns::CASES);
    cases.chain(devices::CASES)
}

#[test]
fn every_mistake_has_its_message_and_place() {
    for (text, expected) in cases() {
        assert_complaints(text, expected);
    }
}

#[test]
fn every_kind_has_a_case() {
    for kind in Kind::ALL {
        let has = cases().any(|(_, expected)| expected.iter().any(|(one, _)| one == kind));
        assert!(has, "{kind:?}");
    }
}

#[test]
fn every_mistake_says_what_to_do() {
    for (kind, line) in cases().flat_map(|(_, expected)| expected.iter()) {
        // What a parser of TOML expected is in its own words.
        let says_it = line.contains("; ") || *kind == Kind::Syntax;
        assert!(says_it, "{line}");
    }
}

#[test]
fn other_complaints_find_their_component() {
    let text = "title = \"a\"\n[component.pump]\nslice = \"1 ms\"\ninstances = 4\n";
    let place = |component| place(Source { path: "s", text }, component);
    assert_eq!(place("pump"), Some((2, 12)));
    assert_eq!(place("pump-3"), Some((2, 12)));
    assert_eq!(place("lamp"), None);
}

#[test]
fn all_mistakes_are_reported_at_once_and_in_order() {
    let found = complaints(
        r#"
        [component.a]
        priority = 256
        budgt = "1 ms"
        period = 10
        calls.b = "c"
        [component.b]
        passive = "yes"
        "#,
    );
    assert_eq!(
        found,
        [
            "s:3:20: error: 256 is no priority; write a number from 0 to 255",
            "s:4:9: error: there is no key `budgt` here; did you mean `budget`?",
            "s:5:18: error: 10 has no unit; write for example \"10 ms\"",
            "s:6:19: error: there is no component `c`; there are `a`, `b`",
            "s:8:19: error: `yes` is not what belongs here; write true or false",
        ]
    );
}

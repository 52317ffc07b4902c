//! Hostile descriptions: whatever a file contains, the answer is a list of diagnostics within the file.

mod common;

use proptest::prelude::*;
use system_description::{Diagnostic, Source, check, outline};

fn examine(text: &str) {
    let source = Source { path: "s", text };
    let checked = check(source, &common::boards());
    let outline = outline(source);
    assert!(outline.is_ok() || !checked.is_good());
    let show = |one: &Diagnostic| {
        assert!(!one.line(source).to_string().is_empty());
        assert!(!one.render(source, false).is_empty());
        assert!(!one.message.contains('\n'), "{}", one.message);
    };
    checked.diagnostics.iter().for_each(show);
    assert_eq!(
        checked.systems.is_empty(),
        checked.systems.len() != 2 || !checked.is_good()
    );
}

/// A description that uses everything.
const EVERYTHING: &str = include_str!("everything.toml");

/// Words from which nearly sensible descriptions are made.
const WORDS: &[&str] = &[
    "[component.a]\n",
    "[component.b]\n",
    "[memory.m]\n",
    "[[schedule]]\n",
    "[platform.small]\n",
    "component",
    "a",
    "b",
    ".",
    "=",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\n",
    "\"",
    "\"a\"",
    "\"b\"",
    "\"b.e\"",
    "\"1 ms\"",
    "\"10 ms\"",
    "\"-1 ms\"",
    "\"64 KiB\"",
    "true",
    "-1",
    "0",
    "255",
    "9223372036854775808",
    "1e9",
    "budget",
    "period",
    "slice",
    "passive",
    "calls",
    "serves",
    "waits",
    "signals",
    "memory",
    "devices",
    "interrupts",
    "on-fault",
    "on-timeout",
    "handler",
    "restart",
    "extend",
    "emergency",
    "threshold",
    "limit",
    "instances",
    "core",
    "job",
    "cost",
    "domain",
    "scheduler",
    "policy",
    "\"edf\"",
    "guest",
    "task",
    "interrupt",
    "gap",
    "service",
    "duration",
    "\u{0}",
    "µ",
    "'''",
    "#",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn arbitrary_texts_are_no_danger(text in "\\PC*") {
        examine(&text);
    }

    #[test]
    fn arbitrary_bytes_are_no_danger(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        examine(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn nearly_sensible_texts_are_no_danger(words in prop::collection::vec(prop::sample::select(WORDS), 0..80)) {
        examine(&words.join(" "));
    }

    #[test]
    fn changed_descriptions_are_no_danger(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), prop::sample::select(WORDS)), 1..6),
    ) {
        let mut letters: Vec<char> = EVERYTHING.chars().collect();
        for (place, length, word) in changes {
            let start = place.index(letters.len());
            let end = start + length.index((letters.len() - start).min(30) + 1);
            letters.splice(start..end, word.chars());
        }
        examine(&letters.into_iter().collect::<String>());
    }
}

#[test]
fn deep_nesting_is_an_error() {
    for (open, close) in [("[", "]"), ("{a=", "}")] {
        examine(&format!(
            "a = {}{}",
            open.repeat(10_000),
            close.repeat(10_000)
        ));
    }
    examine(&format!("[{}]", vec!["a"; 10_000].join(".")));
}

#[test]
fn many_errors_end() {
    let many: String = (0..2_000)
        .map(|number| format!("k{number} = 1\n"))
        .collect();
    let source = Source {
        path: "s",
        text: &many,
    };
    let found = check(source, &common::boards()).diagnostics.len();
    assert!((1..=200).contains(&found), "{found}");
}

#[test]
fn large_systems_are_checked_in_time() {
    let component = |number| {
        let next = number + 1;
        format!(
            "[component.c{number}]\ninstances = 64\nslice = \"1 ms\"\nserves = [\"e\"]\ncalls = [\"c{next}-0\"]\n"
        )
    };
    let text: String = (0..40).map(component).collect();
    examine(&text);
}

//! Babeltrace 2 reads what the export to the Common Trace Format writes.

mod common;

use std::collections::HashMap;
use std::env;
use std::io::ErrorKind;
use std::process::Command;

use common::{read, readers, simulated};
use simulator::scenarios::find;
use trace::{Lost, Numbered, Trace, export};
use trace_format::{Clocks, Event, Kind, Mark, ObjectId};

const INSTALLATION: &str = "apt-get install babeltrace2";

/// The trace of 20 ms of a scenario.
fn scenario(name: &str) -> Trace {
    read(&simulated(
        find(name).expect("it exists").setup,
        20_000,
        100_000,
    ))
}

/// The events as Babeltrace 2 prints them, one on each line, and its warnings. `None` if it is not installed.
fn babeltrace2(trace: &Trace) -> Option<(Vec<String>, String)> {
    let folder = tempfile::tempdir().unwrap();
    export::write_folder(folder.path(), &export::ctf(trace)).unwrap();
    let output = Command::new("babeltrace2")
        .args(["--clock-seconds", "--no-delta", "--color=never"])
        .arg(folder.path())
        .output();
    let output = match output {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            readers::skip("babeltrace2", INSTALLATION);
            return None;
        }
        output => output.unwrap(),
    };
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{warnings}");
    let events = String::from_utf8(output.stdout).unwrap();
    Some((events.lines().map(str::to_string).collect(), warnings))
}

/// What comes before the payload of an event.
fn heading(trace: &Trace, one: &Numbered) -> String {
    let (event, time) = (&one.event, trace.nanoseconds(one.event.time));
    format!(
        "[{}.{:09}] {}: {{ cpu_id = {} }}, {{ sequence = {} }}, {{ ",
        time / 1_000_000_000,
        time % 1_000_000_000,
        event.kind().map_or("Unknown", Kind::name),
        event.core,
        one.number,
    )
}

#[track_caller]
fn expect_headings(trace: &Trace, events: &[String]) {
    assert_eq!(events.len(), trace.events.len());
    for (line, one) in events.iter().zip(&trace.events) {
        let heading = heading(trace, one);
        assert!(line.starts_with(&heading), "{line}\nand not\n{heading}");
    }
}

#[test]
fn a_scenario_is_read_whole() {
    let trace = scenario("timeout");
    let Some((events, warnings)) = babeltrace2(&trace) else {
        return;
    };
    expect_headings(&trace, &events);
    assert_eq!(warnings, "");
    // A context that is taken from a thread moves to none.
    let mut taken = events.iter().filter(|line| line.contains("to = 0x0,"));
    assert!(taken.clone().count() > 0);
    assert!(taken.all(|line| line.ends_with("to = 0x0, to_name = \"-\" }")));
    // The step that the chapter about traces tells of: the context of client 2 is exhausted inside the server.
    let exhausted = trace.events.iter().zip(&events);
    let exhausted = exhausted.filter(|(one, _)| one.event.kind() == Some(Kind::Exhausted));
    let [(one, line)] = exhausted.collect::<Vec<_>>()[..] else {
        panic!("one budget ends");
    };
    let (context, thread) = (one.event.subject.0, one.event.b);
    let payload = format!(
        "{{ context = 0x{context:X}, context_name = \"client 2\", end = ( \"Budget\" : container = 1 ), \
         thread = 0x{thread:X}, thread_name = \"server\" }}"
    );
    assert!(line.ends_with(&payload), "{line}\nand not\n{payload}");
}

#[test]
fn missing_events_are_reported() {
    let mut trace = scenario("timeout");
    let all = trace.events.len();
    // What a flight recorder has left, of which the end was cut off.
    trace.events.drain(..100);
    trace.events.truncate(all - 100 - 30);
    let lost = Lost {
        at_the_beginning: 100,
        in_between: 0,
        at_the_end: 0,
        cut_off: 30,
    };
    trace.lost.insert(0, lost);
    let Some((events, warnings)) = babeltrace2(&trace) else {
        return;
    };
    expect_headings(&trace, &events);
    for count in [100, 30] {
        let words = format!("Tracer discarded {count} events between");
        assert_eq!(warnings.matches(&words).count(), 1, "{warnings}");
    }
    assert_eq!(warnings.matches("discarded").count(), 2, "{warnings}");
}

/// One of these tests, where no program is installed.
#[test]
fn a_missing_reader_is_told_and_fails_in_a_full_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = |is_full: bool| {
        let mut tests = Command::new(env::current_exe().unwrap());
        tests
            .args(["--exact", "all_kinds_are_read"])
            .env("PATH", folder.path())
            .env_remove(readers::ALL);
        if is_full {
            tests.env(readers::ALL, "1");
        }
        let output = tests.output().unwrap();
        let words = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(words).unwrap())
    };
    let missing = format!("there is no babeltrace2; try `{INSTALLATION}`");
    let (has_passed, words) = run(false);
    assert!(has_passed, "{words}");
    assert!(words.contains(&format!("skipped: {missing}\n")), "{words}");
    let (has_passed, words) = run(true);
    assert!(!has_passed && words.contains(&missing), "{words}");
}

/// A trace of two cores with an event of each kind, and one of a kind that this version does not know.
fn all_kinds() -> Trace {
    let kinds = Kind::ALL.iter().map(|kind| kind.number()).chain([200]);
    let events = kinds.enumerate().map(|(index, kind)| {
        let (a, b) = match Kind::from_number(kind.into()) {
            Some(Kind::Marked) => (
                u64::from(Mark::Text.number()) << 32 | 9,
                u64::from_le_bytes(*b"begin\0\0\0"),
            ),
            Some(Kind::Entry) => (1, -7_i64 as u64),
            // A reason that does not exist.
            Some(Kind::Moved) => (77 << 32 | 0x20, 0x30),
            Some(Kind::Yielded) => (0x40, u64::MAX),
            _ => (2, 3),
        };
        let event = Event {
            time: 10 * index as u64,
            kind,
            core: (index % 2) as u8,
            sequence: (index / 2) as u16,
            subject: ObjectId(0x10),
            a,
            b,
        };
        Numbered {
            number: index as u64 / 2,
            event,
        }
    });
    Trace {
        platform: "two \"cores\" \\ \u{b5}".to_string(),
        frequency: 1_000_000_000,
        clocks: Clocks::Unknown,
        has_details: true,
        is_full: true,
        events: events.collect(),
        lost: [(0, Lost::default()), (1, Lost::default())].into(),
        costs: [].into(),
        end: 10_000,
        names: HashMap::from([(ObjectId(0x20), "\u{fc} \"x\"".to_string())]),
        answers: Vec::new(),
    }
}

#[test]
fn all_kinds_are_read() {
    let trace = all_kinds();
    let Some((events, warnings)) = babeltrace2(&trace) else {
        return;
    };
    expect_headings(&trace, &events);
    assert_eq!(warnings, "");
    for payload in [
        "reason = ( \"Syscall\" : container = 1 ), number = -7 }",
        "reason = ( <unknown> : container = 77 ), from = 0x20, from_name = \"\u{fc} \\\"x\\\"\", to = 0x30",
        "end_ticks = 18446744073709551615 }",
        "task = 9, mark = ( \"Text\" : container = 6 ), value = 474214786402, text = \"begin\" }",
        "{ kind = 200, subject = 0x10, a = 2, b = 3 }",
    ] {
        let found = events.iter().any(|line| line.contains(payload));
        assert!(found, "{payload} is in none of\n{}", events.join("\n"));
    }
}

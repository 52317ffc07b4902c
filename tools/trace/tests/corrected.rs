//! Spans without the cost of the events in them.

mod common;

use common::{read, simulated};
use simulator::scenarios::find;
use trace::{Corrected, Correction, File, NotCorrectable, Trace, calls, requests};
use trace_format::{
    Clocks, Cost, Detail, HEADER_BYTES, Kind, Kinds, Mode, ObjectId, Reason, Ring, Settings,
};

/// The ring of a core: entries at these times, for these reasons, with as many events each.
fn ring(core: u8, kinds: Kinds, entries: &[(u64, Reason, usize)]) -> Vec<u8> {
    let mut memory = vec![0; (HEADER_BYTES + 100 * Detail::Full.bytes()) / 8];
    let settings = Settings {
        core,
        detail: Detail::Full,
        kinds,
        mode: Mode::Stop,
        frequency: 1_000_000,
        clocks: Clocks::Shared,
    };
    let mut ring = Ring::new(&mut memory, settings).unwrap();
    for (kind, usual, distance) in [(Kind::Entry, 10, 2), (Kind::Exit, 5, 1)] {
        ring.set_cost(kind.number(), Cost::new(usual, distance, 2));
    }
    for &(time, reason, events) in entries {
        ring.write(time, Kind::Entry, ObjectId(1), (reason.number().into(), 0));
        for _ in 1..events {
            ring.write(time, Kind::Exit, ObjectId(1), (0, 0));
        }
    }
    ring.bytes().collect()
}

fn trace(rings: Vec<Vec<u8>>) -> Trace {
    read(&File {
        platform: "test".into(),
        rings,
        ..File::default()
    })
}

const ENTRIES: [(u64, Reason, usize); 4] = [
    (1_000, Reason::Syscall, 5),
    (1_100, Reason::Fault, 3),
    (1_300, Reason::Timer, 2),
    (1_400, Reason::Syscall, 4),
];

#[test]
fn the_events_of_a_span_are_taken_off() {
    let correction = Correction::of(&trace(vec![ring(0, Kinds::ALL, &ENTRIES)]));
    let span = |from, to| correction.span(from, to);
    let found = Corrected {
        raw: 100,
        events: 5,
        corrected: 85.0,
        error: 3.0,
    };
    assert_eq!(span(1_000, 1_100), Ok(found));
    // From an interrupt on, its time does not matter.
    assert_eq!(span(1_300, 1_400).map(|one| one.corrected), Ok(92.5));
    assert_eq!(span(1_050, 1_299).map(|one| one.events), Ok(3));
    assert_eq!(
        span(2_000, 2_100).map(|one| (one.corrected, one.error)),
        Ok((100.0, 0.0))
    );
    assert_eq!(span(1_000, 1_300), Err(NotCorrectable::Interrupt));
    assert_eq!(span(1_000, 1_400), Err(NotCorrectable::Interrupt));
}

#[test]
fn what_cannot_be_corrected_is_said() {
    let why = |rings: Vec<Vec<u8>>| {
        Correction::of(&trace(rings))
            .span(1_000, 1_100)
            .unwrap_err()
    };
    let own = || ring(0, Kinds::ALL, &ENTRIES);
    let others = ring(1, Kinds::ALL, &[(1_050, Reason::Syscall, 2)]);
    assert_eq!(why(vec![own(), others]), NotCorrectable::SeveralCores);
    let remote = ring(
        0,
        Kinds::ALL,
        &[
            (1_000, Reason::Syscall, 2),
            (1_050, Reason::RemoteAccess, 2),
        ],
    );
    assert_eq!(why(vec![remote]), NotCorrectable::SeveralCores);
    let some = ring(0, Kinds::of_groups("entries").unwrap(), &ENTRIES);
    assert_eq!(why(vec![some]), NotCorrectable::NotAllKinds);
    let mut old = own();
    old[8] = 2;
    old.drain(64..HEADER_BYTES);
    assert_eq!(why(vec![old]), NotCorrectable::NoCalibration);
}

/// Wherever the span lies in which events are missing: at the beginning, between others or at the end.
#[test]
fn a_span_over_lost_events_is_not_corrected() {
    let without = |change: fn(&mut Trace)| {
        let mut trace = trace(vec![ring(0, Kinds::ALL, &ENTRIES)]);
        change(&mut trace);
        let correction = Correction::of(&trace);
        [(1_000, 1_100), (1_300, 1_400)].map(|(from, to)| correction.span(from, to).err())
    };
    let lost = Some(NotCorrectable::LostEvents);
    assert_eq!(without(|_| {}), [None, None]);
    // Two events of the first entry, one of the second, and some after the last one.
    assert_eq!(
        without(|trace| drop(trace.events.drain(1..3))),
        [lost, None]
    );
    assert_eq!(
        without(|trace| drop(trace.events.drain(6..7))),
        [None, None]
    );
    assert_eq!(without(|trace| drop(trace.events.drain(..2))), [lost, None]);
    let at_the_end = |trace: &mut Trace| {
        trace.events.pop();
        trace.lost.get_mut(&0).unwrap().at_the_end = 1;
    };
    assert_eq!(without(at_the_end), [None, None]);
    let in_the_span = |trace: &mut Trace| {
        trace.events.truncate(9);
        trace.lost.get_mut(&0).unwrap().at_the_end = 1;
    };
    assert_eq!(without(in_the_span), [None, lost]);
}

/// In the simulator an event takes no time, so that nothing is taken off.
#[test]
fn spans_of_the_simulator_are_exact() {
    let scenario = find("timeout").expect("it exists");
    let trace = read(&simulated(scenario.setup, 20_000, 100_000));
    let correction = Correction::of(&trace);
    let span = correction.span(3, 1_002).unwrap();
    assert!(span.events > 0);
    assert_eq!((span.corrected, span.error), (999.0, 0.0));
    assert_eq!(correction.span(3, 1_003), Err(NotCorrectable::Interrupt));
    let table = calls(&trace);
    assert!(table.contains("1 across an interrupt"), "{table}");
}

/// Each client of the scenario chooses what its request takes, between 200 and 1,200 us.
#[test]
fn requests_are_told_by_server_and_caller() {
    let scenario = find("passive-server").expect("it exists");
    let trace = read(&simulated(scenario.setup, 60_000, 100_000));
    let table = requests(&trace);
    let rows: Vec<Vec<_>> = table
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect())
        .collect();
    let clients: Vec<_> = rows.iter().map(|row| row[..3].join(" ")).collect();
    assert_eq!(
        clients,
        ["server client 1", "server client 2", "server client 3"]
    );
    let [least, most] = [4, 6].map(|column| rows[2][column].parse::<u64>().unwrap());
    assert!(
        least >= 200_000 && most < 1_210_000 && least <= most,
        "{table}"
    );
}

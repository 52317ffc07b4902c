//! Spans without the cost of the events in them.

mod common;

use common::{read, simulated};
use simulator::scenarios::find;
use trace::{Corrected, Correction, File, NotCorrectable, Trace, calls};
use trace_format::{
    Cost, Detail, HEADER_BYTES, Kind, Kinds, Mode, ObjectId, Reason, Ring, Settings,
};

/// The ring of a core, of which 256 events of two kinds took 512 and 1024 ticks: entries at these times, for these
/// reasons, with as many events each.
fn ring(core: u8, kinds: Kinds, entries: &[(u64, Reason, usize)]) -> Vec<u8> {
    let mut memory = vec![0; (HEADER_BYTES + 100 * Detail::Full.bytes()) / 8];
    let settings = Settings {
        core,
        detail: Detail::Full,
        kinds,
        mode: Mode::Stop,
        frequency: 1_000_000,
    };
    let mut ring = Ring::new(&mut memory, settings).unwrap();
    ring.restart(Cost::of(&[512, 1024], 256));
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
        error: 5.0,
    };
    assert_eq!(span(1_000, 1_100), Ok(found));
    // From an interrupt on, its time does not matter.
    assert_eq!(span(1_300, 1_400).map(|one| one.corrected), Ok(94.0));
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
    assert_eq!(why(vec![old]), NotCorrectable::NoCalibration);
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

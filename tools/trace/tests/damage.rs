//! Traces of kernels that break a rule, and files that are damaged.

mod common;

use std::sync::LazyLock;

use common::simulated;
use proptest::prelude::*;
use simulator::scenarios::find;
use trace::{File, Timeline, Trace, Unreadable, check, collect, export, gaps, inversions, summary};
use trace_format::{Kind, Mode, Move, Ring, RingReader};

fn file(name: &str) -> File {
    simulated(find(name).expect("it exists").setup, 40_000, 100_000)
}

const HEADER: usize = trace_format::HEADER_BYTES;

/// A trace in which `change` has changed the first event that it changes.
fn changed(name: &str, change: impl Fn(&mut trace_format::Event) -> bool) -> Trace {
    let mut file = file(name);
    let ring = &mut file.rings[0];
    let count = RingReader::new(ring).unwrap().written as usize;
    for number in 0..count {
        let place = &mut ring[HEADER + number * 32..][..32];
        let mut event = trace_format::Event::decode(place, trace_format::Detail::Full).unwrap();
        if change(&mut event) {
            place.copy_from_slice(&event.encode());
            return Trace::read(&file.to_bytes()).unwrap().0;
        }
    }
    panic!("no event was changed");
}

/// The complaints about it.
fn complaints(name: &str, change: impl Fn(&mut trace_format::Event) -> bool) -> Vec<String> {
    let found = check(&changed(name, change)).into_iter();
    found.map(|complaint| complaint.text).collect()
}

/// Whether it is an event of a kind after the scenario has begun.
fn is(event: &trace_format::Event, kind: Kind) -> bool {
    event.kind() == Some(kind) && event.time > 10_000
}

#[track_caller]
fn expect(complaints: &[String], text: &str) {
    assert!(
        complaints.iter().any(|one| one.contains(text)),
        "{complaints:#?}"
    );
}

#[test]
fn a_charge_that_is_too_low_is_found() {
    let found = complaints("passive-server", |event| {
        let fits = is(event, Kind::Charged) && event.a > 1;
        event.a -= u64::from(fits);
        fits
    });
    expect(&found, "and charged");
    expect(&found, "the kernel says");
}

#[test]
fn a_report_that_differs_from_the_charges_is_found() {
    let mut file = file("passive-server");
    file.answers[0].consumed += 1;
    let (trace, _) = Trace::read(&file.to_bytes()).unwrap();
    expect(&[check(&trace)[0].text.clone()], "the kernel says");
}

#[test]
fn a_missing_switch_is_found() {
    let found = complaints("passive-server", |event| {
        let fits = is(event, Kind::Run);
        if fits {
            event.kind = Kind::Consumed.number() + 100;
        }
        fits
    });
    expect(&found, "unknown kind");
    expect(&found, "another thread or context");
}

/// Another core reports, by its own earlier clock reading, what it has charged for this one.
#[test]
fn a_report_of_another_core_may_come_before_the_charge() {
    for (more, is_found) in [(0, false), (1, true)] {
        let (mut trace, _) = Trace::read(&file("timeout").to_bytes()).unwrap();
        let events = &mut trace.events;
        let is_report = |event: &trace_format::Event| event.kind() == Some(Kind::Consumed);
        let report = events.iter().position(|one| is_report(&one.event)).unwrap();
        let context = events[report].event.subject;
        let charge = events[..report].iter().rposition(|one| {
            one.event.kind() == Some(Kind::Charged) && one.event.subject == context
        });
        let mut moved = events.remove(report);
        for later in &mut events[report..] {
            later.number -= 1;
            later.event.sequence = later.event.sequence.wrapping_sub(1);
        }
        (moved.number, moved.event.sequence, moved.event.core) = (0, 0, 1);
        moved.event.a += more;
        events.insert(charge.unwrap(), moved);
        let found = check(&trace);
        let says = found.iter().any(|one| one.text.contains("the kernel says"));
        assert_eq!(says, is_found, "{found:?}");
    }
}

#[test]
fn a_budget_beyond_its_replenishments_is_found() {
    let found = complaints("passive-server", |event| {
        let fits = is(event, Kind::Added);
        if fits {
            event.b = 1 << 40;
        }
        fits
    });
    expect(&found, "a replenishment of the context");
    // A budget that is lower than what was supplied.
    let found = complaints("passive-server", |event| {
        let fits = event.kind() == Some(Kind::Configured) && event.b > 0;
        if fits {
            event.a = 100;
        }
        fits
    });
    expect(&found, "within a period");
}

#[test]
fn a_replenishment_that_is_too_small_or_comes_too_early_is_found() {
    let found = |change: fn(&mut trace_format::Event)| {
        complaints("passive-server", |event| {
            let fits = is(event, Kind::Added) && event.a > event.time;
            if fits {
                change(event);
            }
            fits
        })
    };
    expect(&found(|event| event.b -= 1), "do not add up to the budget");
    let early = "comes 1 ticks sooner than a period after its use";
    expect(&found(|event| event.a -= 1), early);
}

#[test]
fn a_thread_that_runs_before_its_time_is_found() {
    let found = complaints("passive-server", |event| {
        let fits = is(event, Kind::Head);
        if fits {
            event.a = 1 << 40;
        }
        fits
    });
    expect(&found, "is used before its replenishment");
}

/// The first thread of the herd that has a higher priority than another one gets a low one.
fn lower_in_the_herd(event: &mut trace_format::Event) -> bool {
    let fits = event.kind() == Some(Kind::Priority) && event.a == 11;
    if fits {
        event.a = 1;
    }
    fits
}

#[test]
fn a_higher_priority_thread_that_waits_is_found() {
    let found = complaints("thundering-herd", lower_in_the_herd);
    expect(&found, "has a higher priority");
}

#[test]
fn threads_of_several_domains_are_not_compared() {
    let mut trace = changed("thundering-herd", lower_in_the_herd);
    let last = &mut trace.events.last_mut().unwrap().event;
    (last.kind, last.a) = (Kind::Domain.number(), 1);
    let found = check(&trace);
    assert!(
        !found
            .iter()
            .any(|one| one.text.contains("has a higher priority")),
        "{found:?}"
    );
}

#[test]
fn a_context_that_does_not_come_back_is_found() {
    let found = complaints("passive-server", |event| {
        let returns = u64::from(Move::Return.number());
        let fits = is(event, Kind::Moved) && event.a >> 32 == returns;
        if fits {
            event.kind = Kind::Consumed.number() + 100;
        }
        fits
    });
    expect(&found, "is answered, and the context of client");
}

#[test]
fn gaps_and_clocks_are_found() {
    let found = complaints("passive-server", |event| {
        let fits = is(event, Kind::Exit);
        event.sequence += u16::from(fits);
        fits
    });
    expect(&found, "has the sequence number");
    let found = complaints("passive-server", |event| {
        let fits = is(event, Kind::Exit);
        event.time -= u64::from(fits) * 5_000;
        fits
    });
    expect(&found, "runs backwards");
}

#[test]
fn a_file_of_another_kind_or_version_is_refused() {
    assert_eq!(Trace::read(b"hello").unwrap_err(), Unreadable::NoTrace);
    assert_eq!(File::default().to_bytes().len(), 20);
    let empty = File::default().to_bytes();
    assert_eq!(Trace::read(&empty).unwrap_err(), Unreadable::NoRing);
    let mut bytes = file("timeout").to_bytes();
    bytes[8] = 9;
    assert_eq!(Trace::read(&bytes).unwrap_err(), Unreadable::TooNew(9));
}

#[test]
fn what_is_left_of_a_file_is_read() {
    let bytes = file("timeout").to_bytes();
    let (whole, _) = Trace::read(&bytes).unwrap();
    // The ring is the last section, and has much more room than events.
    let ring = File::parse(&bytes).unwrap().0.rings[0].len();
    let end = bytes.len() - ring + HEADER + 100 * 32 + 7;
    let (part, damage) = Trace::read(&bytes[..end]).unwrap();
    assert_eq!(part.events, whole.events[..100]);
    assert_eq!(part.lost[&0].cut_off, whole.events.len() as u64 - 100);
    assert!(damage[0].contains("the file ends after"));
    // The kernel's answers are for the end, of which the events are missing.
    assert!(
        check(&part)
            .iter()
            .all(|one| one.text.contains("the kernel says"))
    );
}

/// A file of which each byte matters.
static SMALL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut small = file("timeout");
    small.rings[0].truncate(HEADER + 32 * 200);
    small.to_bytes()
});

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 64,
        ..ProptestConfig::default()
    })]

    #[test]
    fn damaged_files_are_read_or_refused(
        at in prop::collection::vec((0..5_000usize, any::<u8>()), 1..40),
        cut in 0..8_000usize,
    ) {
        read_damaged(&at, cut);
    }
}

/// Reads the small file with other bytes at these places and cut off.
fn read_damaged(at: &[(usize, u8)], cut: usize) {
    let mut bytes = SMALL.clone();
    for (at, value) in at {
        let place = at % bytes.len();
        bytes[place] = *value;
    }
    bytes.truncate(cut);
    if let Ok((trace, _)) = Trace::read(&bytes) {
        check(&trace);
        summary(&trace);
        export::csv(&trace);
        export::ctf(&trace);
        export::chrome(&trace);
        export::perfetto(&trace);
        export::svg(&trace, 0, trace.end);
    }
}

/// Clocks so wrong that the lengths of two spans together are no number of 64 bits.
#[test]
fn spans_of_damaged_clocks_are_added() {
    read_damaged(&[(582, 66), (3366, 190), (430, 1)], 3391);
    // The times of a thread's states run backwards.
    read_damaged(&[(3278, 96), (3263, 2), (1582, 96)], 6463);
}

/// A copy of RAM with these pieces at these addresses.
fn ram(pieces: &[(usize, &[u8])]) -> tempfile::NamedTempFile {
    let mut memory = vec![0; 16 * 4096];
    for (address, piece) in pieces {
        memory.resize(memory.len().max(address + piece.len()), 0);
        memory[*address..][..piece.len()].copy_from_slice(piece);
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, memory).unwrap();
    file
}

#[test]
fn rings_are_found_in_ram() {
    let ring = file("timeout").rings.remove(0);
    let mut second = ring.clone();
    // Its core, as the book says.
    second[10] = 1;
    let (first_at, second_at) = (1 << 20, 2 << 20);
    let garbage = [&trace_format::MAGIC[..], &[0xff; 100]].concat();
    // A ring that would reach beyond the RAM.
    let cut_off = &ring[..4096];
    let ram = ram(&[
        (0x2000, &garbage),
        (0x3004, &ring[..64]),
        (first_at, &second),
        (second_at, &ring),
        (3 << 20, cut_off),
    ]);
    let (found, damage) = collect(ram.path(), "board".to_string()).unwrap();
    assert_eq!(found.platform, "board");
    assert!(found.rings == [ring, second], "in the order of the cores");
    let too_new = "at 0x2000: the ring has version 65535 of the format, and this reader knows 6";
    assert_eq!(damage, [too_new]);
}

#[test]
fn ram_without_a_ring_is_refused() {
    let ram = ram(&[]);
    let words = collect(ram.path(), "board".to_string()).unwrap_err();
    assert!(words.contains("no ring of trace events"), "{words}");
    let words = collect("nowhere".as_ref(), "board".to_string()).unwrap_err();
    assert!(words.starts_with("cannot read nowhere"), "{words}");
}

/// Of a newer version, or without an event that has room.
#[test]
fn ram_says_why_its_ring_cannot_be_read() {
    for (at, value, why) in [
        (
            8,
            7,
            "the ring has version 7 of the format, and this reader knows 6",
        ),
        (11, 2, "the ring's header has no valid size of events"),
    ] {
        let mut file = file("timeout");
        file.rings[0][at] = value;
        let ram = ram(&[(1 << 20, &file.rings[0])]);
        let words = collect(ram.path(), "board".to_string()).unwrap_err();
        assert!(words.ends_with(&format!(", at 0x100000: {why}")), "{words}");
        let (other, damage) = Trace::read(&{
            file.rings.push(self::file("timeout").rings.remove(0));
            file.to_bytes()
        })
        .unwrap();
        assert_eq!(damage, [why]);
        assert!(!other.events.is_empty());
    }
}

/// The ring as a flight recorder with room for so many events would have it.
fn last(ring: &[u8], room: usize) -> Vec<u8> {
    let written = RingReader::new(ring).unwrap().written as usize;
    let mut recorder = ring[..HEADER + room * 32].to_vec();
    for number in 0..written {
        let event = &ring[HEADER + number * 32..][..32];
        recorder[HEADER + number % room * 32..][..32].copy_from_slice(event);
    }
    // Mode and capacity, as the book says.
    recorder[12] = 1;
    recorder[16..24].copy_from_slice(&(room as u64).to_le_bytes());
    recorder
}

#[test]
fn what_a_flight_recorder_has_left_keeps_the_rules() {
    for name in ["timeout", "passive-server", "sporadic-servers"] {
        for room in [100, 150, 333] {
            let mut file = file(name);
            file.rings[0] = last(&file.rings[0], room);
            let (trace, _) = Trace::read(&file.to_bytes()).unwrap();
            assert_eq!(trace.events.len(), room);
            assert!(trace.lost[&0].at_the_beginning > 0);
            assert_eq!(check(&trace), [], "{name}, the last {room} events");
        }
    }
}

/// A stream with room for 200 events, whose reader has made room for so many when others were lost.
fn interrupted(name: &str, lost: usize, late: usize) -> Trace {
    let whole = file(name);
    let room = 200;
    let source = RingReader::new(&whole.rings[0]).unwrap();
    let late = late.min(source.written as usize - room - lost);
    let mut memory = vec![0; (HEADER + room * 32) / 8];
    let mut settings = source.settings;
    settings.mode = Mode::Stream;
    let mut ring = Ring::new(&mut memory, settings).unwrap();
    for (_, event) in source.events().take(room + lost) {
        let kind = event.kind().unwrap();
        ring.write(event.time, kind, event.subject, (event.a, event.b));
    }
    let mut ring: Vec<_> = ring.bytes().collect();
    // What has come afterwards is where the first events were.
    for (number, event) in source.events().skip(room + lost).take(late) {
        let place = HEADER + (number as usize - lost - room) * 32;
        ring[place..place + 32].copy_from_slice(&event.encode());
    }
    ring[32..40].copy_from_slice(&((room + late) as u64).to_le_bytes());
    let file = File {
        rings: vec![ring],
        ..File::default()
    };
    let (trace, _) = Trace::read(&file.to_bytes()).unwrap();
    trace
}

#[test]
fn a_stream_says_where_its_reader_was_too_slow() {
    let trace = interrupted("timeout", 50, 60);
    assert_eq!(trace.lost[&0].in_between, 50);
    assert!(summary(&trace).contains("50 in between"));
    let found = gaps(&trace);
    assert_eq!(found.len(), 2, "the first events are overwritten");
    assert_eq!(found[1].before.map(|(number, _)| number), Some(199));
    assert_eq!(found[1].after.map(|(number, _)| number), Some(250));
}

/// Wherever events are missing, nothing that was so before is held against what comes afterwards.
#[test]
fn after_a_gap_the_rules_begin_anew() {
    for name in ["timeout", "passive-server", "sporadic-servers"] {
        for lost in (1..100).step_by(7) {
            let trace = interrupted(name, lost, 150);
            let number = 200 + lost;
            let gap = format!("events 199 to {number} of core 0 are missing");
            let found = check(&trace).into_iter().map(|one| one.text);
            assert_eq!(found.collect::<Vec<_>>(), [gap], "{name}, {lost} events");
        }
    }
}

/// Nothing that is measured reaches over a gap, where it may have ended.
#[test]
fn nothing_is_measured_over_a_gap() {
    for name in ["timeout", "passive-server", "thundering-herd"] {
        for lost in (1..100).step_by(3) {
            let trace = interrupted(name, lost, 150);
            let gap = gaps(&trace).into_iter().find_map(|gap| gap.before);
            let (_, gap) = gap.expect("there is one");
            for one in inversions(&trace) {
                assert!(one.end <= gap || one.start >= gap, "{name}: {one:?}");
            }
        }
    }
}

/// What breaks a rule after a gap is found as before.
#[test]
fn rules_hold_after_a_gap() {
    let mut trace = interrupted("passive-server", 40, 150);
    for one in &mut trace.events {
        let is_charge = one.event.kind() == Some(Kind::Charged);
        one.event.a += 5 * u64::from(is_charge && one.number >= 240);
    }
    let found: Vec<_> = check(&trace).into_iter().map(|one| one.text).collect();
    expect(&found, "and charged");
}

/// It is not known what the core does from the last event before the gap to the first one that tells.
#[test]
fn lanes_have_a_hole_where_events_are_missing() {
    let trace = interrupted("timeout", 50, 60);
    let [_, gap] = gaps(&trace)[..] else {
        panic!("there are two gaps");
    };
    let timeline = Timeline::of(&trace);
    let (_, from) = gap.before.unwrap();
    let (_, to) = gap.after.unwrap();
    let hole = timeline.unknown.iter().find(|(_, start, _)| *start == from);
    assert!(
        hole.is_some_and(|(_, _, end)| *end >= to),
        "{:?}",
        timeline.unknown
    );
    for span in &timeline.cores[&0] {
        assert!(span.end <= from || span.start >= to, "{span:?}");
    }
}

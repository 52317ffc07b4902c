mod stream;

use super::*;

/// Words of the header.
const HEADER: usize = HEADER_BYTES / 8;

fn bytes(ring: &Ring<'_>) -> Vec<u8> {
    ring.bytes().collect()
}

const fn settings(detail: Detail, mode: Mode) -> Settings {
    Settings {
        core: 3,
        detail,
        kinds: Kinds::ALL,
        mode,
        frequency: 1_000_000,
        clocks: Clocks::Synchronous,
    }
}

/// The bytes of a ring with room for so many words of 8 bytes, and as many events with the times from 0 on.
fn filled(words: usize, settings: Settings, count: u64) -> Vec<u8> {
    let mut memory = vec![0; words];
    let mut ring = Ring::new(&mut memory, settings).unwrap();
    for time in 0..count {
        ring.write(
            time,
            Kind::Run,
            ObjectId(time as u32 + 7),
            (time + 1, time + 2),
        );
    }
    ring.bytes().collect()
}

#[test]
fn an_event_is_read_as_it_was_written() {
    let event = Event {
        time: 0x0123_4567_89ab_cdef,
        kind: Kind::Charged.number(),
        core: 63,
        sequence: 0xfedc,
        subject: ObjectId(0x1234_5678),
        a: u64::MAX,
        b: 5,
    };
    let bytes = event.encode();
    assert_eq!(Event::decode(&bytes, Detail::Full), Some(event));
    let lite = Event {
        a: 0,
        b: 0,
        ..event
    };
    assert_eq!(Event::decode(&bytes[..16], Detail::Lite), Some(lite));
    assert_eq!(Event::decode(&bytes[..15], Detail::Lite), None);
    assert_eq!(Event::decode(&bytes[..31], Detail::Full), None);
}

#[test]
fn a_full_ring_stops_and_counts() {
    let memory = filled(HEADER + 4 * 4 + 3, settings(Detail::Full, Mode::Stop), 10);
    let ring = RingReader::new(&memory).unwrap();
    assert_eq!((ring.written, ring.lost, ring.overwritten()), (4, 6, 0));
    let events: Vec<_> = ring.events().collect();
    assert_eq!(events.len(), 4);
    for (number, event) in events {
        assert_eq!((event.time, u64::from(event.sequence)), (number, number));
        assert_eq!((event.a, event.b, event.core), (number + 1, number + 2, 3));
    }
}

#[test]
fn a_flight_recorder_keeps_the_last_events() {
    for detail in [Detail::Lite, Detail::Full] {
        for count in 0..20 {
            let words = HEADER + 5 * detail.bytes() / 8;
            let memory = filled(words, settings(detail, Mode::Overwrite), count);
            let ring = RingReader::new(&memory).unwrap();
            assert_eq!((ring.written, ring.lost), (count, 0));
            let times: Vec<_> = ring.events().map(|(_, event)| event.time).collect();
            let numbers: Vec<_> = ring.events().map(|(number, _)| number).collect();
            let last: Vec<_> = (count.saturating_sub(5)..count).collect();
            assert_eq!((&times, &numbers), (&last, &last), "{count}");
        }
    }
}

/// A copy that is made while the recorder writes events: they lie over the oldest ones, and are not counted yet.
#[test]
fn a_flight_recorder_that_is_read_while_it_writes_tells_no_event_twice() {
    for detail in [Detail::Lite, Detail::Full] {
        for written in 1..=TOGETHER as u64 {
            let words = HEADER + 8 * detail.bytes() / 8;
            let mut memory = filled(words, settings(detail, Mode::Overwrite), 11 + written);
            let before = filled(words, settings(detail, Mode::Overwrite), 11);
            memory[..HEADER_BYTES].copy_from_slice(&before[..HEADER_BYTES]);
            let ring = RingReader::new(&memory).unwrap();
            let times: Vec<_> = ring.events().map(|(_, event)| event.time).collect();
            let numbers: Vec<_> = ring.events().map(|(number, _)| number).collect();
            let last: Vec<_> = (3 + written..11).collect();
            assert_eq!((&times, &numbers), (&last, &last), "{written}");
        }
    }
}

/// What is known when a program is built makes no other ring.
#[test]
fn a_known_ring_is_as_one_of_which_nothing_is_known() {
    struct Lite;
    impl Known for Lite {
        const DETAIL: Option<Detail> = Some(Detail::Lite);
        const MODE: Option<Mode> = Some(Mode::Overwrite);
        const CORE: Option<u8> = Some(3);
    }
    struct Full;
    impl Known for Full {
        const DETAIL: Option<Detail> = Some(Detail::Full);
        const MODE: Option<Mode> = Some(Mode::Stop);
    }
    /// Of both.
    fn rings<K: Known>(settings: Settings) -> [Vec<u8>; 2] {
        let memory = || Vec::leak(vec![0; HEADER + 5 * 4]);
        // What is known counts.
        let other = Settings {
            core: K::CORE.map_or(settings.core, |core| core + 1),
            detail: Detail::Lite,
            mode: Mode::Stream,
            ..settings
        };
        let mut known = Ring::<K>::known(memory(), other).unwrap();
        let mut ring = Ring::new(memory(), settings).unwrap();
        for time in 0..13 {
            known.write(time, Kind::Use, ObjectId(9), (time, 3));
            ring.write(time, Kind::Use, ObjectId(9), (time, 3));
        }
        [known.bytes().collect(), ring.bytes().collect()]
    }
    let [known, ring] = rings::<Lite>(settings(Detail::Lite, Mode::Overwrite));
    assert_eq!(known, ring);
    let [known, ring] = rings::<Full>(settings(Detail::Full, Mode::Stop));
    assert_eq!(known, ring);
}

/// Events that are written together are stored as if each was written alone, wherever the ring ends.
#[test]
fn events_of_one_time_are_as_events_that_follow_each_other() {
    for mode in [Mode::Stop, Mode::Overwrite, Mode::Stream] {
        for detail in [Detail::Lite, Detail::Full] {
            for before in 0..6 {
                let events = [Kind::Run, Kind::Use, Kind::Run].map(|kind| {
                    let number = kind.number();
                    (What::new(kind, ObjectId(7)), (number.into(), 5))
                });
                let ring = |are_together: bool| {
                    let memory = Vec::leak(vec![0; HEADER + 5 * detail.bytes() / 8]);
                    let mut ring = Ring::new(memory, settings(detail, mode)).unwrap();
                    for _ in 0..before {
                        ring.put([events[0]], 1);
                    }
                    for time in 2..5 {
                        match are_together {
                            true => ring.put(events, time),
                            false => events.into_iter().for_each(|one| ring.put([one], time)),
                        }
                    }
                    bytes(&ring)
                };
                assert_eq!(ring(true), ring(false), "{mode:?}, {detail:?}, {before}");
            }
        }
    }
}

#[test]
fn a_lite_ring_has_only_what_needs_no_details() {
    let mut memory = [0; HEADER + 24];
    let mut ring = Ring::new(&mut memory, settings(Detail::Lite, Mode::Stop)).unwrap();
    ring.write(1, Kind::Entry, ObjectId(1), (1, 1));
    ring.write(1, Kind::Use, ObjectId(1), (0, 0));
    let events: Vec<_> = RingReader::new(&bytes(&ring)).unwrap().events().collect();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].1.kind(), Some(Kind::Use));
}

#[test]
fn memory_without_room_for_an_event_is_no_ring() {
    let mut memory = [0; HEADER + 1];
    assert!(Ring::new(&mut memory, settings(Detail::Lite, Mode::Stop)).is_none());
    assert!(Ring::new(&mut memory[..3], settings(Detail::Lite, Mode::Stop)).is_none());
}

#[test]
fn damaged_rings_are_refused_or_read_in_part() {
    let memory = filled(HEADER + 6 * 2, settings(Detail::Lite, Mode::Overwrite), 8);
    assert_eq!(RingReader::new(&memory[..5]).unwrap_err(), Damage::NoRing);
    for end in [63, HEADER_BYTES - 1] {
        let error = RingReader::new(&memory[..end]).unwrap_err();
        assert_eq!(error, Damage::NoHeader);
    }
    let with = |at: usize, value: u8| {
        let mut changed = memory.clone();
        changed[at] = value;
        RingReader::new(&changed).map(|ring| ring.written)
    };
    assert_eq!(with(8, 7), Err(Damage::TooNew(7)));
    assert_eq!(with(11, 2), Err(Damage::Header("size of events")));
    assert_eq!(with(12, 3), Err(Damage::Header("mode")));
    assert_eq!(with(16, 0), Err(Damage::Header("capacity")));
    // The end was cut off: the events 2 to 5 lie at places 2 to 5, and 6 and 7 at 0 and 1.
    let cut = RingReader::new(&memory[..HEADER_BYTES + 3 * 16 + 5]).unwrap();
    assert_eq!(cut.missing(), 3);
    let numbers: Vec<_> = cut.events().map(|(number, _)| number).collect();
    assert_eq!(numbers, [2, 6, 7]);
    // Any bytes after a valid header are events; none of them makes the reader fail.
    for at in 13..HEADER_BYTES {
        for value in [0, 1, 0x7f, 0xff] {
            let mut changed = memory.clone();
            changed[at] = value;
            if let Ok(ring) = RingReader::new(&changed) {
                assert!(ring.events().count() <= 6);
            }
        }
    }
}

#[test]
fn kinds_have_numbers_and_names() {
    for kind in Kind::ALL {
        assert_eq!(Kind::from_number(kind.number().into()), Some(*kind));
    }
    assert_eq!(Kind::from_number(0), None);
    assert_eq!(Kind::Run.name(), "Run");
}

#[test]
fn the_book_lists_all_kinds_and_codes() {
    let page = include_str!("../../../docs/src/trace-format.md");
    let mut expected = Vec::new();
    expected.extend(Kind::ALL.iter().map(|it| (it.number(), it.name())));
    expected.extend(Reason::ALL.iter().map(|it| (it.number(), it.name())));
    expected.extend(Mark::ALL.iter().map(|it| (it.number(), it.name())));
    expected.extend(End::ALL.iter().map(|it| (it.number(), it.name())));
    expected.extend(Move::ALL.iter().map(|it| (it.number(), it.name())));
    expected.extend(Blocking::ALL.iter().map(|it| (it.number(), it.name())));
    for (number, name) in expected {
        let row = format!("| {number} | `{name}` |");
        assert!(page.contains(&row), "the page has no row {row}");
    }
}

#[test]
fn objects_are_told_apart_by_their_addresses() {
    assert_eq!(ObjectId::of(0xffff_ff80_1234_5670), ObjectId(0x0123_4567));
    assert_eq!(ObjectId::in_detail(7 << 32 | 9), ObjectId(9));
}

#[test]
fn a_ring_has_the_kinds_that_are_wanted() {
    let mut memory = [0; HEADER + 8 * 4];
    let kinds = Kinds::of_groups("marks,budgets").unwrap();
    let chosen = Settings {
        kinds,
        ..settings(Detail::Full, Mode::Stop)
    };
    let mut ring = Ring::new(&mut memory, chosen).unwrap();
    for kind in [
        Kind::Entry,
        Kind::Charged,
        Kind::Woken,
        Kind::Marked,
        Kind::Run,
        Kind::Named,
    ] {
        ring.write(1, kind, ObjectId(7), (1, 2));
    }
    let memory = bytes(&ring);
    let ring = RingReader::new(&memory).unwrap();
    assert_eq!((ring.settings.kinds, ring.lost), (kinds, 0));
    let found: Vec<_> = ring
        .events()
        .map(|(_, event)| event.kind().unwrap())
        .collect();
    assert_eq!(found, [Kind::Charged, Kind::Marked, Kind::Run, Kind::Named]);
}

#[test]
fn a_ring_says_how_clocks_relate() {
    let mut memory = filled(HEADER + 4 * 4, settings(Detail::Full, Mode::Stop), 2);
    for (number, clocks) in [
        (2, Clocks::Synchronous),
        (1, Clocks::Shared),
        (0, Clocks::Unknown),
        (9, Clocks::Unknown),
    ] {
        assert!(number != 2 || memory[13] == number);
        memory[13] = number;
        let ring = RingReader::new(&memory).unwrap();
        assert_eq!(ring.settings.clocks, clocks);
    }
}

#[test]
fn a_ring_of_the_first_version_has_all_kinds() {
    let mut memory = filled(HEADER + 4 * 4, settings(Detail::Full, Mode::Stop), 2);
    // Headers of earlier versions have one line.
    memory.drain(64..HEADER_BYTES);
    (memory[8], memory[13]) = (1, 0);
    let ring = RingReader::new(&memory).unwrap();
    assert_eq!(ring.settings.kinds, Kinds::ALL);
    assert_eq!(ring.settings.clocks, Clocks::Unknown);
    let times: Vec<_> = ring.events().map(|(_, event)| event.time).collect();
    assert_eq!(times, [0, 1]);
}

#[test]
fn a_ring_says_what_an_event_costs() {
    let mut memory = [0; HEADER + 2 * 4];
    let mut ring = Ring::new(&mut memory, settings(Detail::Full, Mode::Stop)).unwrap();
    for _ in 0..3 {
        ring.write(1, Kind::Run, ObjectId(1), (0, 0));
    }
    ring.restart();
    let (run, last) = (Kind::Run.number(), Costs::KINDS as u8 - 1);
    for (kind, distance) in [(run, 18), (last, 0)] {
        ring.set_cost(kind, Cost::new(64, distance, 64));
    }
    let empty = bytes(&ring);
    let read = RingReader::new(&empty).unwrap();
    assert_eq!((read.written, read.lost), (0, 0));
    let costs = read.costs.unwrap();
    assert_eq!(costs.of(run).parts(), [256, 72]);
    assert_eq!(costs.of(last).parts(), [256, 0]);
    assert_eq!(costs.of(Kind::Use.number()), Cost::default());
    ring.write(2, Kind::Run, ObjectId(1), (0, 0));
    let mut memory = bytes(&ring);
    let (_, event) = RingReader::new(&memory).unwrap().events().next().unwrap();
    assert_eq!((event.time, event.sequence), (2, 0));
    // Earlier versions say for all kinds how much it is at least and at most, or nothing.
    memory.drain(128..HEADER_BYTES);
    memory[8] = 5;
    memory[56] = 31;
    let error = RingReader::new(&memory).unwrap_err();
    assert_eq!(error, Damage::Header("cost of an event"));
    memory[60] = 50;
    let costs = RingReader::new(&memory).unwrap().costs.unwrap();
    assert_eq!(
        [run, last].map(|kind| costs.of(kind).parts()),
        [[40, 10]; 2]
    );
    memory[8] = 2;
    assert_eq!(RingReader::new(&memory).unwrap().costs, None);
}

#[test]
fn costs_are_parts_of_a_tick() {
    let cost = Cost::new(3, 5, 512);
    assert_eq!(cost.parts(), [1, 2]);
    assert_eq!(Cost::from_bits(cost.to_bits()), cost);
    assert_eq!(Cost::ticks(384), 1.5);
    let most = u64::from(u32::MAX);
    assert_eq!(Cost::new(0, u64::MAX, 0).parts(), [0, most]);
}

#[test]
fn each_kind_is_in_one_group() {
    let groups = Kinds::GROUPS.map(|(_, kinds)| kinds);
    let always = Kinds::of_groups("marks").unwrap();
    for &kind in Kind::ALL {
        let count = groups.iter().filter(|group| group.contains(kind)).count();
        let expected = usize::from(!always.contains(kind) || kind == Kind::Marked);
        assert_eq!(count, expected, "{}", kind.name());
    }
    let names = Kinds::GROUPS.map(|(name, _)| name).join(",");
    let all = Kinds::of_groups(&names).unwrap();
    assert!(Kind::ALL.iter().all(|&kind| all.contains(kind)));
    for wrong in [
        "",
        "mark",
        "marks,",
        "marks,budget",
        "marks budgets",
        "Marks",
    ] {
        assert_eq!(Kinds::of_groups(wrong), None, "{wrong}");
    }
}

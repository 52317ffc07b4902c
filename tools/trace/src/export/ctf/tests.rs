use std::collections::{BTreeMap, HashMap};

use trace_format::{Clocks, Event, Kind, ObjectId};

use super::*;
use crate::{Lost, Numbered};

/// An event of core 3.
fn event(number: u64, time: u64, kind: Kind, (a, b): (u64, u64)) -> Numbered {
    let event = Event {
        time,
        kind: kind.number(),
        core: 3,
        sequence: number as u16,
        subject: ObjectId(0x1ff),
        a,
        b,
    };
    Numbered { number, event }
}

fn trace(events: Vec<Numbered>, lost: Lost) -> Trace {
    Trace {
        platform: "a \"board\"".to_string(),
        frequency: 24_000_000,
        clocks: Clocks::Unknown,
        has_details: true,
        is_full: true,
        events,
        lost: BTreeMap::from([(3, lost)]),
        costs: BTreeMap::new(),
        end: 1_000,
        names: HashMap::from([(ObjectId(0x1ff), "hog".to_string())]),
        answers: Vec::new(),
    }
}

/// The words of 64 bits of a packet's context, the core, and the events of each packet.
fn packets(mut stream: &[u8]) -> Vec<([u64; 5], u32, &[u8])> {
    let mut packets = Vec::new();
    while !stream.is_empty() {
        assert_eq!(stream[..8], [0xc1, 0x1f, 0xfc, 0xc1, 0, 0, 0, 0]);
        let word = |at: usize| u64::from_le_bytes(stream[at..at + 8].try_into().unwrap());
        let context = [8, 16, 24, 32, 40].map(word);
        let core = u32::from_le_bytes(stream[48..52].try_into().unwrap());
        let (packet, rest) = stream.split_at(context[3] as usize / 8);
        packets.push((context, core, &packet[52..]));
        stream = rest;
    }
    packets
}

#[test]
fn an_event_is_written_as_described() {
    let events = vec![event(0, 7, Kind::Charged, (5, 1 << 40))];
    let files = ctf(&trace(events, Lost::default()));
    let names: Vec<_> = files.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["metadata", "core_3"]);
    let expected: [&[u8]; 7] = [
        &[Kind::Charged.number()],
        &7_u64.to_le_bytes(),
        &0_u64.to_le_bytes(),
        &0x1ff_u32.to_le_bytes(),
        b"hog\0",
        &5_u64.to_le_bytes(),
        &(1_u64 << 40).to_le_bytes(),
    ];
    let expected = expected.concat();
    let bits = 8 * (52 + expected.len() as u64);
    assert_eq!(
        packets(&files[1].1),
        [
            ([7, 7, bits, bits, 0], 3, &expected[..]),
            ([7, 1_000, 52 * 8, 52 * 8, 0], 3, &[]),
        ]
    );
    let description = String::from_utf8(files[0].1.clone()).unwrap();
    let class = "event {\n\tname = \"Charged\";\n\tid = 12;\n\tstream_id = 0;\n\tfields := struct {\n\
                 \t\tobject_t context;\n\t\tstring context_name;\n\
                 \t\tuint64_t amount_ticks;\n\t\tuint64_t consumed_ticks;\n\t};\n};\n";
    assert!(description.contains(class), "{description}");
    assert!(description.contains("freq = 24000000;"), "{description}");
    assert!(description.contains(r#"platform = "a \"board\"";"#));
}

#[test]
fn missing_events_are_counted_where_they_are_missing() {
    let events = [(5, 70), (6, 80), (9, 90)];
    let events = events.map(|(number, time)| event(number, time, Kind::Stopped, (0, 0)));
    let lost = Lost {
        at_the_beginning: 5,
        in_between: 0,
        cut_off: 2,
        at_the_end: 4,
    };
    let files = ctf(&trace(events.to_vec(), lost));
    let found: Vec<_> = packets(&files[1].1)
        .iter()
        .map(|([begin, end, .., discarded], _, events)| (*begin, *end, *discarded, events.len()))
        .collect();
    let size = 1 + 8 + 8 + 4 + 4;
    assert_eq!(
        found,
        [
            (0, 0, 0, 0),
            (0, 70, 5, 0),
            (70, 80, 5, 2 * size),
            (80, 90, 7, 0),
            (90, 90, 7, size),
            (90, 1_000, 11, 0),
        ]
    );
}

#[test]
fn a_long_stream_has_several_packets() {
    let events = (0..5_000).map(|number| event(number, number, Kind::Stopped, (0, 0)));
    let files = ctf(&trace(events.collect(), Lost::default()));
    let packets = packets(&files[1].1);
    assert_eq!(packets.len(), 3);
    assert_eq!(packets[1].0[0], packets[0].0[1] + 1);
}

#[test]
fn a_folder_with_files_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("of/a trace");
    let files = [("metadata".to_string(), b"text".to_vec())];
    write_folder(&inner, &files).unwrap();
    assert_eq!(fs::read(inner.join("metadata")).unwrap(), b"text");
    let words = write_folder(&inner, &files).unwrap_err();
    assert!(words.contains("is not empty; name a new one"), "{words}");
    let words = write_folder(&inner.join("metadata"), &files).unwrap_err();
    assert!(words.starts_with("cannot make the folder"), "{words}");
}

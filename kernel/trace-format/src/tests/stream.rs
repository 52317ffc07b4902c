//! A ring that is read while it is written.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::{HEADER, settings};
use crate::{Damage, Detail, Kind, Mode, ObjectId, Ring, RingReader, StreamReader};

/// Events for which there is room.
const CAPACITY: u64 = 5;
/// The index of the reader's position, in words of 32 bits.
const POSITION: usize = 16;

/// A ring and the words of its memory, as the kernel and a user have them.
fn shared(detail: Detail, capacity: u64) -> (Ring<'static>, &'static [AtomicU32]) {
    let words = HEADER + capacity as usize * detail.bytes() / 8;
    let memory = Vec::leak(vec![0u64; words]).as_mut_ptr();
    // SAFETY: the memory is leaked. The ring writes it by raw words only, as the kernel writes memory that users have.
    let (ring, shared) = unsafe {
        (
            std::slice::from_raw_parts_mut(memory, words),
            std::slice::from_raw_parts(memory.cast::<AtomicU32>(), words * 2),
        )
    };
    (
        Ring::new(ring, settings(detail, Mode::Stream)).unwrap(),
        shared,
    )
}

/// Writes events with these times, which are their numbers, too.
fn write(ring: &mut Ring<'_>, times: std::ops::Range<u64>) {
    for time in times {
        ring.write(time, Kind::Run, ObjectId(7), (time + 1, time + 2));
    }
}

/// The times of all events that can be read now.
fn times(reader: &mut StreamReader<'_>) -> Vec<u64> {
    let events = reader.map(|event| {
        assert_eq!((event.sequence, event.core), (event.time as u16, 3));
        event.time
    });
    events.collect()
}

#[test]
fn a_reader_that_keeps_up_gets_all_events() {
    for detail in [Detail::Lite, Detail::Full] {
        let (mut ring, memory) = shared(detail, CAPACITY);
        let mut reader = StreamReader::new(memory).unwrap();
        assert_eq!(reader.next(), None);
        let mut number = 0;
        // Numbers of 16 bits wrap around, too.
        while number < 70_000 {
            let end = number + number % (CAPACITY + 1);
            write(&mut ring, number..end);
            let expected: Vec<_> = (number..end).collect();
            assert_eq!(times(&mut reader), expected);
            write(&mut ring, end..end + 1);
            number = end + 1;
            assert_eq!(times(&mut reader), [end]);
        }
        assert_eq!(reader.lost(), 0);
    }
}

#[test]
fn what_a_slow_reader_misses_is_counted() {
    let (mut ring, memory) = shared(Detail::Full, CAPACITY);
    let mut reader = StreamReader::new(memory).unwrap();
    write(&mut ring, 0..8);
    assert_eq!(reader.lost(), 3);
    assert_eq!(reader.next().unwrap().time, 0);
    assert_eq!(reader.next().unwrap().time, 1);
    // There is room for two.
    write(&mut ring, 8..12);
    assert_eq!(times(&mut reader), [2, 3, 4, 8, 9]);
    assert_eq!(reader.lost(), 5);
    write(&mut ring, 12..14);
    // A later reader goes on there.
    let mut reader = StreamReader::new(memory).unwrap();
    assert_eq!((times(&mut reader), reader.lost()), (vec![12, 13], 5));
}

#[test]
fn a_position_that_cannot_be_makes_the_kernel_lose_events_only() {
    let (mut ring, memory) = shared(Detail::Full, CAPACITY);
    write(&mut ring, 0..4);
    let mut number = 4;
    for garbage in [u32::MAX, 6, 7, 1 << 31, u32::MAX - 1000, 1000] {
        memory[POSITION].store(garbage, Relaxed);
        // The place that it knew to be free is still used.
        let before = RingReader::new(&bytes(memory)).unwrap().lost;
        write(&mut ring, number..number + 10);
        number += 10;
        let read = bytes(memory);
        let read = RingReader::new(&read).unwrap();
        let free = u64::from(number == 14);
        assert_eq!(
            (read.written, read.lost - before),
            (5, 10 - free),
            "{garbage}"
        );
        assert_eq!(read.events().count(), 5);
    }
    // A reader that starts again goes on.
    let mut reader = StreamReader::new(memory).unwrap();
    assert_eq!((reader.next(), reader.lost()), (None, number - 5));
    write(&mut ring, number..number + 3);
    let expected: Vec<_> = (number..number + 3).collect();
    assert_eq!(times(&mut reader), expected);
    // What a reader writes elsewhere, the kernel does not read.
    for word in memory {
        word.store(u32::MAX, Relaxed);
    }
    write(&mut ring, number..number + 100);
    assert_eq!(StreamReader::new(memory).unwrap_err(), Damage::NoRing);
}

fn bytes(memory: &[AtomicU32]) -> Vec<u8> {
    let words = memory.iter().map(|word| word.load(Relaxed));
    words.flat_map(u32::to_le_bytes).collect()
}

#[test]
fn a_copy_of_a_stream_tells_where_events_are_missing() {
    let (mut ring, memory) = shared(Detail::Full, CAPACITY);
    let mut reader = StreamReader::new(memory).unwrap();
    write(&mut ring, 0..7);
    assert_eq!(times(&mut reader), [0, 1, 2, 3, 4]);
    write(&mut ring, 7..9);
    let copy = bytes(memory);
    let read = RingReader::new(&copy).unwrap();
    assert_eq!((read.written, read.lost, read.overwritten()), (7, 2, 2));
    let numbers: Vec<_> = read.events().map(|(number, _)| number).collect();
    assert_eq!(numbers, [2, 3, 4, 7, 8]);
}

#[test]
fn no_event_is_torn_or_lost_silently_while_both_run() {
    const EVENTS: u64 = 200_000;
    let (mut ring, memory) = shared(Detail::Full, 64);
    let mut reader = StreamReader::new(memory).unwrap();
    let writer = std::thread::spawn(move || {
        write(&mut ring, 0..EVENTS);
    });
    let (mut count, mut next) = (0, 0);
    loop {
        let ends = writer.is_finished();
        for event in reader.by_ref() {
            assert!(event.time >= next, "{} before {next}", event.time);
            assert_eq!((event.a, event.b), (event.time + 1, event.time + 2));
            assert_eq!(event.sequence, event.time as u16);
            (count, next) = (count + 1, event.time + 1);
        }
        if ends {
            break;
        }
    }
    assert_eq!(count + reader.lost(), EVENTS);
    writer.join().unwrap();
}

#[test]
fn only_streams_are_read_as_such() {
    let (_ring, memory) = shared(Detail::Full, CAPACITY);
    let error = |memory| StreamReader::new(memory).unwrap_err();
    assert_eq!(error(&memory[..31]), Damage::NoHeader);
    assert_eq!(
        error(&memory[..memory.len() - 1]),
        Damage::Header("capacity")
    );
    memory[4].store(u32::MAX, Relaxed);
    assert_eq!(error(memory), Damage::Header("capacity"));
    memory[4].store(CAPACITY as u32, Relaxed);
    memory[3].store(0, Relaxed);
    assert_eq!(error(memory), Damage::Header("mode of a stream"));
}

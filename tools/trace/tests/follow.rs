//! Traces of machines that run: events are taken out of a ring before they are overwritten.

use std::fs;
use std::path::Path;

use trace::{File, Follower, Trace};
use trace_format::{
    Clocks, Cost, Costs, Detail, HEADER_BYTES, Kind, Kinds, Mode, ObjectId, Ring, RingReader,
    Settings, TOGETHER,
};

/// Events for which the ring has room.
const ROOM: u64 = 1_000;
/// Where the ring is in RAM.
const START: usize = 3 << 19;

/// Where a ring says how many events were written.
const WRITTEN: usize = 32;

/// A machine whose ring a kernel writes.
struct Machine<'m> {
    ring: Ring<'m>,
    ram: tempfile::NamedTempFile,
    time: u64,
}

impl<'m> Machine<'m> {
    fn new(memory: &'m mut Vec<u64>, mode: Mode) -> Self {
        memory.resize((HEADER_BYTES + ROOM as usize * 32) / 8, 0);
        let settings = Settings {
            core: 1,
            detail: Detail::Full,
            kinds: Kinds::ALL,
            mode,
            frequency: 1_000_000,
            clocks: Clocks::Shared,
        };
        Self {
            ring: Ring::new(memory, settings).unwrap(),
            ram: tempfile::NamedTempFile::new().unwrap(),
            time: 0,
        }
    }

    /// Takes the events that are there out of its RAM.
    fn follow(&self) -> Follower {
        let mut follower = Follower::new(self.path()).unwrap();
        follower.search();
        follower.take();
        follower
    }

    fn path(&self) -> &Path {
        self.ram.path()
    }

    /// Writes so many events.
    fn write(&mut self, count: u64) {
        self.write_and_count(count, 0);
    }

    /// The same, as it is while the last events have not been counted yet.
    fn write_and_count(&mut self, count: u64, uncounted: u64) {
        for _ in 0..count {
            self.time += 1;
            let details = (self.time, 0);
            self.ring
                .write(self.time, Kind::Consumed, ObjectId(1), details);
        }
        let mut ring: Vec<_> = self.ring.bytes().collect();
        let counted = (self.ring.written() - uncounted).to_le_bytes();
        ring[WRITTEN..WRITTEN + counted.len()].copy_from_slice(&counted);
        let ram = [vec![0; START], ring, vec![0; 1 << 20]].concat();
        fs::write(self.path(), ram).unwrap();
    }

    /// The measurement of what an event costs is over.
    fn calibrate(&mut self) {
        self.ring.restart();
        for kind in 0..Costs::KINDS as u8 {
            self.ring.set_cost(kind, Cost::new(100, 0, 64));
        }
        self.time = 0;
    }
}

fn trace(file: &File) -> Trace {
    let (trace, damage) = Trace::read(&file.to_bytes()).unwrap();
    assert_eq!(damage, [""; 0]);
    trace
}

#[test]
fn a_trace_is_longer_than_the_ring() {
    let mut memory = Vec::new();
    let mut machine = Machine::new(&mut memory, Mode::Overwrite);
    machine.write(500);
    let mut follower = machine.follow();
    machine.calibrate();
    for count in [3, 700, 0, ROOM - 1 - TOGETHER as u64, 1, 800, 500] {
        machine.write(count);
        follower.search();
        follower.take();
    }
    machine.write(400);
    let (file, damage) = follower.finish(machine.path(), "board".into()).unwrap();
    assert_eq!((&*file.platform, damage.len()), ("board", 0));
    let trace = trace(&file);
    let times: Vec<_> = trace.events.iter().map(|one| one.event.time).collect();
    assert!(times.into_iter().eq(1..=machine.time));
    assert_eq!(trace.lost_events(), 0);
    assert_eq!(trace::gaps(&trace), []);
    assert_eq!(trace.costs[&1].of(7).parts(), [400, 0]);
}

/// Whatever comes too late is counted, and those that may just be overwritten are not taken.
#[test]
fn what_was_overwritten_before_is_counted() {
    // So many that the lower 16 bits of the number are the same again.
    let together = TOGETHER as u64;
    for late in [ROOM + 200, (1 << 16) + ROOM - 1 - together] {
        let mut memory = Vec::new();
        let mut machine = Machine::new(&mut memory, Mode::Overwrite);
        machine.calibrate();
        machine.write(300);
        let mut follower = machine.follow();
        machine.write(late);
        follower.take();
        machine.write(10);
        let (file, _) = follower.finish(machine.path(), "board".into()).unwrap();
        let trace = trace(&file);
        let found = trace.events.len() as u64;
        assert!(found < machine.time && found > ROOM, "{found}");
        assert_eq!(trace.lost_events(), machine.time - found);
        // How long it is may be known from the header only.
        let gap = trace::gaps(&trace)[0];
        assert_eq!(gap.before.map(|(_, time)| time), Some(299));
        assert!(trace.events.iter().all(|one| one.event.time == one.event.a));
    }
}

/// Up to so many events are over the oldest ones before the ring counts them.
#[test]
fn what_is_not_counted_yet_is_not_taken_for_the_oldest() {
    for uncounted in 1..=TOGETHER as u64 {
        let mut memory = Vec::new();
        let mut machine = Machine::new(&mut memory, Mode::Overwrite);
        machine.calibrate();
        machine.write_and_count(3 * ROOM, uncounted);
        let mut follower = machine.follow();
        machine.write(1);
        follower.take();
        let (file, _) = follower.finish(machine.path(), "board".into()).unwrap();
        let times: Vec<_> = (trace(&file).events.iter())
            .map(|one| (one.number + 1, one.event.time))
            .collect();
        assert!(times.iter().all(|(number, time)| number == time));
        assert!(times.is_sorted());
    }
}

#[test]
fn a_machine_that_starts_again_begins_a_new_trace() {
    let mut memory = Vec::new();
    let mut machine = Machine::new(&mut memory, Mode::Overwrite);
    machine.calibrate();
    machine.write(300);
    let mut follower = machine.follow();
    machine.calibrate();
    machine.write(5);
    follower.take();
    let (file, _) = follower.finish(machine.path(), "board".into()).unwrap();
    assert_eq!(trace(&file).events.len(), 5);
}

/// The position of a stream's reader decides what is lost, and that is in the header.
#[test]
fn a_stream_is_followed_as_its_reader_makes_room() {
    let mut memory = Vec::new();
    let mut machine = Machine::new(&mut memory, Mode::Stream);
    machine.calibrate();
    machine.write(ROOM + 7);
    let follower = machine.follow();
    let (file, _) = follower.finish(machine.path(), "board".into()).unwrap();
    let ring = RingReader::new(&file.rings[0]).unwrap();
    assert_eq!((ring.written, ring.lost), (ROOM, 7));
    assert_eq!(trace(&file).lost[&1].in_between, 7);
}

/// Rings that begin elsewhere, or of a kernel that has not measured, are as they are at the end.
#[test]
fn what_was_not_followed_is_collected() {
    let mut memory = Vec::new();
    let mut machine = Machine::new(&mut memory, Mode::Stop);
    machine.write(12);
    let follower = machine.follow();
    let (file, _) = follower.finish(machine.path(), "board".into()).unwrap();
    assert_eq!(trace(&file).events.len(), 12);
    let words = Follower::new("nowhere".as_ref()).unwrap_err();
    assert!(words.starts_with("cannot read nowhere"), "{words}");
}

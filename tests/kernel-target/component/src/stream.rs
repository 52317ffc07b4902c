//! Trace events that a component reads while the system runs: in a kernel that streams them.

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use crate::support::protocol::names;
use crate::support::{BELOW, Outcome, Test, relax};
use crate::{check, check_eq};
use userlib::cap::{Attributes, CNode, Frame, Notification, Slot};
use userlib::trace::format::{Event, Kind, StreamReader};
use userlib::{CPtr, Result, Rights, trace};

tests![
    if abi::config::TRACING;
    each_core_has_a_ring,
    the_events_of_each_core_are_read_in_order,
    what_a_slow_reader_misses_is_counted,
    the_kernel_trusts_no_position,
    cores_that_wait_for_one_another_say_so,
];

/// Marks, of which each takes at least three events: together they do not fit into a ring.
const TOO_MANY: u64 = (trace::RING_BYTES / 32) as u64;
/// The place of the reader's position in a ring.
const POSITION: usize = 64;

/// Copies of the root task's frames of a core's ring.
fn frames(test: &mut Test, core: usize) -> impl Iterator<Item = Result<Frame>> {
    let root: CNode = test.startup.capability(names::ROOT_CNODE);
    trace::ring_frames(test.boot_info(), core).map(move |Frame(CPtr(slot))| {
        let copy = test.empty_slot()?;
        copy.copy_from(root.slot(CPtr(slot)), Rights::ALL)?;
        Ok(Frame(CPtr(copy.index)))
    })
}

/// The reader of a core's ring, from which all earlier events are taken.
fn open(test: &mut Test, core: usize) -> Outcome<StreamReader<'static>> {
    const PAGES: usize = trace::RING_BYTES >> abi::sizes::PAGE_BITS;
    let mut all = [Frame(CPtr::NULL); PAGES];
    for (place, frame) in all.iter_mut().zip(frames(test, core)) {
        *place = frame?;
    }
    let mut reader = trace::open(test, all)?;
    drain(&mut reader, |_| {});
    Ok(reader)
}

/// Takes all events out of a ring.
fn drain(reader: &mut StreamReader<'_>, mut each: impl FnMut(Event)) {
    for event in reader {
        each(event);
    }
}

fn marked(event: &Event) -> Option<u64> {
    (event.kind() == Some(Kind::Marked)).then_some(event.b)
}

fn each_core_has_a_ring(test: &mut Test) -> Outcome {
    for core in 0..test.boot_info().nodes {
        let reader = open(test, core)?;
        check_eq!(usize::from(reader.settings().core), core);
        check_eq!(reader.settings().frequency > 0, true);
    }
    Ok(())
}

fn the_events_of_each_core_are_read_in_order(test: &mut Test) -> Outcome {
    // More than a ring has room for, but not as many at once.
    const MARKS: usize = 8_000;
    const AT_ONCE: usize = 1_000;
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    for core in 0..test.boot_info().nodes {
        let mut reader = open(test, core)?;
        let lost = reader.lost();
        SEEN.store(0, Relaxed);
        let thread = test.spawn_on(core, BELOW, || {
            for number in 1..=MARKS {
                while number > SEEN.load(Relaxed) + AT_ONCE {
                    relax();
                }
                trace::number(7, number as u64);
            }
        })?;
        let (mut next, mut before) = (1, None);
        let done = test.comes_true(|| {
            for event in reader.by_ref() {
                if let Some(before) = before {
                    assert_eq!(event.sequence, u16::wrapping_add(before, 1));
                }
                before = Some(event.sequence);
                if let Some(number) = marked(&event) {
                    assert_eq!(number, next as u64);
                    SEEN.store(next, Relaxed);
                    next += 1;
                }
            }
            next > MARKS
        })?;
        check!(done, "{next} of {MARKS} came");
        check_eq!(reader.lost(), lost);
        test.delete(thread.tcb)?;
    }
    Ok(())
}

fn what_a_slow_reader_misses_is_counted(test: &mut Test) -> Outcome {
    let mut reader = open(test, 0)?;
    let before = reader.lost();
    for number in 0..TOO_MANY {
        trace::number(7, number);
    }
    let lost = reader.lost() - before;
    check!(lost > TOO_MANY, "only {lost} events were lost");
    let (mut last, mut missing, mut count, mut marks) = (None, 0, 0, 0);
    let mut look = |event: Event| {
        let gap = last.map_or(0, |last: u16| {
            event.sequence.wrapping_sub(last.wrapping_add(1))
        });
        missing += u64::from(gap);
        count += 1;
        marks += u64::from(marked(&event).is_some());
        last = Some(event.sequence);
    };
    drain(&mut reader, &mut look);
    trace::number(7, TOO_MANY);
    drain(&mut reader, &mut look);
    // Fewer than 65,536 were lost, so that the gap has all of them.
    check_eq!(reader.lost() - before, missing);
    check!(marks > TOO_MANY / 8 && marks < TOO_MANY);
    check!(count > TOO_MANY / 2);
    Ok(())
}

fn the_kernel_trusts_no_position(test: &mut Test) -> Outcome {
    let mut reader = open(test, 0)?;
    let mut first = frames(test, 0).next().into_iter();
    let first = first.next().unwrap_or(Ok(Frame(CPtr::NULL)))?;
    let address = test.map(first, Rights::READ_WRITE, Attributes::NO_EXECUTE)?;
    let position = core::ptr::with_exposed_provenance_mut(address + POSITION);
    // SAFETY: the ring is mapped there, and only atomics access it.
    let position = unsafe { AtomicU32::from_ptr(position) };
    let good = position.load(Relaxed);
    for garbage in [
        good.wrapping_add(1 << 30),
        good.wrapping_sub(1 << 30),
        !good,
    ] {
        let before = reader.lost();
        position.store(garbage, Relaxed);
        for number in 0..TOO_MANY {
            trace::number(7, number);
        }
        check!(reader.lost() > before + TOO_MANY);
    }
    // A reader that starts anew gets what comes from then on.
    let mut reader = open(test, 0)?;
    let lost = reader.lost();
    trace::number(7, 5);
    let mut marks = 0;
    drain(&mut reader, |event| {
        marks += u64::from(marked(&event) == Some(5))
    });
    check_eq!(marks, 1);
    check_eq!(reader.lost(), lost);
    Ok(())
}

/// What a core has said about the entry lock: how often it was in exclusive mode, and how often it waited for that of
/// another core.
#[derive(Clone, Copy, Debug, Default)]
struct Locked {
    exclusive: usize,
    waited: usize,
    last: Option<Event>,
}

impl Locked {
    /// Both events follow that of their kernel entry, in which the same thread ran.
    fn add(&mut self, event: Event, second: u64) {
        match event.kind() {
            Some(Kind::Exclusive) => {
                assert!(event.a < second, "{event:?}");
                self.exclusive += 1;
            }
            Some(Kind::Waited) => self.waited += 1,
            _ => {
                self.last = Some(event);
                return;
            }
        }
        let before = self.last.replace(event);
        // Unless it is lost.
        if let Some(entry) = before.filter(|one| one.sequence.wrapping_add(1) == event.sequence) {
            assert_eq!(entry.kind(), Some(Kind::Entry), "{event:?}");
            assert_eq!(entry.subject, event.subject);
        }
    }
}

fn cores_that_wait_for_one_another_say_so(test: &mut Test) -> Outcome {
    const ROUNDS: usize = 20_000;
    if test.secondary_cores().is_empty() {
        return Ok(());
    }
    // Capabilities are in one tree for all cores: a core that copies or deletes one stops the others.
    fn copy_and_delete(from: Slot, to: Slot) {
        assert_eq!(to.copy_from(from, Rights::ALL), Ok(()));
        assert_eq!(to.delete(), Ok(()));
    }
    let original: Notification = test.create()?;
    let (from, here, there) = (
        test.allocator.slot(original),
        test.empty_slot()?,
        test.empty_slot()?,
    );
    let mut readers = [open(test, 0)?, open(test, 1)?];
    let mut cores = [Locked::default(); 2];
    let thread = test.spawn_on(1, BELOW, move || {
        loop {
            copy_and_delete(from, there);
        }
    })?;
    for _ in 0..ROUNDS {
        copy_and_delete(from, here);
        for (core, reader) in cores.iter_mut().zip(&mut readers) {
            let second = reader.settings().frequency;
            for event in reader.by_ref() {
                core.add(event, second);
            }
        }
        let [first, second] = &cores;
        if first.exclusive > 0 && second.exclusive > 0 && first.waited + second.waited > 0 {
            break;
        }
        relax();
    }
    test.delete(thread.tcb)?;
    check!(
        cores[0].exclusive > 0 && cores[1].exclusive > 0,
        "{cores:?}"
    );
    check!(cores[0].waited + cores[1].waited > 0, "{cores:?}");
    Ok(())
}

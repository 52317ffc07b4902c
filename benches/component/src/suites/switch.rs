//! What a switch between address spaces costs beyond the kernel's instructions: the progress that a thread loses until
//! its working set is in the caches again (Kaiser, ETFA 2009; the method of the fit is in the book, *Guests*).
//!
//! Caches are brought into a state, another address space runs, and then the thread uses a working set several times.
//! The time up to each quarter of a pass is compared with that of the same accesses without all this. Where
//! instructions are counted, there is no difference: that is what a run on an emulator shows.

use super::{PRIORITIES, benchmarks};
use crate::bench::{Bench, Time};
use crate::measure::{Counter, SAMPLES, WARM_UP};
use crate::partner::{Peer, Place};
use core::hint::black_box;
use core::slice;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use userlib::abi::Syscall;
use userlib::environment::PAGE;
use userlib::{CPtr, Result};

benchmarks![progress: KIB.len() * STATES.len()];

/// Sizes of the working set in KiB.
const KIB: [usize; 5] = [2, 16, 32, 64, 128];
/// States of the caches before the switch: full of other memory that was written, or read; or empty.
const STATES: [&str; 3] = ["dirty", "read", "invalid"];
/// The pages of the other memory: as large as the largest cache of the boards, 1 MiB.
const OTHER_PAGES: usize = (1 << 20) / PAGE;
/// Bytes between two accesses: the shortest cache line of the boards.
const LINE: usize = 32;
/// Words between two accesses.
const STEP: usize = LINE / size_of::<usize>();
/// Parts of a pass over the working set, and of all passes.
const PARTS: usize = 4;
const POINTS: usize = 4 * PARTS;

/// The counts up to each point, of each round.
type Times = [[usize; SAMPLES]; POINTS];

/// Progress of one working set after a switch, and without one.
fn progress(bench: &mut Bench, variant: usize) -> Result {
    let (kib, state) = (KIB[variant / STATES.len()], STATES[variant % STATES.len()]);
    let counter = bench.counter();
    let own = memory(bench, (kib << 10).div_ceil(PAGE))?;
    let own = &own[..(kib << 10) / size_of::<usize>()];
    let other = memory(bench, OTHER_PAGES)?;
    bench.start(Place::Other, PRIORITIES[1].1, Time::Own, answer)?;
    let (mut after_switch, mut warm): (Times, Times) =
        ([[0; SAMPLES]; POINTS], [[0; SAMPLES]; POINTS]);
    for round in 0..WARM_UP + SAMPLES {
        let times = used(counter, own);
        record(&mut warm, round, times);
        match state {
            "dirty" => write(other),
            "read" => read(other),
            _ => {
                counter.call(Syscall::BenchmarkFlushCaches, CPtr::NULL);
            }
        }
        bench.peer.notification.signal();
        let times = used(counter, own);
        record(&mut after_switch, round, times);
    }
    for (operation, times) in [("after_switch", &after_switch), ("warm", &warm)] {
        for (point, samples) in times.iter().enumerate() {
            let accesses = (point + 1) * own.len() / STEP / PARTS;
            let parameters = [
                ("kib", kib.into()),
                ("state", state.into()),
                ("accesses", accesses.into()),
            ];
            bench.report(operation, &parameters, samples);
        }
    }
    Ok(())
}

/// New memory of so many pages.
fn memory(bench: &mut Bench, pages: usize) -> Result<&'static [AtomicUsize]> {
    let address = bench.map_new(pages)?;
    // SAFETY: the pages have just been mapped at this address, nothing else uses them, and they stay mapped as long as
    // this component exists.
    Ok(unsafe {
        slice::from_raw_parts(
            address as *const AtomicUsize,
            pages * PAGE / size_of::<usize>(),
        )
    })
}

/// Uses the working set; returns the counts up to each point.
#[inline(never)]
fn used(counter: Counter, own: &[AtomicUsize]) -> [usize; POINTS] {
    let part = own.len() / PARTS;
    let start = counter.now();
    core::array::from_fn(|point| {
        write(&own[point % PARTS * part..][..part]);
        counter.between(start, counter.now())
    })
}

/// Writes a word of each cache line.
#[inline(never)]
fn write(memory: &[AtomicUsize]) {
    for word in memory.iter().step_by(STEP) {
        word.store(word.load(Relaxed).wrapping_add(1), Relaxed);
    }
}

/// Reads a word of each cache line.
#[inline(never)]
fn read(memory: &[AtomicUsize]) {
    for word in memory.iter().step_by(STEP) {
        black_box(word.load(Relaxed));
    }
}

fn record(all: &mut Times, round: usize, times: [usize; POINTS]) {
    let Some(round) = round.checked_sub(WARM_UP) else {
        return;
    };
    for (samples, time) in all.iter_mut().zip(times) {
        samples[round] = time;
    }
}

/// Runs in the other address space once for each signal.
fn answer(peer: &Peer) {
    loop {
        peer.notification.wait();
    }
}

//! Counters of progress: threads count, the test reads.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{Test, ms};
use userlib::Result;

const COUNTERS: usize = 4;
static COUNT: [AtomicUsize; COUNTERS] = [const { AtomicUsize::new(0) }; COUNTERS];

/// The value of a counter.
pub fn count(counter: usize) -> usize {
    COUNT[counter].load(Relaxed)
}

/// Sets a counter.
pub fn set(counter: usize, count: usize) {
    COUNT[counter].store(count, Relaxed);
}

/// The number of steps of a counter between two ends of an emulator's turn: about a microsecond.
const STEPS: usize = 128;

/// Increments a counter.
///
/// An emulator that runs its cores in turn ends this core's turn now and then. Otherwise a counting core
/// would keep its turn for a large part of a timeslice, and a core in the kernel, which loses its turn at
/// each access to the timer, would take whole timeslices to exit: by then a thread that waited for it has no
/// budget left, and waits again. The end of a turn costs the emulator a thousand times as long as a step.
pub fn step(counter: usize) {
    let steps = COUNT[counter].fetch_add(1, Relaxed);
    if abi::config::SMP && steps.is_multiple_of(STEPS) {
        userlib::arch::relax();
    }
}

/// Counts for ever.
pub fn count_for_ever(counter: usize) -> ! {
    loop {
        step(counter);
    }
}

/// Whether a counter increases within some time; see [`Test::comes_true`].
pub fn moves(test: &mut Test, counter: usize) -> Result<bool> {
    let before = count(counter);
    test.comes_true(|| count(counter) > before)
}

/// Whether a counter does not change for some milliseconds.
pub fn stands(test: &mut Test, counter: usize) -> Result<bool> {
    let before = count(counter);
    test.sleep(ms(10))?;
    Ok(count(counter) == before)
}

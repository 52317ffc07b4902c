//! What goes on: threads count, the test looks.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{Test, ms};
use userlib::Result;

const COUNTERS: usize = 4;
static COUNT: [AtomicUsize; COUNTERS] = [const { AtomicUsize::new(0) }; COUNTERS];

/// How far a counter has come.
pub fn count(counter: usize) -> usize {
    COUNT[counter].load(Relaxed)
}

/// Lets a counter go on from here.
pub fn set(counter: usize, count: usize) {
    COUNT[counter].store(count, Relaxed);
}

/// Counts one more.
///
/// Where an emulator's cores take turns, one that counts gives its turn away each time. Else it keeps it for
/// a good part of a slice, and another one, whose kernel gives its turn away by each access to the timer,
/// takes whole slices to get out: by then whoever has waited for it has none left, and waits again.
pub fn step(counter: usize) {
    COUNT[counter].fetch_add(1, Relaxed);
    if abi::config::SMP {
        userlib::arch::relax();
    }
}

/// Work that never ends.
pub fn count_for_ever(counter: usize) -> ! {
    loop {
        step(counter);
    }
}

/// Whether a counter goes on, some time; see [`Test::comes_true`].
pub fn moves(test: &mut Test, counter: usize) -> Result<bool> {
    let before = count(counter);
    test.comes_true(|| count(counter) > before)
}

/// Whether a counter stands still, for some milliseconds.
pub fn stands(test: &mut Test, counter: usize) -> Result<bool> {
    let before = count(counter);
    test.sleep(ms(10))?;
    Ok(count(counter) == before)
}

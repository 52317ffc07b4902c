//! The MCS lock: cores stand in a queue, each looks at a word of its own, and whoever lets go tells the
//! next (Mellor-Crummey and Scott, *Algorithms for Scalable Synchronization on Shared-Memory
//! Multiprocessors*, ACM TOCS 9(1), 1991, algorithm 5).
//!
//! A release costs one cache miss, however many wait. The places in the queue are those of the cores,
//! so that the links are numbers: that of a core plus one, and 0 for none.

use super::Lock;
use super::atomic::{AtomicBool, AtomicUsize, Ordering, constant, each, spin_loop};

/// An MCS lock.
#[derive(Debug)]
pub struct Mcs<const CORES: usize> {
    /// Who came last, plus one; 0 when nobody has the lock.
    tail: AtomicUsize,
    places: [Place; CORES],
}

/// Where a core waits. A cache line, so that who waits is not disturbed by others.
#[derive(Debug)]
#[repr(align(64))]
struct Place {
    /// Who came next, plus one; 0 while nobody has.
    next: AtomicUsize,
    /// Not yet its turn.
    waits: AtomicBool,
}

impl Place {
    constant! {
        fn new() -> Self {
            Self { next: AtomicUsize::new(0), waits: AtomicBool::new(false) }
        }
    }
}

impl<const CORES: usize> Mcs<CORES> {
    constant! {
        /// A lock that nobody has.
        pub fn new() -> Self {
            Self { tail: AtomicUsize::new(0), places: each!(Place::new(); CORES) }
        }
    }
}

impl<const CORES: usize> Default for Mcs<CORES> {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: `tail` makes one queue of all cores that want the lock: each swap tells who was before. A core
// has the lock when nobody was, or when the one before has said so, which it does once and as the last
// thing under the lock.
unsafe impl<const CORES: usize> Lock for Mcs<CORES> {
    unsafe fn acquire_with(&self, core: usize, mut wait: impl FnMut()) {
        let place = &self.places[core];
        // Relaxed: the swap releases both.
        place.next.store(0, Ordering::Relaxed);
        place.waits.store(true, Ordering::Relaxed);
        // Acquire: where nobody has the lock, what was done under it before it was left. Release: who
        // comes next writes to our place, and must do so behind the two lines above.
        let before = self.tail.swap(core + 1, Ordering::AcqRel);
        if before != 0 {
            // Release: who is before us writes to `waits` when it sees this, behind the line above.
            self.places[before - 1]
                .next
                .store(core + 1, Ordering::Release);
            // Acquire: what was done under the lock.
            while place.waits.load(Ordering::Acquire) {
                wait();
            }
        }
    }

    fn is_waited_for(&self, core: usize) -> bool {
        // Relaxed: who waits is seen some time.
        self.tail.load(Ordering::Relaxed) != core + 1
    }

    unsafe fn release(&self, core: usize) {
        let place = &self.places[core];
        // Acquire, here and below: see the store to `next`.
        if place.next.load(Ordering::Acquire) == 0 {
            // Release: to whoever finds the lock free. Relaxed: somebody came, who has to be waited for.
            let left =
                self.tail
                    .compare_exchange(core + 1, 0, Ordering::Release, Ordering::Relaxed);
            if left.is_ok() {
                return;
            }
            // Between its swap and its store to `next`.
            while place.next.load(Ordering::Acquire) == 0 {
                spin_loop();
            }
        }
        let next = place.next.load(Ordering::Relaxed);
        // Release: to the next, all that was done under the lock.
        self.places[next - 1].waits.store(false, Ordering::Release);
    }
}

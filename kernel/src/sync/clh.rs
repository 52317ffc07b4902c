//! The CLH lock: cores stand in a queue, and each looks at the place of the one before (Craig, *Building
//! FIFO and Priority-Queuing Spin Locks from Atomic Swap*, University of Washington TR 93-02-02, 1993;
//! Magnussen, Landin and Hagersten, *Queue Locks on Cache Coherent Multiprocessors*, IPPS 1994).
//!
//! A release is one write to a place of one's own, without a word about who comes next: no
//! compare-and-swap, and no wait for somebody who is about to queue up. In return places change their
//! owners: a core leaves its place to whoever waits at it, and takes over that of the one before.

use super::Lock;
use super::atomic::{AtomicBool, AtomicUsize, Ordering, constant, each};

/// A CLH lock.
#[derive(Debug)]
pub struct Clh<const CORES: usize> {
    /// The place of who came last, see [`Clh::place`].
    tail: AtomicUsize,
    /// A place more than there are cores: the one that the next to come waits at.
    spare: Place,
    places: [Place; CORES],
    owners: [Owner; CORES],
}

/// Somebody has the lock or waits for it. A cache line, as one core looks at it and another writes.
#[derive(Debug)]
#[repr(align(64))]
struct Place {
    busy: AtomicBool,
}

/// What a core remembers. Nobody else looks at it, so that all accesses are relaxed.
#[derive(Debug)]
#[repr(align(64))]
struct Owner {
    /// Its place plus one; 0 for the one that it has in the beginning, which has its own number.
    place: AtomicUsize,
    /// The place at which it waited last.
    before: AtomicUsize,
}

impl Place {
    constant! {
        fn new() -> Self {
            Self { busy: AtomicBool::new(false) }
        }
    }
}

impl Owner {
    constant! {
        fn new() -> Self {
            Self { place: AtomicUsize::new(0), before: AtomicUsize::new(0) }
        }
    }

    /// The place of core number `core`.
    fn place(&self, core: usize) -> usize {
        self.place
            .load(Ordering::Relaxed)
            .checked_sub(1)
            .unwrap_or(core)
    }
}

impl<const CORES: usize> Clh<CORES> {
    constant! {
        /// A lock that nobody has.
        pub fn new() -> Self {
            Self {
                tail: AtomicUsize::new(CORES),
                spare: Place::new(),
                places: each!(Place::new(); CORES),
                owners: each!(Owner::new(); CORES),
            }
        }
    }

    /// A place by its number.
    fn place(&self, number: usize) -> &Place {
        self.places.get(number).unwrap_or(&self.spare)
    }
}

impl<const CORES: usize> Default for Clh<CORES> {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: `tail` makes one queue of all cores that want the lock: each swap tells the place of the one
// before. A core has the lock when that place is not busy, which it becomes as the last thing that its
// owner does under the lock. A place is owned by one core at a time: an owner leaves it at its release,
// and whoever waited there takes it at its own.
unsafe impl<const CORES: usize> Lock for Clh<CORES> {
    unsafe fn acquire_with(&self, core: usize, mut wait: impl FnMut()) {
        let owner = &self.owners[core];
        let own = owner.place(core);
        // Relaxed: the swap releases it.
        self.place(own).busy.store(true, Ordering::Relaxed);
        // Release: who comes next sees that our place is busy. Acquire: we see that the one before is.
        let before = self.tail.swap(own, Ordering::AcqRel);
        // Acquire: what was done under the lock.
        while self.place(before).busy.load(Ordering::Acquire) {
            wait();
        }
        owner.before.store(before, Ordering::Relaxed);
    }

    fn is_waited_for(&self, core: usize) -> bool {
        // Relaxed: who waits is seen some time.
        self.tail.load(Ordering::Relaxed) != self.owners[core].place(core)
    }

    unsafe fn release(&self, core: usize) {
        let owner = &self.owners[core];
        let own = owner.place(core);
        owner
            .place
            .store(owner.before.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        // Release: to whoever waits here, all that was done under the lock.
        self.place(own).busy.store(false, Ordering::Release);
    }
}

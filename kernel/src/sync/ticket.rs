//! The ticket lock: every core draws a number, and waits until it is called (Mellor-Crummey and Scott,
//! *Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors*, ACM TOCS 9(1), 1991,
//! algorithm 2).
//!
//! The smallest and, where few cores compete, the fastest; but all who wait look at the same word, so
//! that each release costs a cache miss for each of them.

use super::Lock;
use super::atomic::{AtomicUsize, Ordering, constant};

/// A ticket lock.
#[derive(Debug)]
pub struct Ticket<const CORES: usize> {
    /// The next number to be drawn.
    next: AtomicUsize,
    /// The number that has the lock.
    serving: AtomicUsize,
}

impl<const CORES: usize> Ticket<CORES> {
    constant! {
        /// A lock that nobody has.
        pub fn new() -> Self {
            Self { next: AtomicUsize::new(0), serving: AtomicUsize::new(0) }
        }
    }
}

impl<const CORES: usize> Default for Ticket<CORES> {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: numbers are drawn once, and are the same again only after as many draws as a word has values,
// while no more than `CORES` are out at a time. So at most one core has the number that is served; and
// what it wrote before it called the next number was released with it.
unsafe impl<const CORES: usize> Lock for Ticket<CORES> {
    unsafe fn acquire_with(&self, _: usize, mut wait: impl FnMut()) {
        // Relaxed: the number decides about nothing but the order. What is guarded is acquired below.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // Acquire: what follows sees what was written before this number was called.
        while self.serving.load(Ordering::Acquire) != number {
            wait();
        }
    }

    fn is_waited_for(&self, _: usize) -> bool {
        // Relaxed: who waits is seen some time. A number was drawn behind the one that is served.
        let number = self.serving.load(Ordering::Relaxed);
        self.next.load(Ordering::Relaxed) != number.wrapping_add(1)
    }

    unsafe fn release(&self, _: usize) {
        // Relaxed: nobody but the core that has the lock writes this word, and it has seen the last
        // write when it got the lock.
        let number = self.serving.load(Ordering::Relaxed);
        // Release: to whoever is called, all that was done under the lock.
        self.serving
            .store(number.wrapping_add(1), Ordering::Release);
    }
}

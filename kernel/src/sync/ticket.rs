//! The ticket lock: every core draws a number, and waits until this number is served (Mellor-Crummey and
//! Scott, *Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors*, ACM TOCS 9(1), 1991,
//! algorithm 2).
//!
//! It is *fair*: cores get it in the order of their requests, so that a core waits for each other core at most once.
//! A bound on the delay requires this: an unfair lock has none. It is the smallest lock and, where few cores compete,
//! the fastest; but all waiting cores spin on the same word, so that each release costs a cache miss for each of them.

use super::atomic::{AtomicUsize, Ordering, constant};

/// A ticket lock.
///
/// Numbers wrap around only after as many draws as a word has values, and each core has at most one of them. So
/// at most one core has the number that is served; its writes are released with the store of the next number.
#[derive(Debug)]
pub struct Ticket {
    /// The next number to be drawn.
    next: AtomicUsize,
    /// The number of the core that has the lock.
    serving: AtomicUsize,
}

impl Ticket {
    constant! {
        /// A free lock.
        pub fn new() -> Self {
            Self { next: AtomicUsize::new(0), serving: AtomicUsize::new(0) }
        }
    }

    /// Waits until this core has the lock; calls `wait` each time that it has found the lock taken. All writes before
    /// the last release are visible then.
    pub fn acquire(&self, mut wait: impl FnMut()) {
        // Relaxed: the number decides about the order only. The protected data is acquired below.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // Acquire: the writes made before this number was served.
        while self.serving.load(Ordering::Acquire) != number {
            wait();
        }
    }

    /// Whether another core waits for the lock, which this core holds.
    pub fn is_contended(&self) -> bool {
        // Relaxed: a waiting core is seen eventually. It has drawn a number after the one that is served.
        let number = self.serving.load(Ordering::Relaxed);
        self.next.load(Ordering::Relaxed) != number.wrapping_add(1)
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// This core holds the lock.
    pub unsafe fn release(&self) {
        // Relaxed: only the core that has the lock writes this word, and it has seen the last write when it
        // got the lock.
        let number = self.serving.load(Ordering::Relaxed);
        // Release: to the core that is served next, all writes made under the lock.
        self.serving
            .store(number.wrapping_add(1), Ordering::Release);
    }
}

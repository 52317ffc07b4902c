//! The MCS lock: cores form a queue, each spins on a word of its own, and a releasing core writes to the word
//! of its successor (Mellor-Crummey and Scott, *Algorithms for Scalable Synchronization on Shared-Memory
//! Multiprocessors*, ACM TOCS 9(1), 1991, algorithm 5).
//!
//! A release costs one cache miss, however many cores wait. Each core has one queue node, so that links are
//! numbers: that of a core plus one, and 0 for none.

use super::Lock;
use super::atomic::{AtomicBool, AtomicUsize, Ordering, constant, each, spin_loop};

/// An MCS lock.
#[derive(Debug)]
pub struct Mcs<const CORES: usize> {
    /// The last core in the queue, plus one; 0 while the lock is free.
    tail: AtomicUsize,
    nodes: [Node; CORES],
}

/// The queue node of a core. A cache line of its own, so that other cores do not disturb the one that spins
/// on it.
#[derive(Debug)]
#[repr(align(64))]
struct Node {
    /// The successor, plus one; 0 while there is none.
    next: AtomicUsize,
    /// Set until it is this core's turn.
    waits: AtomicBool,
}

impl Node {
    constant! {
        fn new() -> Self {
            Self { next: AtomicUsize::new(0), waits: AtomicBool::new(false) }
        }
    }
}

impl<const CORES: usize> Mcs<CORES> {
    constant! {
        /// A free lock.
        pub fn new() -> Self {
            Self { tail: AtomicUsize::new(0), nodes: each!(Node::new(); CORES) }
        }
    }
}

// SAFETY: `tail` makes one queue of all cores that want the lock: each swap returns the predecessor. A core
// has the lock when there was none, or when the predecessor has passed the lock on, which it does once and as
// the last thing under the lock.
unsafe impl<const CORES: usize> Lock for Mcs<CORES> {
    unsafe fn acquire_with(&self, core: usize, mut wait: impl FnMut()) {
        let node = &self.nodes[core];
        // Relaxed: the swap releases both.
        node.next.store(0, Ordering::Relaxed);
        node.waits.store(true, Ordering::Relaxed);
        // Acquire: if the lock was free, the writes made under it. Release: the successor writes to this
        // node, and must do so after the two lines above.
        let before = self.tail.swap(core + 1, Ordering::AcqRel);
        if before != 0 {
            // Release: the predecessor writes to `waits` when it sees this, after the line above.
            self.nodes[before - 1]
                .next
                .store(core + 1, Ordering::Release);
            // Acquire: the writes made under the lock.
            while node.waits.load(Ordering::Acquire) {
                wait();
            }
        }
    }

    fn is_contended(&self, core: usize) -> bool {
        // Relaxed: a waiting core is seen eventually.
        self.tail.load(Ordering::Relaxed) != core + 1
    }

    unsafe fn release(&self, core: usize) {
        let node = &self.nodes[core];
        // Acquire, here and below: see the store to `next`.
        if node.next.load(Ordering::Acquire) == 0 {
            // Release: to a core that finds the lock free. Relaxed: on failure there is a successor to wait
            // for.
            let left =
                self.tail
                    .compare_exchange(core + 1, 0, Ordering::Release, Ordering::Relaxed);
            if left.is_ok() {
                return;
            }
            // The successor is between its swap and its store to `next`.
            while node.next.load(Ordering::Acquire) == 0 {
                spin_loop();
            }
        }
        let next = node.next.load(Ordering::Relaxed);
        // Release: to the successor, all writes made under the lock.
        self.nodes[next - 1].waits.store(false, Ordering::Release);
    }
}

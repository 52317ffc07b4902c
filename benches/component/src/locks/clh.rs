//! The CLH lock: cores form a queue, and each spins on the node of its predecessor (Craig, *Building FIFO and
//! Priority-Queuing Spin Locks from Atomic Swap*, University of Washington TR 93-02-02, 1993; Magnussen,
//! Landin and Hagersten, *Queue Locks on Cache Coherent Multiprocessors*, IPPS 1994).
//!
//! A release is one write to the core's own node and does not depend on the successor: no compare-and-swap,
//! and no wait for a core that is about to enqueue. In return nodes change their owners: a core leaves its
//! node to its successor, and takes over that of its predecessor.

use super::Lock;
use super::atomic::{AtomicBool, AtomicUsize, Ordering, constant, each};

/// A CLH lock.
#[derive(Debug)]
pub struct Clh<const CORES: usize> {
    /// The node of the last core in the queue, see [`Clh::node`].
    tail: AtomicUsize,
    /// There is one node more than there are cores: at first, the one that the next core waits at.
    spare: Node,
    nodes: [Node; CORES],
    owners: [Owner; CORES],
}

/// A queue node: set while its core holds the lock or waits for it. A cache line of its own, because one core
/// reads it and another writes it.
#[derive(Debug)]
#[repr(align(64))]
struct Node {
    busy: AtomicBool,
}

/// The state of one core. Only that core accesses it, so that all accesses are relaxed.
#[derive(Debug)]
#[repr(align(64))]
struct Owner {
    /// Its node plus one; 0 for its initial node, the one with the core's number.
    node: AtomicUsize,
    /// The node at which it waited last.
    before: AtomicUsize,
}

impl Node {
    constant! {
        fn new() -> Self {
            Self { busy: AtomicBool::new(false) }
        }
    }
}

impl Owner {
    constant! {
        fn new() -> Self {
            Self { node: AtomicUsize::new(0), before: AtomicUsize::new(0) }
        }
    }

    /// The node of core number `core`.
    fn node(&self, core: usize) -> usize {
        self.node
            .load(Ordering::Relaxed)
            .checked_sub(1)
            .unwrap_or(core)
    }
}

impl<const CORES: usize> Clh<CORES> {
    constant! {
        /// A free lock.
        pub fn new() -> Self {
            Self {
                tail: AtomicUsize::new(CORES),
                spare: Node::new(),
                nodes: each!(Node::new(); CORES),
                owners: each!(Owner::new(); CORES),
            }
        }
    }

    /// A node by its number.
    fn node(&self, number: usize) -> &Node {
        self.nodes.get(number).unwrap_or(&self.spare)
    }
}

// SAFETY: `tail` makes one queue of all cores that want the lock: each swap returns the predecessor's node. A
// core has the lock when that node is not busy, and clearing it is the last thing that its owner does under
// the lock. A node is owned by one core at a time: its owner gives it up at its release, and the core that
// waited there takes it at its own release.
unsafe impl<const CORES: usize> Lock for Clh<CORES> {
    unsafe fn acquire_with(&self, core: usize, mut wait: impl FnMut()) {
        let owner = &self.owners[core];
        let own = owner.node(core);
        // Relaxed: the swap releases it.
        self.node(own).busy.store(true, Ordering::Relaxed);
        // Release: the successor sees that this core's node is busy. Acquire: this core sees its
        // predecessor's.
        let before = self.tail.swap(own, Ordering::AcqRel);
        // Acquire: the writes made under the lock.
        while self.node(before).busy.load(Ordering::Acquire) {
            wait();
        }
        owner.before.store(before, Ordering::Relaxed);
    }

    fn is_contended(&self, core: usize) -> bool {
        // Relaxed: a waiting core is seen eventually.
        self.tail.load(Ordering::Relaxed) != self.owners[core].node(core)
    }

    unsafe fn release(&self, core: usize) {
        let owner = &self.owners[core];
        let own = owner.node(core);
        owner
            .node
            .store(owner.before.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        // Release: to the core that waits here, all writes made under the lock.
        self.node(own).busy.store(false, Ordering::Release);
    }
}

//! Threads that wait for their next replenishment, ordered by its time.

use crate::arch::Arch;
use crate::collections::OrderedQueue;
use crate::object::Thread;
use crate::time::Ticks;
use crate::token::{Objects, Ptr};

/// The release queue of a core. Operations take as many steps as a moment has bits, at the most.
pub struct ReleaseQueue<A: Arch> {
    queue: OrderedQueue<Thread<A>, 64>,
}

impl<A: Arch> ReleaseQueue<A> {
    pub const fn new() -> Self {
        Self {
            queue: OrderedQueue::EMPTY,
        }
    }

    pub fn insert(&mut self, objects: &mut Objects, thread: Ptr<Thread<A>>, time: Ticks) {
        self.queue.insert(objects, thread, time.0);
    }

    pub fn remove(&mut self, objects: &mut Objects, thread: Ptr<Thread<A>>) {
        self.queue.remove(objects, thread);
    }

    /// The queue, by the time of release.
    #[cfg(any(test, feature = "invariants"))]
    pub const fn queue(&self) -> OrderedQueue<Thread<A>, 64> {
        self.queue
    }

    /// The thread that is released first, and when.
    pub fn first(&self, objects: &Objects) -> Option<(Ptr<Thread<A>>, Ticks)> {
        use crate::collections::Linked;
        let thread = self.queue.first(objects)?;
        Some((thread, Ticks(objects[thread].links().key())))
    }
}

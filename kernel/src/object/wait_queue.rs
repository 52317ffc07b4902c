//! The wait queues of endpoints and notifications.

use core::ops::Deref;

use super::{Membership, NO_CORE, Thread};
use crate::arch::Arch;
use crate::collections::{Linked, OrderedQueue};
use crate::token::{Objects, Ptr};

/// A wait queue: threads in order of priority, and in FIFO order at the same priority. Its methods keep
/// [`Thread::membership`] up to date.
pub struct WaitQueue<A: Arch>(OrderedQueue<Thread<A>, 8>);

copyable!([A: Arch] WaitQueue<A>);

impl<A: Arch> Deref for WaitQueue<A> {
    type Target = OrderedQueue<Thread<A>, 8>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<A: Arch> WaitQueue<A> {
    /// The empty queue.
    pub const EMPTY: Self = Self(OrderedQueue::EMPTY);

    /// The queue with this root.
    pub const fn from_root(root: Option<Ptr<Thread<A>>>) -> Self {
        Self(OrderedQueue::from_root(root))
    }

    /// Makes a queue of a single thread; its root is the thread.
    #[inline(always)]
    pub fn insert_only(objects: &mut Objects, thread: Ptr<Thread<A>>) {
        objects[thread].membership = Membership::Waiting;
        let key = Self::key(objects[thread].priority);
        let mut queue = Self::EMPTY;
        queue.0.insert_only(objects, thread, key);
    }

    /// Takes the single thread out of its queue, which is empty then.
    #[inline(always)]
    pub fn remove_only(objects: &mut Objects, thread: Ptr<Thread<A>>) {
        objects[thread].links_mut().unlink_only();
        objects[thread].membership = Membership::None;
    }

    /// Adds a thread, according to its priority.
    pub fn insert(&mut self, objects: &mut Objects, thread: Ptr<Thread<A>>) {
        objects[thread].membership = Membership::Waiting;
        let key = Self::key(objects[thread].priority);
        self.0.insert(objects, thread, key);
    }

    /// Takes a thread out.
    pub fn remove(&mut self, objects: &mut Objects, thread: Ptr<Thread<A>>) {
        self.0.remove(objects, thread);
        objects[thread].membership = Membership::None;
    }

    /// The sort key of a priority.
    pub const fn key(priority: u8) -> u64 {
        (u8::MAX - priority) as u64
    }

    /// The owning core of the endpoint or notification when a thread of core `new` joins the queue; `before` is the
    /// owning core until then.
    pub const fn core_with(&self, before: u8, new: u8) -> u8 {
        if self.0.is_empty() || before == new {
            new
        } else {
            NO_CORE
        }
    }
}

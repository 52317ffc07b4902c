//! Endpoints: where senders and receivers meet.

use super::Thread;
use crate::arch::Arch;
use crate::collections::OrderedQueue;
use crate::token::{Objects, Ptr};

/// Threads that wait for each other, the most urgent first, first come first served among equals.
pub struct WaitQueue<A: Arch>(OrderedQueue<Thread<A>, 8>);

impl<A: Arch> Clone for WaitQueue<A> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<A: Arch> Copy for WaitQueue<A> {}

impl<A: Arch> WaitQueue<A> {
    /// Nobody waits.
    pub const EMPTY: Self = Self(OrderedQueue::EMPTY);

    /// The queue with this root.
    pub const fn from_root(root: Option<Ptr<Thread<A>>>) -> Self {
        Self(OrderedQueue::from_root(root))
    }

    /// The root of the queue.
    pub const fn root(&self) -> Option<Ptr<Thread<A>>> {
        self.0.root()
    }

    /// Whether nobody waits.
    pub const fn is_empty(&self) -> bool {
        self.root().is_none()
    }

    /// The thread that is served next.
    pub fn first(&self, objects: &Objects) -> Option<Ptr<Thread<A>>> {
        self.0.first(objects)
    }

    /// Adds a thread at its priority.
    pub fn insert(&mut self, objects: &mut Objects, thread: Ptr<Thread<A>>) {
        let key = Self::key(objects[thread].priority);
        self.0.insert(objects, thread, key);
    }

    /// The place in the queue that a priority asks for.
    pub const fn key(priority: u8) -> u64 {
        (u8::MAX - priority) as u64
    }

    /// The threads, as a queue ordered by [`WaitQueue::key`].
    pub const fn queue(&self) -> OrderedQueue<Thread<A>, 8> {
        self.0
    }

    /// Takes out a thread of this queue.
    pub fn remove(&mut self, objects: &mut Objects, thread: Ptr<Thread<A>>) {
        self.0.remove(objects, thread);
    }
}

/// Who waits at an endpoint.
pub enum EndpointState<A: Arch> {
    /// Nobody.
    Idle,
    /// Senders.
    Sending(WaitQueue<A>),
    /// Receivers.
    Receiving(WaitQueue<A>),
}

/// An endpoint: 16 bytes, of which the first word holds the state and the root of the queue, which is
/// aligned and leaves two bits.
#[repr(C)]
pub struct Endpoint<A: Arch> {
    queue: usize,
    reserved: [usize; (16 / size_of::<usize>()) - 1],
    kind: core::marker::PhantomData<A>,
}

const SENDING: usize = 1;
const RECEIVING: usize = 2;
/// Senders, and somebody goes through them.
const SWEPT: usize = 3;

impl<A: Arch> Endpoint<A> {
    /// An endpoint as retype makes it.
    pub const fn new() -> Self {
        Self {
            queue: 0,
            reserved: [0; (16 / size_of::<usize>()) - 1],
            kind: core::marker::PhantomData,
        }
    }

    /// Who waits here.
    pub fn state(&self) -> EndpointState<A> {
        // SAFETY: only `set_state` wrote this: a thread in the queue, which leaves it before it dies.
        let root = unsafe { Ptr::from_address(self.queue & !3) };
        match self.queue & 3 {
            SENDING | SWEPT => EndpointState::Sending(WaitQueue::from_root(root)),
            RECEIVING => EndpointState::Receiving(WaitQueue::from_root(root)),
            _ => EndpointState::Idle,
        }
    }

    /// Changes who waits here; an empty queue makes the endpoint idle.
    pub fn set_state(&mut self, state: EndpointState<A>) {
        let (queue, mark) = match state {
            EndpointState::Idle => (WaitQueue::EMPTY, 0),
            EndpointState::Sending(queue) if self.is_swept() => (queue, SWEPT),
            EndpointState::Sending(queue) => (queue, SENDING),
            EndpointState::Receiving(queue) => (queue, RECEIVING),
        };
        self.queue = queue.root().map_or(0, |root| root.address() | mark);
    }
}

impl<A: Arch> Endpoint<A> {
    /// Whether somebody goes through the senders that wait here.
    pub const fn is_swept(&self) -> bool {
        self.queue & 3 == SWEPT
    }

    /// Marks that somebody begins, or has ended, to go through the senders that wait here.
    pub fn set_swept(&mut self, swept: bool) {
        if let EndpointState::Sending(_) = self.state() {
            self.queue = self.queue & !3 | if swept { SWEPT } else { SENDING };
        }
    }
}

impl<A: Arch> Default for Endpoint<A> {
    fn default() -> Self {
        Self::new()
    }
}

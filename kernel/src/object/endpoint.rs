//! Endpoints: where senders and receivers meet.

use core::ptr::NonNull;

use super::Thread;
use super::owned::{CORE_MASK, core_bits, core_in};
use crate::arch::Arch;
use crate::collections::OrderedQueue;
use crate::time::Ticks;
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

    /// The thread, if there is exactly one.
    #[inline(always)]
    pub fn only(&self, objects: &Objects) -> Option<Ptr<Thread<A>>> {
        self.0.only(objects)
    }

    /// Makes a thread the only one of a queue; returns that queue.
    #[inline(always)]
    pub fn of_one(objects: &mut Objects, thread: Ptr<Thread<A>>) -> Self {
        let mut queue = Self::EMPTY;
        let key = Self::key(objects[thread].priority);
        queue.0.insert_only(objects, thread, key);
        queue
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

/// What an endpoint asks of those who send; see `CNode_EndpointSetThreshold`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The time that a sender must have: the threshold, and what it takes to enter and leave the
    /// kernel.
    pub needed: Ticks,
    /// See [`abi::endpoint_flags`].
    pub flags: usize,
}

impl Guard {
    /// Times fit into an eighth of a word's range ([`Clock::max_period`](crate::time::Clock)), which
    /// leaves three bits.
    const FLAGS_SHIFT: u32 = 61;

    const fn encode(self) -> u64 {
        debug_assert!(self.needed.0 >> Self::FLAGS_SHIFT == 0);
        self.needed.0 | (self.flags as u64) << Self::FLAGS_SHIFT
    }

    const fn decode(word: u64) -> Self {
        Self {
            needed: Ticks(word & !(u64::MAX << Self::FLAGS_SHIFT)),
            flags: (word >> Self::FLAGS_SHIFT) as usize,
        }
    }

    /// Whether it has a flag.
    pub const fn has(self, flag: usize) -> bool {
        self.flags & flag != 0
    }
}

/// An endpoint: 16 bytes. The first word holds who waits: the root of the queue, which is aligned and
/// leaves bits for the state, for whether there is a guard, and for the core. So one look at this word
/// tells everything about an endpoint without guard.
#[repr(C)]
pub struct Endpoint<A: Arch> {
    queue: usize,
    guard: u64,
    kind: core::marker::PhantomData<A>,
}

const SENDING: usize = 1;
const RECEIVING: usize = 2;
/// Senders, and somebody goes through them.
const SWEPT: usize = 3;
const WAITING: usize = SENDING | RECEIVING;
const GUARDED: usize = 4;
/// All that is not the root.
const MARKS: usize = WAITING | GUARDED | CORE_MASK;

/// What fast paths in assembly know of endpoints.
impl<A: Arch> Endpoint<A> {
    /// Offset of the word that tells who waits.
    pub const QUEUE: usize = core::mem::offset_of!(Self, queue);
    /// Bits of that word that tell the state, and whether there is a guard.
    pub const STATE_MASK: usize = GUARDED | WAITING | CORE_MASK;
    /// Receivers wait, and there is no guard; the rest of the word is the root of their queue.
    pub const RECEIVING: usize = RECEIVING;
    /// Bits of that word that are not the root.
    pub const MARKS: usize = MARKS;
}

impl<A: Arch> Endpoint<A> {
    /// An endpoint as retype makes it.
    pub const fn new() -> Self {
        const { assert!(size_of::<Self>() == 1 << abi::sizes::ENDPOINT_BITS) };
        Self {
            queue: 0,
            guard: 0,
            kind: core::marker::PhantomData,
        }
    }

    /// The root of the queue of receivers, if some wait here and there is no guard.
    #[inline(always)]
    pub fn unguarded_receivers(&self) -> Option<Ptr<Thread<A>>> {
        if self.queue & (GUARDED | WAITING) != RECEIVING {
            return None;
        }
        let root = core::ptr::without_provenance_mut((self.queue - RECEIVING) & !CORE_MASK);
        // SAFETY: as in `state`; where the queue is empty, there is no mark.
        Some(unsafe { Ptr::new(NonNull::new_unchecked(root)) })
    }

    /// Whether nobody sends, and there is no guard: then a receiver waits.
    #[inline(always)]
    pub const fn is_unguarded_without_senders(&self) -> bool {
        self.queue & (GUARDED | SENDING) == 0
    }

    /// Whether nobody waits here, and there is no guard.
    #[inline(always)]
    pub const fn is_unguarded_and_idle(&self) -> bool {
        self.queue & !CORE_MASK == 0
    }

    /// Whether there is a guard. A kernel without thresholds knows that there is none.
    #[inline(always)]
    pub const fn is_guarded(&self) -> bool {
        cfg!(feature = "thresholds") && self.queue & GUARDED != 0
    }

    /// Makes an endpoint at which nobody waits that of one receiver, whose links say that it is alone; or
    /// takes away the only one who waited. There is no guard.
    #[inline(always)]
    pub fn set_only_receiver(&mut self, thread: Option<Ptr<Thread<A>>>) {
        let root = thread.map_or(0, |thread| thread.address() | RECEIVING);
        self.queue = root | self.queue & CORE_MASK;
    }

    /// Who waits here.
    pub fn state(&self) -> EndpointState<A> {
        // SAFETY: only `set_state` wrote this: a thread in the queue, which leaves it before it
        // dies.
        let root = unsafe { Ptr::from_address(self.queue & !MARKS) };
        match self.queue & WAITING {
            SENDING | SWEPT => EndpointState::Sending(WaitQueue::from_root(root)),
            RECEIVING => EndpointState::Receiving(WaitQueue::from_root(root)),
            _ => EndpointState::Idle,
        }
    }

    /// Changes who waits here; an empty queue makes the endpoint idle. The guard, if there is one, is
    /// put aside meanwhile.
    pub fn set_state(&mut self, state: EndpointState<A>) {
        debug_assert!(self.guard().is_none());
        let (queue, mark) = match state {
            EndpointState::Idle => (WaitQueue::EMPTY, 0),
            EndpointState::Sending(queue) if self.is_swept() => (queue, SWEPT),
            EndpointState::Sending(queue) => (queue, SENDING),
            EndpointState::Receiving(queue) => (queue, RECEIVING),
        };
        let root = queue.root().map_or(0, |root| root.address() | mark);
        self.queue = root | self.queue & CORE_MASK;
    }

    /// The guard, if there is one.
    pub const fn guard(&self) -> Option<Guard> {
        if self.is_guarded() {
            Some(Guard::decode(self.guard))
        } else {
            None
        }
    }

    /// Sets or removes the guard.
    pub fn set_guard(&mut self, guard: Option<Guard>) {
        self.queue &= !GUARDED;
        self.guard = 0;
        if let Some(guard) = guard {
            self.guard = guard.encode();
            self.queue |= GUARDED;
        }
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

impl<A: Arch> Endpoint<A> {
    /// The core that it belongs to, if it belongs to one.
    #[inline(always)]
    pub const fn core(&self) -> u8 {
        core_in(self.queue)
    }

    /// It belongs to a core from now on, or to none.
    #[inline(always)]
    pub const fn set_core(&mut self, core: u8) {
        self.queue = self.queue & !CORE_MASK | core_bits(core);
    }
}

impl<A: Arch> Default for Endpoint<A> {
    fn default() -> Self {
        Self::new()
    }
}

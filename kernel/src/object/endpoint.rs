//! Endpoints.

use core::ptr::NonNull;

use abi::endpoint_flags;
use bitflags::bitflags;

use super::owned::{CORE_MASK, core_bits, core_in};
use super::{Thread, WaitQueue};
use crate::arch::Arch;
use crate::time::Ticks;
use crate::token::Ptr;

/// The threads that wait at an endpoint.
pub enum EndpointState<A: Arch> {
    /// None.
    Idle,
    /// Senders.
    Sending(WaitQueue<A>),
    /// Receivers.
    Receiving(WaitQueue<A>),
}

bitflags! {
    /// The flags of a threshold ([`abi::endpoint_flags`]) that have an effect. `DONATION_REQUIRED` has none: every threshold
    /// requires that senders donate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ThresholdFlags: usize {
        /// A server may use no more of a donated budget than the threshold.
        const LIMIT = endpoint_flags::LIMIT;
        /// Receivers learn the donated budget.
        const TELL_BUDGET = endpoint_flags::TELL_BUDGET;
    }
}

/// The threshold of an endpoint; see `CNode_EndpointSetThreshold`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointThreshold {
    /// The budget that a sender must have, beside the smallest budget.
    pub time: Ticks,
    /// What else it does.
    pub flags: ThresholdFlags,
}

impl EndpointThreshold {
    /// Budgets are less than an eighth of the range of 64 bits
    /// ([`Clock::max_period`](crate::time::Clock)), which leaves three bits for flags. With a flag, the word is larger
    /// than all budgets, so that fast paths in assembly need not look for flags.
    const FLAGS_SHIFT: u32 = 61;

    const fn encode(self) -> u64 {
        debug_assert!(self.time.0 >> Self::FLAGS_SHIFT == 0);
        self.time.0 | (self.flags.bits() as u64) << Self::FLAGS_SHIFT
    }

    const fn decode(word: u64) -> Self {
        Self {
            time: Ticks(word & !(u64::MAX << Self::FLAGS_SHIFT)),
            flags: ThresholdFlags::from_bits_retain((word >> Self::FLAGS_SHIFT) as usize),
        }
    }
}

/// An endpoint: 16 bytes. The first word has the root of the wait queue, aligned so that bits are left for
/// the state, for whether there is a threshold, and for the owning core. So a single load of this word is
/// enough for endpoints without a threshold.
#[repr(C)]
pub struct Endpoint<A: Arch> {
    queue: usize,
    threshold: u64,
    kind: core::marker::PhantomData<A>,
}

const SENDING: usize = 1;
const RECEIVING: usize = 2;
/// Senders, and a badge cancellation is in progress.
const CANCELLING: usize = 3;
/// The bits of these states. In an idle endpoint both are zero.
const WAITING: usize = SENDING | RECEIVING;
const HAS_THRESHOLD: usize = 4;
/// Exactly one receiver waits. The mark may be missing although there is only one.
const ONLY: usize = 8;
/// The bits that are not part of the root.
const MARKS: usize = WAITING | HAS_THRESHOLD | ONLY | CORE_MASK;

/// The layout of endpoints, for fast paths in assembly.
impl<A: Arch> Endpoint<A> {
    /// Offset of the word with the wait queue.
    pub const QUEUE: usize = core::mem::offset_of!(Self, queue);
    /// The bits of that word that are not the root.
    pub const STATE_MASK: usize = MARKS;
    /// One receiver waits, and there is no threshold; the other bits of the word are the receiver.
    pub const RECEIVING: usize = RECEIVING | ONLY;
    /// The bit of that word that indicates whether there is a threshold. Never set in kernels without the feature
    /// `thresholds`.
    pub const HAS_THRESHOLD: usize = HAS_THRESHOLD;
    /// Offset of the threshold: 64 bits, which exceed all budgets if it has flags.
    pub const THRESHOLD: usize = core::mem::offset_of!(Self, threshold);
}

impl<A: Arch> Endpoint<A> {
    /// An endpoint as retype creates it.
    pub const fn new() -> Self {
        const { assert!(size_of::<Self>() == 1 << abi::sizes::ENDPOINT_BITS) };
        Self {
            queue: 0,
            threshold: 0,
            kind: core::marker::PhantomData,
        }
    }

    /// The root of the queue of receivers, if receivers wait here and there is no threshold.
    #[inline(always)]
    pub fn receivers_without_threshold(&self) -> Option<Ptr<Thread<A>>> {
        if self.queue & (HAS_THRESHOLD | WAITING) != RECEIVING {
            return None;
        }
        let root = core::ptr::with_exposed_provenance_mut(self.queue & !MARKS);
        // SAFETY: as in `queue`; the root is not null, because an empty queue has the state idle.
        Some(unsafe { Ptr::new(NonNull::new_unchecked(root)) })
    }

    /// Whether no senders wait here, and there is no threshold.
    #[inline(always)]
    pub const fn has_no_senders_and_no_threshold(&self) -> bool {
        self.queue & (HAS_THRESHOLD | SENDING) == 0
    }

    /// Whether no threads wait here, and there is no threshold.
    #[inline(always)]
    pub const fn is_idle_without_threshold(&self) -> bool {
        self.queue & !CORE_MASK == 0
    }

    /// Whether no senders wait here.
    #[inline(always)]
    pub const fn has_no_senders(&self) -> bool {
        self.queue & SENDING == 0
    }

    /// Whether there is a threshold. Constant in kernels without the feature `thresholds`.
    #[inline(always)]
    pub const fn has_threshold(&self) -> bool {
        cfg!(feature = "thresholds") && self.queue & HAS_THRESHOLD != 0
    }

    /// Replaces the empty wait queue by a single receiver, or the queue with a single receiver by the empty
    /// one. The caller initialises the links of the thread.
    #[inline(always)]
    pub fn set_only_receiver(&mut self, thread: Option<Ptr<Thread<A>>>) {
        self.set_root(thread.map_or(0, |thread| thread.address() | RECEIVING | ONLY));
    }

    /// Replaces the empty wait queue by a single sender. The caller initialises the links of the thread.
    pub fn set_only_sender(&mut self, thread: Ptr<Thread<A>>) {
        self.set_root(thread.address() | SENDING);
    }

    /// Sets the root and the marks beside it.
    #[inline(always)]
    const fn set_root(&mut self, root: usize) {
        self.queue = root | self.queue & (HAS_THRESHOLD | CORE_MASK);
    }

    /// The threads that wait here, senders or receivers.
    #[inline(always)]
    pub fn queue(&self) -> WaitQueue<A> {
        // SAFETY: the root is a thread in the queue, which leaves the queue before it is deleted; only
        // `set_root` writes it.
        WaitQueue::from_root(unsafe { Ptr::from_address(self.queue & !MARKS) })
    }

    /// Sets the queue after a thread has left it or joined others. If it is empty, the endpoint is idle.
    pub fn set_queue(&mut self, queue: WaitQueue<A>) {
        let mark = self.queue & WAITING;
        self.set_root(queue.root().map_or(0, |root| root.address() | mark));
    }

    /// The threads that wait here.
    pub fn state(&self) -> EndpointState<A> {
        match self.queue & WAITING {
            SENDING | CANCELLING => EndpointState::Sending(self.queue()),
            RECEIVING => EndpointState::Receiving(self.queue()),
            _ => EndpointState::Idle,
        }
    }

    /// The threshold, if there is one.
    pub const fn threshold(&self) -> Option<EndpointThreshold> {
        if self.has_threshold() {
            Some(EndpointThreshold::decode(self.threshold))
        } else {
            None
        }
    }

    /// Whether the mark for a single receiver is set.
    #[cfg(any(test, feature = "invariants"))]
    pub const fn has_only_receiver(&self) -> bool {
        self.queue & ONLY != 0
    }

    /// Sets or removes the threshold.
    pub fn set_threshold(&mut self, threshold: Option<EndpointThreshold>) {
        self.queue &= !HAS_THRESHOLD;
        self.threshold = 0;
        if let Some(threshold) = threshold {
            self.threshold = threshold.encode();
            self.queue |= HAS_THRESHOLD;
        }
    }

    /// Whether a badge cancellation of the senders that wait here is in progress.
    pub const fn is_cancelling(&self) -> bool {
        self.queue & WAITING == CANCELLING
    }

    /// Sets whether a badge cancellation of the senders that wait here is in progress.
    pub const fn set_cancelling(&mut self, cancelling: bool) {
        if self.queue & SENDING != 0 {
            self.queue = self.queue & !WAITING | if cancelling { CANCELLING } else { SENDING };
        }
    }

    /// The owning core, or [`NO_CORE`](super::NO_CORE).
    #[inline(always)]
    pub const fn core(&self) -> u8 {
        core_in(self.queue)
    }

    /// Sets the owning core.
    #[inline(always)]
    pub const fn set_core(&mut self, core: u8) {
        self.queue = self.queue & !CORE_MASK | core_bits(core);
    }
}

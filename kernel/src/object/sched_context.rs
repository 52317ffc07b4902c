//! Scheduling contexts: rights to processor time.

use core::num::NonZeroU64;

use abi::sizes::{REFILL_BYTES, SCHED_CONTEXT_HEADER_BYTES};

use super::{Notification, Reply, Thread};
use crate::arch::Arch;
use crate::budget::{Entry, Refill, RefillRing, Refills, Slice};
use crate::time::Ticks;
use crate::token::Ptr;

/// A scheduling context. Its replenishments follow it in memory, up to the size of the object.
#[repr(C)]
pub struct SchedContext<A: Arch> {
    /// Time between uses of the same replenishment; zero for round robin.
    pub period: Ticks,
    /// What may be used in a period.
    pub budget: Ticks,
    /// What was charged since somebody last asked.
    pub consumed: Ticks,
    /// The reading of the odometer up to which it may be used, if it was lent with a limit.
    pub limit: Option<NonZeroU64>,
    /// Which replenishments are in use.
    ring: RefillRing,
    flags: u8,
    /// The core whose time it is.
    pub core: u8,
    /// The thread that runs on it.
    pub thread: Option<Ptr<Thread<A>>>,
    /// The thread that it was bound to, by somebody who may: whoever else runs on it has borrowed it.
    /// The thread knows it as its own context.
    pub owner: Option<Ptr<Thread<A>>>,
    /// Top of the stack of calls along which it was donated.
    pub reply: Option<Ptr<Reply<A>>>,
    /// The notification that lends it to passive threads.
    pub notification: Option<Ptr<Notification<A>>>,
    /// The thread that waits in `YieldTo` for this context's use.
    pub yielded_from: Option<Ptr<Thread<A>>>,
    /// Tells timeout handlers whose budget ran out.
    pub badge: usize,
}

/// What a scheduling context is, or what is to be known about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ContextFlag {
    /// Its time counts from wake-ups ([`abi::sched_context_flags::SPORADIC`]).
    Sporadic = 1 << 0,
    /// It is used while its thread waits at an endpoint ([`abi::sched_context_flags::IDLING`]).
    Idling = 1 << 2,
    /// Whoever runs on it is looked at more closely at each kernel entry. Set where there may be a reason;
    /// who looks and finds none takes it back.
    Watched = 1 << 1,
}

/// The criticality is in the upper bits of the flags: 32-bit machines have no byte left.
const CRITICALITY_SHIFT: u32 = 5;
const CRITICALITY: u8 = (abi::MAX_CRITICALITY) << CRITICALITY_SHIFT;

/// Bytes before the first replenishment. The ABI counts 56 on 32-bit machines, where every size of
/// object then leaves half a replenishment unused; so there is room for 64.
pub(super) const HEADER_BYTES: usize = SCHED_CONTEXT_HEADER_BYTES.next_multiple_of(REFILL_BYTES);

impl<A: Arch> SchedContext<A> {
    /// A scheduling context as retype makes it.
    pub const fn new() -> Self {
        const { assert!(size_of::<Self>() <= HEADER_BYTES) };
        Self {
            period: Ticks::ZERO,
            budget: Ticks::ZERO,
            consumed: Ticks::ZERO,
            limit: None,
            ring: RefillRing::new(0),
            flags: 0,
            core: 0,
            thread: None,
            owner: None,
            reply: None,
            notification: None,
            yielded_from: None,
            badge: 0,
        }
    }

    /// Whether it has a budget at all.
    pub const fn is_configured(&self) -> bool {
        self.budget.0 > 0
    }

    /// Whether it is a time slice without replenishments.
    pub const fn is_round_robin(&self) -> bool {
        self.period.0 == 0
    }

    /// Whether it has a flag.
    pub const fn has(&self, flag: ContextFlag) -> bool {
        self.flags & flag as u8 != 0
    }

    /// Whether there is anything special about it.
    pub const fn is_special(&self) -> bool {
        self.flags != 0
    }

    /// Whether something may have happened to it while its thread waited.
    pub const fn is_used_waiting(&self) -> bool {
        self.flags & !(ContextFlag::Sporadic as u8) != 0
    }

    /// Whether entries of whoever runs on it may have to be looked at.
    #[inline(always)]
    pub const fn may_be_watched(&self) -> bool {
        self.flags & (ContextFlag::Watched as u8 | CRITICALITY) != 0
    }

    /// At which criticality whoever runs on it runs.
    #[inline(always)]
    pub const fn criticality(&self) -> u8 {
        self.flags >> CRITICALITY_SHIFT
    }

    /// Changes that; nobody who runs on it is in a ready or release queue.
    pub const fn set_criticality(&mut self, criticality: u8) {
        self.flags = self.flags & !CRITICALITY | criticality << CRITICALITY_SHIFT;
    }

    /// Sets or removes a flag.
    pub const fn set(&mut self, flag: ContextFlag, on: bool) {
        self.flags &= !(flag as u8);
        if on {
            self.flags |= flag as u8;
        }
    }

    /// Forgets its parameters, as if it had never been configured.
    pub fn unconfigure(&mut self) {
        (self.period, self.budget) = (Ticks::ZERO, Ticks::ZERO);
        self.ring = RefillRing::new(0);
        self.limit = None;
    }

    /// Its replenishments. `capacity`: how many it may use from now on; `budget`: what they add up to.
    fn refills_with(&mut self, capacity: usize, budget: Ticks) -> Refills<'_> {
        let start = core::ptr::from_mut(self)
            .cast::<u8>()
            .wrapping_add(HEADER_BYTES);
        // SAFETY: the object's memory goes on behind the header for as many entries as its size allows;
        // `SchedControl_ConfigureFlags` checks the capacity against the size before it comes here.
        // Zeroed by retype, any content is a valid entry. The header borrow covers the entries too.
        let entries = unsafe { core::slice::from_raw_parts_mut(start.cast(), capacity) };
        Refills::new(&mut self.ring, entries, budget)
    }

    fn entries(&self) -> &[Entry] {
        let start = core::ptr::from_ref(self)
            .cast::<u8>()
            .wrapping_add(HEADER_BYTES);
        // SAFETY: as in `refills_with`, for the ring's present capacity.
        unsafe { core::slice::from_raw_parts(start.cast(), self.ring.capacity()) }
    }

    /// The replenishments of a configured context.
    pub fn refills(&mut self) -> Refills<'_> {
        self.refills_with(self.ring.capacity(), self.budget)
    }

    /// The current replenishment of a configured context.
    #[inline(always)]
    pub fn head(&self) -> Refill {
        let (head, tail) = self.ring.ends();
        self.entry(head).head(self.entry(tail), self.budget)
    }

    /// An entry in use; of a context that has none, the first.
    #[inline(always)]
    fn entry(&self, index: usize) -> Entry {
        debug_assert!(index == 0 || index < self.ring.capacity());
        let start = core::ptr::from_ref(self).cast::<u8>();
        // SAFETY: as in `refills_with`; there is room for at least two entries.
        unsafe { start.add(HEADER_BYTES).cast::<Entry>().add(index).read() }
    }

    /// Round robin: its slice.
    #[inline(always)]
    pub fn slice(&mut self) -> Slice<'_> {
        let start = core::ptr::from_mut(self).cast::<u8>();
        // SAFETY: as in `refills_with`; there is room for at least two entries, which are those of a
        // slice.
        let entries = unsafe { &mut *start.add(HEADER_BYTES).cast::<[Entry; 2]>() };
        Slice {
            entries,
            budget: self.budget,
        }
    }

    /// How many replenishments it may use.
    pub const fn refill_capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// All time that was ever charged to it, counted from some origin. Wraps.
    pub fn odometer(&self) -> u64 {
        self.ring.odometer(self.entries(), self.budget)
    }

    /// All replenishments, in order.
    pub fn replenishments(&self) -> impl Iterator<Item = Refill> + '_ {
        self.ring.iter(self.entries(), self.budget)
    }

    /// Whether it may be used now, and for at least `minimum` beyond `usage`.
    #[inline(always)]
    pub fn is_available(&self, now: Ticks, usage: Ticks, minimum: Ticks) -> bool {
        let head = self.head();
        head.time <= now && head.amount.saturating_sub(usage) >= minimum
    }

    /// Gives it a budget anew, or round robin where `period` is zero.
    pub fn start(&mut self, capacity: usize, now: Ticks, budget: Ticks, period: Ticks) {
        let before = core::mem::replace(&mut self.budget, budget);
        self.period = period;
        let reach = capacity.max(self.ring.capacity()).max(2);
        let mut refills = self.refills_with(reach, before);
        if period == Ticks::ZERO {
            refills.start_round_robin(now, budget);
        } else {
            refills.start(capacity, now, budget);
        }
    }

    /// Changes the budget of a context in use; see [`Refills::update`].
    pub fn update(&mut self, capacity: usize, now: Ticks, budget: Ticks, period: Ticks) {
        let before = core::mem::replace(&mut self.budget, budget);
        self.period = period;
        let reach = capacity.max(self.ring.capacity());
        self.refills_with(reach, before)
            .update(capacity, now, budget, period);
    }

    /// Charges time that was used.
    #[inline(always)]
    pub fn charge(&mut self, usage: Ticks, minimum: Ticks) {
        // What was consumed is part of the time since boot, which no sum of this kind exceeds.
        self.consumed += usage;
        if self.is_round_robin() {
            self.slice().charge(usage);
        } else {
            self.charge_refills(usage, minimum);
        }
    }

    #[inline(never)]
    fn charge_refills(&mut self, usage: Ticks, minimum: Ticks) {
        let (budget, period) = (self.budget, self.period);
        let mut usage = usage;
        if usage >= budget {
            let times = usage.0 / budget.0;
            self.refills().charge_budgets(times, budget, period);
            usage.0 %= budget.0;
        }
        self.refills().charge(usage, period, minimum);
    }

    /// It was used by a thread that waited since a moment; see [`Refills::idle`].
    pub fn idle(&mut self, since: Ticks, now: Ticks, minimum: Ticks) {
        if self.is_configured() && !self.is_round_robin() {
            let parameters = (self.budget, self.period);
            let used = self.refills().idle(since, now, parameters, minimum);
            self.consumed = self.consumed.saturating_add(used);
        }
    }

    /// Its thread becomes able to use it now; see [`Refills::unblock`].
    #[inline(always)]
    pub fn unblock(&mut self, now: Ticks) {
        if self.is_configured() && !self.is_round_robin() {
            self.unblock_refills(now);
        }
    }

    #[inline(never)]
    fn unblock_refills(&mut self, now: Ticks) {
        self.refills().unblock(now);
    }
}

impl<A: Arch> Default for SchedContext<A> {
    fn default() -> Self {
        Self::new()
    }
}

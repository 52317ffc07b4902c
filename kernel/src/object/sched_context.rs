//! Scheduling contexts.

use core::num::NonZeroU64;

use abi::sizes::{REFILL_BYTES, SCHED_CONTEXT_HEADER_BYTES};
use bitflags::bitflags;

use super::{Notification, Reply, Thread};
use crate::arch::Arch;
use crate::budget::{Entry, Refill, RefillRing, Refills, Slice};
use crate::time::Ticks;
use crate::token::Ptr;

/// A scheduling context. Its replenishments follow this header in memory, up to the size of the object.
#[repr(C)]
pub struct SchedContext<A: Arch> {
    /// The period, after which consumed budget is replenished; zero for round robin.
    pub period: Ticks,
    /// The budget per period.
    pub budget: Ticks,
    /// The time charged since it was last reported to a user.
    pub consumed: Ticks,
    /// The total consumed up to which it may be used, if it was donated with a limit.
    pub limit: Option<NonZeroU64>,
    /// The positions of the replenishments in use.
    ring: RefillRing,
    /// Its flags, and its criticality.
    pub flags: ContextFlags,
    /// The owning core.
    pub core: u8,
    /// The thread that runs on it.
    pub thread: Option<Ptr<Thread<A>>>,
    /// The thread that it is bound to by an invocation. Another thread that runs on it has it by donation.
    /// The thread refers to it as `own_context`.
    pub owner: Option<Ptr<Thread<A>>>,
    /// The innermost reply object of the call chain along which it was donated.
    pub reply: Option<Ptr<Reply<A>>>,
    /// The notification that lends it to passive threads.
    pub notification: Option<Ptr<Notification<A>>>,
    /// The thread that has yielded to it and waits for the answer, or has set its timer.
    pub yielded_from: Option<Ptr<Thread<A>>>,
    /// Identifies the context to timeout handlers.
    pub badge: usize,
}

bitflags! {
    /// Flags of a scheduling context.
    #[derive(Clone, Copy)]
    pub struct ContextFlags: u8 {
        /// Replenishments follow wake-ups ([`abi::sched_context_flags::SPORADIC`]).
        const SPORADIC = 1 << 0;
        /// Each kernel entry of the thread that runs on it needs the full budget check. Set where there may be a
        /// reason for it; a budget check that finds no reason clears it.
        const NEEDS_CHECK = 1 << 1;
        /// It is charged while its thread waits at an endpoint ([`abi::sched_context_flags::IDLING`]).
        const IDLING = 1 << 2;
        /// The criticality of the thread that runs on it: on 32-bit machines the header has no byte left.
        const CRITICALITY = abi::MAX_CRITICALITY << CRITICALITY_SHIFT;
    }
}

const CRITICALITY_SHIFT: u32 = 5;

/// Offset of the first replenishment. The ABI defines 56 bytes on 32-bit machines, where every object size
/// then leaves half a replenishment unused, so that 64 bytes fit.
pub(crate) const HEADER_BYTES: usize = SCHED_CONTEXT_HEADER_BYTES.next_multiple_of(REFILL_BYTES);

impl<A: Arch> SchedContext<A> {
    /// A scheduling context as retype creates it.
    pub const fn new() -> Self {
        const { assert!(size_of::<Self>() <= HEADER_BYTES) };
        Self {
            period: Ticks::ZERO,
            budget: Ticks::ZERO,
            consumed: Ticks::ZERO,
            limit: None,
            ring: RefillRing::new(0),
            flags: ContextFlags::empty(),
            core: 0,
            thread: None,
            owner: None,
            reply: None,
            notification: None,
            yielded_from: None,
            badge: 0,
        }
    }

    /// Whether it has a budget.
    pub const fn is_configured(&self) -> bool {
        self.budget.0 > 0
    }

    /// Whether it is round-robin.
    pub const fn is_round_robin(&self) -> bool {
        self.period.0 == 0
    }

    /// Whether it needs a wake-up check: it has a flag or a criticality.
    pub const fn needs_wakeup_check(&self) -> bool {
        !self.flags.is_empty()
    }

    /// Whether it has a flag other than `SPORADIC`, or a criticality: its budget or timer may have run out
    /// while its thread waited.
    pub const fn may_expire_while_blocked(&self) -> bool {
        !ContextFlags::SPORADIC.contains(self.flags)
    }

    /// Whether nothing but its budget, a limit and a timer can end the use of it: it has no criticality, and is not
    /// idling.
    #[inline(always)]
    pub const fn has_at_most_a_limit_and_timer(&self) -> bool {
        const ELIGIBLE: ContextFlags = ContextFlags::SPORADIC.union(ContextFlags::NEEDS_CHECK);
        ELIGIBLE.contains(self.flags)
    }

    /// The same without a limit.
    #[inline(always)]
    pub const fn has_at_most_a_timer(&self) -> bool {
        self.has_at_most_a_limit_and_timer() && self.limit.is_none()
    }

    /// Whether kernel entries of the thread that runs on it may need the full budget check.
    #[inline(always)]
    pub const fn may_need_check(&self) -> bool {
        const REASONS: ContextFlags = ContextFlags::NEEDS_CHECK.union(ContextFlags::CRITICALITY);
        self.flags.intersects(REASONS)
    }

    /// The criticality of the thread that runs on it.
    #[inline(always)]
    pub const fn criticality(&self) -> u8 {
        self.flags.bits() >> CRITICALITY_SHIFT
    }

    /// Sets the criticality; the thread that runs on it must be in no ready or release queue.
    pub fn set_criticality(&mut self, criticality: u8) {
        let criticality = ContextFlags::from_bits_retain(criticality << CRITICALITY_SHIFT);
        self.flags = (self.flags - ContextFlags::CRITICALITY) | criticality;
    }

    /// Its flags as users set them ([`abi::sched_context_flags`]).
    pub fn flags_for_users(&self) -> usize {
        let has = |flag| usize::from(self.flags.contains(flag));
        has(ContextFlags::SPORADIC) * abi::sched_context_flags::SPORADIC
            + has(ContextFlags::IDLING) * abi::sched_context_flags::IDLING
    }

    /// Resets its parameters to those of a context that was never configured.
    pub fn unconfigure(&mut self) {
        (self.period, self.budget) = (Ticks::ZERO, Ticks::ZERO);
        self.ring = RefillRing::new(0);
        self.limit = None;
    }

    /// The first replenishment. A reference to the header gives no access to what follows it. So this is a
    /// pointer to the object's memory as retype has exposed it.
    #[inline(always)]
    fn first_entry(&self) -> *mut Entry {
        let address = core::ptr::from_ref(self)
            .wrapping_byte_add(HEADER_BYTES)
            .addr();
        core::ptr::with_exposed_provenance_mut(address)
    }

    /// Its replenishments. `capacity` is the number of entries that they may use, `budget` their sum.
    fn refills_with(&mut self, capacity: usize, budget: Ticks) -> Refills<'_> {
        // SAFETY: the object's memory after the header has as many entries as its size allows;
        // `SchedControl_ConfigureFlags` checks the capacity against the size first. Any content is a valid
        // entry, and retype has zeroed the memory. The borrow of the header covers the entries, too.
        let entries = unsafe { core::slice::from_raw_parts_mut(self.first_entry(), capacity) };
        Refills::new(&mut self.ring, entries, budget)
    }

    fn entries(&self) -> &[Entry] {
        // SAFETY: as in `refills_with`, for the current capacity of the ring.
        unsafe { core::slice::from_raw_parts(self.first_entry(), self.ring.capacity()) }
    }

    /// The replenishments of a configured context.
    pub fn refills(&mut self) -> Refills<'_> {
        self.refills_with(self.ring.capacity(), self.budget)
    }

    /// The head replenishment of a configured context.
    #[inline(always)]
    pub fn head(&self) -> Refill {
        let (head, tail) = self.ring.ends();
        self.entry(head).head(self.entry(tail), self.budget)
    }

    /// The last replenishment of a configured context.
    #[cfg(feature = "tracing")]
    pub fn last(&self) -> Refill {
        let (head, tail) = self.ring.ends();
        if head == tail {
            return self.head();
        }
        let before = self.entry(self.ring.before(tail));
        self.entry(tail).after(before)
    }

    /// The entry at `index`, which must be in use or 0.
    #[inline(always)]
    fn entry(&self, index: usize) -> Entry {
        debug_assert!(index == 0 || index < self.ring.capacity());
        // SAFETY: as in `refills_with`; there is room for at least two entries.
        unsafe { self.first_entry().add(index).read() }
    }

    /// The timeslice of a round-robin context.
    #[inline(always)]
    pub fn slice(&mut self) -> Slice<'_> {
        // SAFETY: as in `refills_with`; there is room for at least two entries, and a timeslice uses two.
        let entries = unsafe { &mut *self.first_entry().cast::<[Entry; 2]>() };
        Slice {
            entries,
            budget: self.budget,
        }
    }

    /// The maximum number of replenishments.
    pub const fn refill_capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// The total consumed: all time ever charged to it, from an arbitrary origin. Wraps.
    pub fn total_consumed(&self) -> u64 {
        self.ring.total_consumed(self.entries(), self.budget)
    }

    /// All replenishments, in order.
    pub fn replenishments(&self) -> impl Iterator<Item = Refill> + '_ {
        self.ring.iter(self.entries(), self.budget)
    }

    /// Whether its head replenishment is due and holds at least `minimum`.
    #[inline(always)]
    pub fn is_available(&self, now: Ticks, minimum: Ticks) -> bool {
        let head = self.head();
        head.time <= now && head.amount >= minimum
    }

    /// Configures it with a full budget available from `now`; round robin if `period` is zero.
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

    /// Charges consumed time.
    #[inline(always)]
    pub fn charge(&mut self, usage: Ticks, minimum: Ticks) {
        // Cannot overflow: consumed time is part of the time since boot.
        self.consumed += usage;
        if self.is_round_robin() {
            self.slice().charge(usage);
        } else {
            self.charge_refills(usage, minimum);
        }
    }

    #[inline(never)]
    fn charge_refills(&mut self, usage: Ticks, minimum: Ticks) {
        let parameters = (self.budget, self.period);
        self.refills().charge(usage, parameters, minimum);
    }

    /// Charges an idling context, because its thread has waited from `since` to `now`; see [`Refills::idle`].
    pub fn idle(&mut self, since: Ticks, now: Ticks, minimum: Ticks) {
        if self.is_configured() && !self.is_round_robin() {
            let parameters = (self.budget, self.period);
            let used = self.refills().idle(since, now, parameters, minimum);
            self.consumed = self.consumed.saturating_add(used);
        }
    }

    /// Lets its replenishments count from `now`, because its thread unblocks; see [`Refills::unblock`].
    #[inline(always)]
    pub fn unblock(&mut self, now: Ticks) {
        if self.is_configured() && !self.is_round_robin() {
            self.count_from(now);
        }
    }

    /// The same for a context with a budget and a period, of which the head replenishment is due and holds `amount`.
    /// Returns the new amount of the head. It differs only if the next replenishment is due by the time the head is
    /// used up, which is rare.
    #[inline(always)]
    pub fn count_available_from(&mut self, now: Ticks, amount: Ticks) -> Ticks {
        debug_assert!(self.head().time <= now && self.head().amount == amount);
        if let Some(next) = self.ring.second()
            && self.entry(next).time <= now + amount
        {
            return self.count_from(now);
        }
        // SAFETY: as in `entry`; the reference to the header is mutable, and its borrow covers the entries, too.
        unsafe { (*self.first_entry().add(self.ring.front())).time = now };
        amount
    }

    /// The same for any context with a budget and a period. Returns the amount of the head replenishment.
    #[inline(never)]
    pub fn count_from(&mut self, now: Ticks) -> Ticks {
        let mut refills = self.refills();
        refills.unblock(now);
        refills.head().amount
    }
}

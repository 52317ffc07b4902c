//! The ring of a core, and how events get into it.

#[cfg(feature = "tracing-from-boot")]
use trace_format::Cost;
use trace_format::{Kind, Kinds, Known, ObjectId, Reason, Ring, Settings, What, Written};

#[cfg(feature = "tracing-from-boot")]
use super::boot::Built;
#[cfg(not(feature = "tracing-from-boot"))]
use trace_format::AtRunTime as Built;

use crate::arch::Arch;
use crate::budget::Refill;
use crate::config::CORES;
use crate::object::{ContextFlags, SchedContext};
use crate::sched::Scheduler;
use crate::time::Ticks;
use crate::token::Ptr;

/// How a core has waited for the entry lock since its last event about that. The event is written later, once
/// the entry has read the clock.
#[derive(Clone, Copy)]
pub(super) enum Wait {
    /// Not at all.
    None,
    /// It has waited for exclusive mode since this time.
    Since(Ticks),
    /// For shared mode, for an unknown time: a core reads the clock only after it has entered.
    Shared,
    /// For exclusive mode, for this time.
    Exclusive(Ticks),
}

/// Where the events of a core are written.
pub(crate) struct Tracer {
    ring: Option<Ring<'static, Built>>,
    /// The kinds of events that are written: a hook looks at nothing else first. Without a ring there are none.
    kinds: Kinds,
    /// The thread and the context of the last events that name them.
    last: (ObjectId, ObjectId),
    pub(super) wait: Wait,
}

impl Tracer {
    /// No ring.
    pub(crate) const fn new() -> Self {
        Self {
            ring: None,
            kinds: Kinds::NOTHING,
            last: (ObjectId::NONE, ObjectId::NONE),
            wait: Wait::None,
        }
    }

    #[inline(always)]
    pub(super) const fn is_on(&self) -> bool {
        self.ring.is_some()
    }

    /// Whether events of a kind are written. There is no code for kinds that this kernel never writes.
    #[inline(always)]
    pub(super) const fn has(&self, kind: Kind) -> bool {
        Built::KINDS.contains(kind) && self.kinds.contains(kind)
    }

    /// Writes those that there are of some events of kinds that are chosen.
    #[inline(always)]
    pub(super) fn put<const N: usize>(&mut self, events: [Option<Written>; N], now: Ticks) {
        debug_assert!(self.is_on());
        // SAFETY: without a ring, no kind of event is chosen.
        let ring = unsafe { self.ring.as_mut().unwrap_unchecked() };
        ring.put_some(events, now.0);
    }
}

/// What calibration changes.
#[cfg(feature = "tracing-from-boot")]
impl Tracer {
    /// Chooses the kinds of events that are written into the ring, if there is one.
    pub(super) fn choose(&mut self, kinds: Kinds) {
        if self.is_on() {
            self.kinds = kinds;
        }
    }

    /// The thread and the context of the last events that name them.
    pub(super) const fn last(&mut self) -> &mut (ObjectId, ObjectId) {
        &mut self.last
    }

    /// Empties the ring.
    pub(super) fn restart(&mut self) {
        if let Some(ring) = &mut self.ring {
            ring.restart();
        }
    }

    /// Stores in the ring what events cost, by the numbers of their kinds.
    pub(super) fn set_costs(&mut self, costs: impl Iterator<Item = (u8, Cost)>) {
        if let Some(ring) = &mut self.ring {
            costs.for_each(|(kind, cost)| ring.set_cost(kind, cost));
        }
    }
}

pub(super) fn id<T>(object: Option<Ptr<T>>) -> ObjectId {
    object.map_or(ObjectId::NONE, |object| ObjectId::of(object.address()))
}

pub(super) fn number<T>(object: Option<Ptr<T>>) -> u64 {
    id(object).0.into()
}

/// Starting and reading.
impl<A: Arch> Scheduler<A> {
    /// Lets this core write events into `memory` from now on. Returns whether there is room for any.
    pub fn start_tracing(&mut self, memory: &'static mut [u64], settings: Settings) -> bool {
        self.instruments.tracer = Tracer {
            ring: Ring::known(memory, settings),
            ..Tracer::new()
        };
        self.observe();
        self.trace_start_of_ring();
        self.is_traced()
    }

    /// Writes the state at which tracing starts: the current thread, context and level.
    pub(super) fn trace_start_of_ring(&mut self) {
        let tracer = &mut self.instruments.tracer;
        tracer.kinds = tracer.ring.as_ref().map_or(Kinds::NOTHING, Ring::kinds);
        tracer.last = (ObjectId::NONE, ObjectId::NONE);
        self.trace_exit();
        if let Some(thread) = self.core.current {
            self.trace_named(thread);
            self.trace_priority(thread, self[thread].priority);
        }
        if let Some(context) = self.core.current_context {
            self.trace_configured(context);
        }
    }

    /// The bytes of this core's ring, for a reader.
    pub fn trace(&self) -> Option<impl Iterator<Item = u8>> {
        self.instruments.tracer.ring.as_ref().map(Ring::bytes)
    }
}

/// Writing. What does so is called by hooks only, of which each has looked whether its kind of event is written.
impl<A: Arch> Scheduler<A> {
    /// Whether this core writes events of a kind.
    #[inline(always)]
    pub(super) const fn has_event(&self, kind: Kind) -> bool {
        self.capabilities.instruments.tracer.has(kind)
    }

    /// Writes an event.
    #[inline(always)]
    pub(super) fn put(&mut self, kind: Kind, subject: ObjectId, details: (u64, u64)) {
        let now = self.core.now;
        let event = (What::new(kind, subject), details);
        self.instruments.tracer.put([Some(event)], now);
    }

    /// Writes an event of a charge, and the first and the last replenishment, which it has changed.
    #[inline(always)]
    pub(super) fn put_charged(&mut self, context: Ptr<SchedContext<A>>, usage: Ticks) {
        let (now, object, subject) = (self.core.now, &self[context], id(Some(context)));
        let charged = (
            What::new(Kind::Charged, subject),
            (usage.0, object.total_consumed()),
        );
        let refill = |kind, one: Refill| (What::new(kind, subject), (one.time.0, one.amount.0));
        let ends = match object.is_configured() {
            true => [(Kind::Head, object.head()), (Kind::Added, object.last())]
                .map(|(kind, one)| Some(refill(kind, one))),
            false => [None, None],
        };
        let tracer = &mut self.instruments.tracer;
        tracer.put([Some(charged), ends[0], ends[1]], now);
    }

    /// Writes events if the current thread or context differs from that of the last such event.
    #[inline(always)]
    pub(super) fn put_switch(&mut self) {
        let [run, used] = self.switch();
        let now = self.core.now;
        self.instruments.tracer.put([run, used], now);
    }

    /// Writes the end of a kernel entry: the same, and the head replenishment of a context that has become the current
    /// one, as it then loses budget that it has not used in time.
    #[inline(always)]
    pub(super) fn put_exit(&mut self) {
        let [run, used] = self.switch();
        let (thread, context) = (self.core.current, self.core.current_context);
        let head = match context {
            Some(context)
                if used.is_some()
                    && self.has_event(Kind::Head)
                    && !self[context].flags.contains(ContextFlags::SPORADIC) =>
            {
                self.head(context)
            }
            _ => None,
        };
        let deadline = self.core.timer_deadline.time().0;
        let exit = (
            What::new(Kind::Exit, id(thread)),
            (number(context), deadline),
        );
        let exit = self.has_event(Kind::Exit).then_some(exit);
        let now = self.core.now;
        self.instruments.tracer.put([head, run, used, exit], now);
    }

    /// The event of the head replenishment of a context, if it has one.
    #[inline(always)]
    pub(super) fn head(&self, context: Ptr<SchedContext<A>>) -> Option<Written> {
        let object = &self[context];
        object.is_configured().then(|| {
            let head = object.head();
            (
                What::new(Kind::Head, id(Some(context))),
                (head.time.0, head.amount.0),
            )
        })
    }

    /// The events of the current thread and context, as far as they differ from those of the last such events.
    #[inline(always)]
    fn switch(&mut self) -> [Option<Written>; 2] {
        let current = (id(self.core.current), id(self.core.current_context));
        let last = core::mem::replace(&mut self.instruments.tracer.last, current);
        let event = |kind, subject| (What::new(kind, subject), (0, 0));
        [
            (last.0 != current.0).then(|| event(Kind::Run, current.0)),
            (last.1 != current.1).then(|| event(Kind::Use, current.1)),
        ]
    }

    /// Writes a kernel entry, and how this core has waited for it.
    #[inline(always)]
    pub(super) fn put_entry(&mut self, reason: Reason, number: u64) {
        self.put(
            Kind::Entry,
            id(self.core.current),
            (reason.number().into(), number),
        );
        if CORES > 1 {
            self.put_wait();
        }
    }

    /// Writes how this core has waited for the entry lock, if it has.
    #[inline(always)]
    fn put_wait(&mut self) {
        let (kind, waited) = match core::mem::replace(&mut self.instruments.tracer.wait, Wait::None)
        {
            Wait::None | Wait::Since(_) => return,
            Wait::Shared => (Kind::Waited, Ticks::ZERO),
            Wait::Exclusive(waited) => (Kind::Exclusive, waited),
        };
        // An entry without events may have waited before this one.
        if self.entry_lock.is_exclusive() == (kind == Kind::Exclusive) && self.has_event(kind) {
            self.put(kind, id(self.core.current), (waited.0, 0));
        }
    }
}

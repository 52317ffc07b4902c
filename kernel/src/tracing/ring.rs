//! The ring of a core, and how events get into it.

use trace_format::{Kind, Kinds, ObjectId, Reason, Ring, Settings, What, Written};

#[cfg(feature = "tracing-from-boot")]
use super::boot::Built;
#[cfg(not(feature = "tracing-from-boot"))]
use trace_format::AtRunTime as Built;

use crate::arch::Arch;
use crate::budget::Refill;
use crate::config::CORES;
use crate::object::SchedContext;
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

    #[inline(always)]
    pub(super) const fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(kind)
    }

    /// Writes events of kinds that are chosen.
    #[inline(always)]
    fn put<const N: usize>(&mut self, events: [Written; N], now: Ticks) {
        debug_assert!(self.is_on());
        // SAFETY: without a ring, no kind of event is chosen.
        let ring = unsafe { self.ring.as_mut().unwrap_unchecked() };
        ring.put(events, now.0);
    }

    /// Stores the current thread and context, at least one of which has changed, and writes an event for each
    /// change.
    #[inline(never)]
    fn switch(&mut self, current: (ObjectId, ObjectId), now: Ticks) {
        let last = core::mem::replace(&mut self.last, current);
        let run = (What::new(Kind::Run, current.0), (0, 0));
        let used = (What::new(Kind::Use, current.1), (0, 0));
        if last.0 == current.0 {
            self.put([used], now);
        } else if last.1 == current.1 {
            self.put([run], now);
        } else {
            self.put([run, used], now);
        }
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

    /// Forgets the last thread and context, so that the next events about them are written in any case.
    pub(super) fn forget(&mut self) {
        self.last = (ObjectId(u32::MAX), ObjectId(u32::MAX));
    }

    /// The number of events in the ring.
    pub(super) fn written(&self) -> u64 {
        self.ring.as_ref().map_or(0, Ring::written)
    }

    /// Empties the ring, and stores in it what an event costs.
    pub(super) fn restart(&mut self, cost: trace_format::Cost) {
        if let Some(ring) = &mut self.ring {
            ring.restart(cost);
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
        self.core.check_threshold = self.check_threshold(&self.budget());
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

impl<A: Arch> Scheduler<A> {
    /// Whether this core writes events of a kind.
    #[inline(always)]
    pub(super) const fn has_event(&self, kind: Kind) -> bool {
        self.capabilities.instruments.tracer.has(kind)
    }

    /// Writes an event, of which `make` returns the subject and the details.
    #[inline(always)]
    pub(super) fn event(&mut self, kind: Kind, make: impl FnOnce(&Self) -> (ObjectId, u64, u64)) {
        if self.has_event(kind) {
            let (subject, a, b) = make(self);
            self.write_event(kind, subject, (a, b));
        }
    }

    /// Writes an event of a kind of which this core writes events.
    #[inline(always)]
    pub(super) fn write_event(&mut self, kind: Kind, subject: ObjectId, details: (u64, u64)) {
        self.put_event(What::new(kind, subject), details);
    }

    /// The part of a hook that all have in common. It takes few arguments, because it has many call sites.
    #[inline(never)]
    fn put_event(&mut self, what: What, details: (u64, u64)) {
        let now = self.core.now;
        self.instruments.tracer.put([(what, details)], now);
    }

    /// All events of a charge. A charge is on most paths, and this is more than other hooks do.
    #[inline(never)]
    pub(super) fn write_charged(&mut self, context: Ptr<SchedContext<A>>, usage: Ticks) {
        let (now, object, subject) = (self.core.now, &self[context], id(Some(context)));
        let total = object.total_consumed();
        let ends = object
            .is_configured()
            .then(|| (object.head(), object.last()));
        let tracer = &mut self.instruments.tracer;
        let charged = (What::new(Kind::Charged, subject), (usage.0, total));
        let Some((head, last)) = ends else {
            return tracer.put([charged], now);
        };
        let event = |kind, one: Refill| (What::new(kind, subject), (one.time.0, one.amount.0));
        let ends = [event(Kind::Head, head), event(Kind::Added, last)];
        tracer.put([charged, ends[0], ends[1]], now);
    }

    /// Writes events if the current thread or context differs from that of the last such event. A ring has
    /// these kinds of events or none at all.
    #[inline(always)]
    pub(super) fn switch(&mut self) {
        if self.has_event(Kind::Run) {
            let current = (id(self.core.current), id(self.core.current_context));
            if self.instruments.tracer.last != current {
                let now = self.core.now;
                self.instruments.tracer.switch(current, now);
            }
        }
    }

    #[inline(always)]
    pub(super) fn entry(&mut self, reason: Reason, number: u64) {
        self.event(Kind::Entry, |this| {
            (id(this.core.current), reason.number().into(), number)
        });
        if CORES > 1 {
            self.trace_wait();
        }
    }

    /// How this core has waited for the entry lock, if it has.
    #[inline(always)]
    fn trace_wait(&mut self) {
        let (kind, waited) = match core::mem::replace(&mut self.instruments.tracer.wait, Wait::None)
        {
            Wait::None | Wait::Since(_) => return,
            Wait::Shared => (Kind::Waited, Ticks::ZERO),
            Wait::Exclusive(waited) => (Kind::Exclusive, waited),
        };
        // An entry without events may have waited before this one.
        if self.entry_lock.is_exclusive() == (kind == Kind::Exclusive) {
            self.event(kind, |this| (id(this.core.current), waited.0, 0));
        }
    }

    #[inline(always)]
    pub(super) fn context_event(
        &mut self,
        kind: Kind,
        context: Ptr<SchedContext<A>>,
        a: u64,
        b: u64,
    ) {
        self.event(kind, |_| (id(Some(context)), a, b));
    }
}

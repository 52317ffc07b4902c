//! The ring of a core, and how events get into it.

use trace_format::{Kind, Kinds, ObjectId, Reason, Ring, Settings, What};

#[cfg(feature = "tracing-from-boot")]
use super::boot::Built;
#[cfg(not(feature = "tracing-from-boot"))]
use trace_format::AtRunTime as Built;

use crate::arch::Arch;
use crate::config::CORES;
use crate::object::SchedContext;
use crate::sched::Scheduler;
use crate::time::Ticks;
use crate::token::Ptr;

/// How a core has waited for the entry lock since its last event about that. It can write no event before it has read the
/// clock.
#[derive(Clone, Copy)]
pub(super) enum Wait {
    /// Not at all.
    None,
    /// It waits for exclusive mode, since then.
    Since(Ticks),
    /// For shared mode. It cannot read the clock before.
    Shared,
    /// For exclusive mode, for so long.
    Exclusive(Ticks),
}

/// Where the events of a core are written.
pub(crate) struct Tracer {
    pub(super) ring: Option<Ring<'static, Built>>,
    /// The kinds of events that are written: a hook looks at nothing else first.
    pub(super) kinds: Kinds,
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

    /// Stores the thread and the context that are current from now on. Returns which of them is another one.
    #[inline(always)]
    pub(super) fn replace(&mut self, current: (ObjectId, ObjectId)) -> (bool, bool) {
        let last = core::mem::replace(&mut self.last, current);
        (last.0 != current.0, last.1 != current.1)
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
        self.instruments.tracer.ring = Ring::known(memory, settings);
        self.core.check_threshold = self.check_threshold(&self.budget());
        self.trace_start_of_ring();
        self.is_traced()
    }

    /// Writes what is so when tracing starts.
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

    /// The part of a hook that all have in common. It is given as little as possible, as there are many hooks.
    #[inline(never)]
    fn put_event(&mut self, what: What, details: (u64, u64)) {
        let now = self.core.now.0;
        if let Some(ring) = &mut self.instruments.tracer.ring {
            ring.put(what, details, now);
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

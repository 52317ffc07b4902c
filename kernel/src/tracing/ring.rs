//! The ring of a core, and how events get into it.

use trace_format::{Kind, ObjectId, Reason, Ring, Settings};

use crate::arch::Arch;
use crate::object::{SchedContext, Thread};
use crate::sched::Scheduler;
use crate::token::Ptr;

/// Where the events of a core are written.
pub(crate) struct Tracer {
    ring: Option<Ring<'static>>,
    /// The thread and the context of the last events that name them.
    last: (ObjectId, ObjectId),
}

impl Tracer {
    /// No ring.
    pub(crate) const fn new() -> Self {
        Self {
            ring: None,
            last: (ObjectId::NONE, ObjectId::NONE),
        }
    }

    #[inline(always)]
    pub(super) const fn is_on(&self) -> bool {
        self.ring.is_some()
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
    pub fn start_tracing(&mut self, memory: &'static mut [u8], settings: Settings) -> bool {
        let tracer = &mut self.instruments.tracer;
        tracer.ring = Ring::new(memory, settings);
        tracer.last = (ObjectId::NONE, ObjectId::NONE);
        self.core.check_threshold = self.check_threshold(&self.budget());
        self.trace_exit();
        if let Some(thread) = self.core.current {
            self.trace_named(thread);
            self.trace_priority(thread, self[thread].priority);
        }
        if let Some(context) = self.core.current_context {
            self.trace_configured(context);
        }
        self.is_traced()
    }

    /// The ring of this core, for a reader.
    pub fn trace(&self) -> Option<&[u8]> {
        self.instruments.tracer.ring.as_ref().map(Ring::bytes)
    }
}

impl<A: Arch> Scheduler<A> {
    /// Writes an event, of which `make` returns the subject and the details.
    #[inline(always)]
    pub(super) fn event(&mut self, kind: Kind, make: impl FnOnce(&Self) -> (ObjectId, u64, u64)) {
        if self.is_traced() {
            let (subject, a, b) = make(self);
            let now = self.core.now.0;
            if let Some(ring) = &mut self.instruments.tracer.ring {
                ring.write(now, kind, subject, (a, b));
            }
        }
    }

    #[inline(always)]
    pub(super) fn entry(&mut self, reason: Reason, number: u64) {
        self.event(Kind::Entry, |this| {
            (id(this.core.current), reason.number().into(), number)
        });
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

    #[inline(always)]
    pub(super) fn thread_event(&mut self, kind: Kind, thread: Ptr<Thread<A>>, a: u64, b: u64) {
        self.event(kind, |_| (id(Some(thread)), a, b));
    }
}

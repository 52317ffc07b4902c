//! Hooks that write trace events: which thread runs on which context, and why. A hook is one call; in kernels without
//! the feature `tracing` it is empty.
//!
//! An event has the time of the kernel entry, by which contexts are charged, and lies in the ring of the core whose
//! state changed. A core with a ring takes no fast paths: those have no hooks. The crate [`trace_format`] defines the
//! events.

use abi::MessageInfo;
use abi::registers::INFO;
#[cfg(feature = "tracing")]
use trace_format::{Ring, Settings};

use trace_format::{Blocking, Kind, ObjectId, Reason};
pub(crate) use trace_format::{End, Move};

use crate::arch::{Arch, Interrupt, UserContext};
use crate::object::{SchedContext, Thread, ThreadState};
use crate::sched::Scheduler;
use crate::slot::RawCap;
use crate::time::Ticks;
use crate::token::Ptr;

/// The ring of a core, in kernels with the feature `tracing`.
pub(crate) struct Tracer {
    #[cfg(feature = "tracing")]
    ring: Option<Ring<'static>>,
    /// The thread and the context of the last events that name them.
    #[cfg(feature = "tracing")]
    last: (ObjectId, ObjectId),
}

impl Tracer {
    /// No ring.
    pub(crate) const fn new() -> Self {
        Self {
            #[cfg(feature = "tracing")]
            ring: None,
            #[cfg(feature = "tracing")]
            last: (ObjectId::NONE, ObjectId::NONE),
        }
    }

    #[inline(always)]
    const fn is_on(&self) -> bool {
        #[cfg(feature = "tracing")]
        return self.ring.is_some();
        #[cfg(not(feature = "tracing"))]
        false
    }

    #[inline(always)]
    #[cfg_attr(
        not(feature = "tracing"),
        expect(clippy::unused_self, reason = "the hooks of kernels that trace")
    )]
    fn write(&mut self, _time: Ticks, _kind: Kind, _subject: ObjectId, _details: (u64, u64)) {
        #[cfg(feature = "tracing")]
        if let Some(ring) = &mut self.ring {
            ring.write(_time.0, _kind, _subject, _details);
        }
    }

    /// Stores the thread and the context that are current from now on. Returns which of them is another one.
    #[inline(always)]
    #[cfg_attr(
        not(feature = "tracing"),
        expect(clippy::unused_self, reason = "the hooks of kernels that trace")
    )]
    fn replace(&mut self, _current: (ObjectId, ObjectId)) -> (bool, bool) {
        #[cfg(feature = "tracing")]
        {
            let last = core::mem::replace(&mut self.last, _current);
            (last.0 != _current.0, last.1 != _current.1)
        }
        #[cfg(not(feature = "tracing"))]
        (false, false)
    }
}

fn id<T>(object: Option<Ptr<T>>) -> ObjectId {
    object.map_or(ObjectId::NONE, |object| ObjectId::of(object.address()))
}

fn number<T>(object: Option<Ptr<T>>) -> u64 {
    id(object).0.into()
}

/// Starting and reading.
#[cfg(feature = "tracing")]
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
    /// Whether this core writes events.
    #[inline(always)]
    pub(crate) const fn is_traced(&self) -> bool {
        self.capabilities.instruments.tracer.is_on()
    }

    /// Writes an event, of which `make` returns the subject and the details.
    #[inline(always)]
    fn event(&mut self, kind: Kind, make: impl FnOnce(&Self) -> (ObjectId, u64, u64)) {
        if self.is_traced() {
            let (subject, a, b) = make(self);
            let now = self.core.now;
            self.instruments.tracer.write(now, kind, subject, (a, b));
        }
    }
}

/// Kernel entries and exits.
impl<A: Arch> Scheduler<A> {
    #[inline(always)]
    fn entry(&mut self, reason: Reason, number: u64) {
        self.event(Kind::Entry, |this| {
            (id(this.core.current), reason.number().into(), number)
        });
    }

    #[inline(always)]
    pub(crate) fn trace_syscall(&mut self, number: usize) {
        self.entry(Reason::Syscall, number as isize as u64);
    }

    #[inline(always)]
    pub(crate) fn trace_fault_entry(&mut self, fault: &crate::object::Fault) {
        self.entry(Reason::Fault, fault.label() as u64);
    }

    #[inline(always)]
    pub(crate) fn trace_interrupt(&mut self, interrupt: Interrupt) {
        match interrupt {
            Interrupt::Timer => self.entry(Reason::Timer, 0),
            Interrupt::Line(irq) => self.entry(Reason::Line, irq.0 as u64),
            Interrupt::Core => self.entry(Reason::Core, 0),
            Interrupt::Spurious => self.entry(Reason::Spurious, 0),
        }
    }

    /// The thread invokes a capability with the message in its registers.
    #[inline(always)]
    pub(crate) fn trace_invocation(&mut self, thread: Ptr<Thread<A>>, cap: RawCap) {
        self.event(Kind::Invocation, |this| {
            let label = MessageInfo(this[thread].context.get(INFO)).label();
            (id(Some(thread)), cap.tag().into(), label as u64)
        });
    }

    /// The end of a kernel entry.
    #[inline(always)]
    pub(crate) fn trace_exit(&mut self) {
        if self.is_traced() {
            self.trace_switch();
            self.event(Kind::Exit, |this| {
                let deadline = this.core.timer_deadline.time().0;
                (
                    id(this.core.current),
                    number(this.core.current_context),
                    deadline,
                )
            });
        }
    }

    /// The current thread or the current context may be another one.
    #[inline(always)]
    pub(crate) fn trace_switch(&mut self) {
        if self.is_traced() {
            let current = (id(self.core.current), id(self.core.current_context));
            let (thread, context) = self.instruments.tracer.replace(current);
            if thread {
                self.event(Kind::Run, |_| (current.0, 0, 0));
            }
            if context {
                self.event(Kind::Use, |_| (current.1, 0, 0));
            }
        }
    }

    #[inline(always)]
    pub(crate) fn trace_level(&mut self) {
        self.event(Kind::Level, |this| {
            (ObjectId::NONE, this.core.level.into(), 0)
        });
    }

    #[inline(always)]
    pub(crate) fn trace_domain(&mut self) {
        self.event(Kind::Domain, |this| {
            (ObjectId::NONE, this.core.current_domain().into(), 0)
        });
    }
}

/// Scheduling contexts.
impl<A: Arch> Scheduler<A> {
    #[inline(always)]
    fn context_event(&mut self, kind: Kind, context: Ptr<SchedContext<A>>, a: u64, b: u64) {
        self.event(kind, |_| (id(Some(context)), a, b));
    }

    #[inline(always)]
    pub(crate) fn trace_configured(&mut self, context: Ptr<SchedContext<A>>) {
        if self.is_traced() {
            let object = &self[context];
            let (budget, period, badge) = (object.budget.0, object.period.0, object.badge);
            let flags = object.flags_for_users();
            self.context_event(Kind::Configured, context, budget, period);
            self.context_event(Kind::Flags, context, flags as u64, badge as u64);
            self.trace_head(context);
        }
    }

    /// The context was charged.
    #[inline(always)]
    pub(crate) fn trace_charged(&mut self, context: Ptr<SchedContext<A>>, usage: Ticks) {
        if self.is_traced() {
            let total = self[context].total_consumed();
            self.context_event(Kind::Charged, context, usage.0, total);
            self.trace_head(context);
            if let Some(last) = self[context].replenishments().last() {
                self.context_event(Kind::Added, context, last.time.0, last.amount.0);
            }
        }
    }

    /// The head replenishment may be another one.
    #[inline(always)]
    pub(crate) fn trace_head(&mut self, context: Ptr<SchedContext<A>>) {
        if self.is_traced() && self[context].is_configured() {
            let head = self[context].head();
            self.context_event(Kind::Head, context, head.time.0, head.amount.0);
        }
    }

    #[inline(always)]
    pub(crate) fn trace_given_up(&mut self, context: Ptr<SchedContext<A>>) {
        self.context_event(Kind::GivenUp, context, self.core.consumed.0, 0);
    }

    /// The context was charged for waiting; `before` is what it had consumed before.
    #[inline(always)]
    pub(crate) fn trace_idled(&mut self, context: Ptr<SchedContext<A>>, before: Ticks) {
        if self.is_traced() {
            let used = self[context].consumed.saturating_sub(before);
            self.context_event(Kind::Idled, context, used.0, 0);
            self.trace_head(context);
        }
    }

    #[inline(always)]
    pub(crate) fn trace_consumed(&mut self, context: Ptr<SchedContext<A>>, consumed: Ticks) {
        self.context_event(Kind::Consumed, context, consumed.0, 0);
    }

    #[inline(always)]
    pub(crate) fn trace_exhausted(&mut self, context: Ptr<SchedContext<A>>, end: End) {
        self.event(Kind::Exhausted, |this| {
            (
                id(Some(context)),
                end.number().into(),
                number(this[context].thread),
            )
        });
    }

    /// The context is about to move to a thread, or to none.
    #[inline(always)]
    pub(crate) fn trace_move(
        &mut self,
        context: Ptr<SchedContext<A>>,
        to: Option<Ptr<Thread<A>>>,
        why: Move,
    ) {
        if self.is_traced() && self[context].thread != to {
            self.event(Kind::Moved, |this| {
                let why = u64::from(why.number()) << 32;
                (
                    id(Some(context)),
                    why | number(this[context].thread),
                    number(to),
                )
            });
        }
    }

    #[inline(always)]
    pub(crate) fn trace_limited(&mut self, context: Ptr<SchedContext<A>>, allowed: Ticks) {
        self.event(Kind::Limited, |this| {
            (id(Some(context)), allowed.0, number(this[context].thread))
        });
    }

    #[inline(always)]
    pub(crate) fn trace_context_created(&mut self, context: Ptr<SchedContext<A>>) {
        self.context_event(Kind::ContextCreated, context, 0, 0);
    }

    #[inline(always)]
    pub(crate) fn trace_context_deleted(&mut self, context: Ptr<SchedContext<A>>) {
        self.context_event(Kind::ContextDeleted, context, 0, 0);
    }
}

/// Threads.
impl<A: Arch> Scheduler<A> {
    #[inline(always)]
    fn thread_event(&mut self, kind: Kind, thread: Ptr<Thread<A>>, a: u64, b: u64) {
        self.event(kind, |_| (id(Some(thread)), a, b));
    }

    /// The thread has blocked, as its state says.
    #[inline(always)]
    pub(crate) fn trace_blocked(&mut self, thread: Ptr<Thread<A>>) {
        if self.is_traced() {
            let (what, object) = match self[thread].state {
                ThreadState::BlockedOnSend { endpoint, .. } => {
                    (Blocking::Send, number(Some(endpoint)))
                }
                ThreadState::BlockedOnReceive { endpoint, .. } => {
                    (Blocking::Receive, number(Some(endpoint)))
                }
                ThreadState::BlockedOnReply { reply } => (Blocking::Reply, number(Some(reply))),
                ThreadState::BlockedOnNotification { notification } => {
                    (Blocking::Notification, number(Some(notification)))
                }
                ThreadState::BlockedOnReturn { reply } => (Blocking::Return, number(Some(reply))),
                ThreadState::Inactive => return self.trace_stopped(thread),
                ThreadState::Running | ThreadState::Restart => return,
            };
            self.thread_event(Kind::Blocked, thread, what.number().into(), object);
        }
    }

    #[inline(always)]
    pub(crate) fn trace_woken(&mut self, thread: Ptr<Thread<A>>) {
        self.event(Kind::Woken, |this| {
            (id(Some(thread)), number(this.core.current), 0)
        });
    }

    /// The thread continues, or stays stopped, as its state says.
    #[inline(always)]
    pub(crate) fn trace_resumed(&mut self, thread: Ptr<Thread<A>>) {
        if self.is_traced() && self[thread].is_runnable() {
            self.trace_woken(thread);
        } else {
            self.trace_stopped(thread);
        }
    }

    #[inline(always)]
    pub(crate) fn trace_stopped(&mut self, thread: Ptr<Thread<A>>) {
        self.thread_event(Kind::Stopped, thread, 0, 0);
    }

    #[inline(always)]
    pub(crate) fn trace_postponed(&mut self, thread: Ptr<Thread<A>>, time: Ticks) {
        self.event(Kind::Postponed, |this| {
            (id(Some(thread)), time.0, number(this[thread].sched_context))
        });
    }

    #[inline(always)]
    pub(crate) fn trace_deferred(&mut self, thread: Ptr<Thread<A>>, needed: Ticks) {
        self.event(Kind::Deferred, |this| {
            (
                id(Some(thread)),
                number(this[thread].sched_context),
                needed.0,
            )
        });
    }

    #[inline(always)]
    pub(crate) fn trace_fault(&mut self, thread: Ptr<Thread<A>>, fault: &crate::object::Fault) {
        self.thread_event(Kind::Faulted, thread, fault.label() as u64, 0);
    }

    #[inline(always)]
    pub(crate) fn trace_timeout(&mut self, thread: Ptr<Thread<A>>, badge: usize) {
        self.event(Kind::Timeout, |this| {
            (
                id(Some(thread)),
                number(this[thread].sched_context),
                badge as u64,
            )
        });
    }

    #[inline(always)]
    pub(crate) fn trace_yielded(
        &mut self,
        thread: Ptr<Thread<A>>,
        to: Ptr<SchedContext<A>>,
        until: Option<Ticks>,
    ) {
        let until = until.unwrap_or(Ticks::NEVER);
        self.thread_event(Kind::Yielded, thread, number(Some(to)), until.0);
    }

    #[inline(always)]
    pub(crate) fn trace_priority(&mut self, thread: Ptr<Thread<A>>, priority: u8) {
        self.thread_event(Kind::Priority, thread, priority.into(), 0);
    }

    #[inline(always)]
    pub(crate) fn trace_criticality(&mut self, thread: Ptr<Thread<A>>) {
        let criticality = self[thread].criticality;
        self.thread_event(Kind::Criticality, thread, criticality.into(), 0);
    }

    #[inline(always)]
    pub(crate) fn trace_thread_created(&mut self, thread: Ptr<Thread<A>>) {
        self.thread_event(Kind::ThreadCreated, thread, 0, 0);
    }

    #[inline(always)]
    pub(crate) fn trace_thread_deleted(&mut self, thread: Ptr<Thread<A>>) {
        self.thread_event(Kind::ThreadDeleted, thread, 0, 0);
    }

    #[inline(always)]
    pub(crate) fn trace_named(&mut self, thread: Ptr<Thread<A>>) {
        self.event(Kind::Named, |this| {
            let name = u128::from_le_bytes(this[thread].name);
            (id(Some(thread)), name as u64, (name >> 64) as u64)
        });
    }
}

/// What happens only in kernels for several cores.
#[cfg(feature = "smp")]
impl<A: Arch> Scheduler<A> {
    #[inline(always)]
    pub(crate) fn trace_remote_access(&mut self) {
        self.entry(Reason::RemoteAccess, 0);
    }

    #[inline(always)]
    pub(crate) fn trace_start(&mut self) {
        self.entry(Reason::Start, 0);
    }

    #[inline(always)]
    pub(crate) fn trace_context_migrated(&mut self, context: Ptr<SchedContext<A>>, core: u8) {
        self.context_event(Kind::ContextMigrated, context, core.into(), 0);
    }

    #[inline(always)]
    pub(crate) fn trace_thread_migrated(&mut self, thread: Ptr<Thread<A>>, core: u8) {
        self.thread_event(Kind::ThreadMigrated, thread, core.into(), 0);
    }
}

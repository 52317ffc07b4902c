//! Hooks that write trace events: which thread runs on which context, and why. A hook is one call; in kernels without
//! the feature `tracing` it is empty.
//!
//! An event has the time of the kernel entry, by which contexts are charged, and lies in the ring of the core whose
//! state changed. A core with a ring takes no fast paths: those have no hooks. The crate [`trace_format`] defines the
//! events.

#[cfg(feature = "tracing-from-boot")]
mod boot;
#[cfg(feature = "tracing-from-boot")]
mod calibration;
#[cfg(feature = "tracing")]
mod ring;

#[cfg(feature = "tracing")]
use abi::MessageInfo;
#[cfg(feature = "tracing")]
use abi::registers::{CAP, INFO, MR};
#[cfg(feature = "tracing")]
use trace_format::{Blocking, Kind, ObjectId, Reason};

use crate::arch::{Arch, Interrupt};
use crate::object::{Fault, SchedContext, Thread};
use crate::sched::Scheduler;
use crate::slot::RawCap;
use crate::time::Ticks;
use crate::token::Ptr;
#[cfg(feature = "tracing")]
use crate::{arch::UserContext, object::ThreadState};

#[cfg(feature = "tracing-from-boot")]
pub(crate) use boot::{reserve, shared_bytes, shared_rings};
#[cfg(feature = "tracing")]
pub(crate) use ring::Tracer;
#[cfg(feature = "tracing")]
use ring::Wait;
#[cfg(feature = "tracing")]
use ring::{id, number};
pub(crate) use trace_format::{End, Move};

/// Without rings reserved at boot, user level shares none.
#[cfg(not(feature = "tracing-from-boot"))]
mod no_boot {
    pub(crate) const fn shared_bytes(_cores: usize) -> usize {
        0
    }

    pub(crate) const fn shared_rings() -> core::iter::Empty<usize> {
        core::iter::empty()
    }
}
#[cfg(not(feature = "tracing-from-boot"))]
pub(crate) use no_boot::{shared_bytes, shared_rings};

/// The ABI and the trace format number the marks of programs alike.
#[cfg(feature = "tracing")]
const _: () = {
    use trace_format::Mark;
    assert!(Mark::Released as u64 == abi::Mark::Released as u64);
    assert!(Mark::Begun as u64 == abi::Mark::Begun as u64);
    assert!(Mark::Done as u64 == abi::Mark::Done as u64);
    assert!(Mark::Missed as u64 == abi::Mark::Missed as u64);
    assert!(Mark::Number as u64 == abi::Mark::Number as u64);
    assert!(Mark::Text as u64 == abi::Mark::Text as u64);
    assert!(Mark::Late as u64 == abi::Mark::Late as u64);
};

/// Hooks, with the code that writes their events. That is apart from the paths that call hooks: as long as no event is
/// written, a hook is a test of the kind of its event, and a branch that is not taken. In kernels without the feature
/// `tracing`, hooks are empty.
macro_rules! hooks {
    ($(
        $(#[$attribute:meta])*
        fn $name:ident(&mut $this:ident $(, $argument:ident: $type:ty)* $(,)?)
        if $kind:ident = $write:ident $body:block
    )*) => {
        impl<A: Arch> Scheduler<A> {$(
            $(#[$attribute])*
            #[cfg(feature = "tracing")]
            #[inline(always)]
            pub(crate) fn $name(&mut $this $(, $argument: $type)*) {
                if $this.has_event(Kind::$kind) {
                    $this.$write($($argument),*);
                }
            }

            #[cfg(feature = "tracing")]
            #[cold]
            #[inline(never)]
            fn $write(&mut $this $(, $argument: $type)*) $body

            $(#[$attribute])*
            #[cfg(not(feature = "tracing"))]
            #[inline(always)]
            pub(crate) const fn $name(&mut $this $(, _: $type)*) {}
        )*}
    };
}

/// Hooks that write one event about a thread or a context: its two details.
macro_rules! events {
    ($this:ident, $subject:ident: $object:ty;
     $(
        $(#[$attribute:meta])*
        fn $name:ident($($argument:ident: $type:ty),*) if $kind:ident = $write:ident($a:expr, $b:expr);
     )*) => {
        hooks! {$(
            $(#[$attribute])*
            fn $name(&mut $this, $subject: Ptr<$object> $(, $argument: $type)*) if $kind = $write {
                let details = ($a, $b);
                $this.put(Kind::$kind, id(Some($subject)), details);
            }
        )*}
    };
}

impl<A: Arch> Scheduler<A> {
    /// Whether this core has memory for events.
    #[inline(always)]
    pub(crate) const fn is_traced(&self) -> bool {
        #[cfg(feature = "tracing")]
        return self.capabilities.instruments.tracer.is_on();
        #[cfg(not(feature = "tracing"))]
        false
    }
}

// ---- Kernel entries and exits

hooks! {
    fn trace_syscall(&mut self, number: usize) if Entry = write_syscall {
        self.put_entry(Reason::Syscall, number as isize as u64);
    }

    fn trace_fault_entry(&mut self, fault: &Fault) if Entry = write_fault_entry {
        self.put_entry(Reason::Fault, fault.label() as u64);
    }

    fn trace_interrupt(&mut self, interrupt: Interrupt) if Entry = write_interrupt {
        let (reason, number) = match interrupt {
            Interrupt::Timer => (Reason::Timer, 0),
            Interrupt::Line(irq) => (Reason::Line, irq.0 as u64),
            Interrupt::Core => (Reason::Core, 0),
            Interrupt::Spurious => (Reason::Spurious, 0),
        };
        self.put_entry(reason, number);
    }

    /// The end of a kernel entry. All rings have this kind of event, or none at all.
    fn trace_exit(&mut self) if Run = write_exit {
        self.put_exit();
    }

    /// The current thread and the current context are others than before, and not those for which the kernel entry ends.
    fn trace_switch(&mut self) if Run = write_switch {
        self.put_switch();
    }

    fn trace_level(&mut self) if Level = write_level {
        self.put(Kind::Level, ObjectId::NONE, (self.core.level.into(), 0));
    }

    fn trace_domain(&mut self) if Domain = write_domain {
        self.put(Kind::Domain, ObjectId::NONE, (self.core.current_domain().into(), 0));
    }
}

// ---- Scheduling contexts

hooks! {
    fn trace_configured(&mut self, context: Ptr<SchedContext<A>>) if Configured = write_configured {
        let object = &self[context];
        let (budget, period, badge) = (object.budget.0, object.period.0, object.badge);
        let flags = object.flags_for_users();
        let subject = id(Some(context));
        self.put(Kind::Configured, subject, (budget, period));
        self.put(Kind::Flags, subject, (flags as u64, badge as u64));
        self.trace_head(context);
    }

    /// The context was charged.
    fn trace_charged(&mut self, context: Ptr<SchedContext<A>>, usage: Ticks) if Charged = write_charged {
        self.put_charged(context, usage);
    }

    /// The head replenishment may have changed.
    fn trace_head(&mut self, context: Ptr<SchedContext<A>>) if Head = write_head {
        let (head, now) = (self.head(context), self.core.now);
        self.instruments.tracer.put([head], now);
    }

    /// The context was charged for waiting; `before` is what it had consumed before.
    fn trace_idled(&mut self, context: Ptr<SchedContext<A>>, before: Ticks) if Idled = write_idled {
        let used = self[context].consumed.saturating_sub(before);
        self.put(Kind::Idled, id(Some(context)), (used.0, 0));
        self.trace_head(context);
    }

    /// The context is about to move to a thread, or to none.
    fn trace_move(&mut self, context: Ptr<SchedContext<A>>, to: Option<Ptr<Thread<A>>>, why: Move)
    if Moved = write_move {
        if self[context].thread != to {
            let why = u64::from(why.number()) << 32;
            let from = number(self[context].thread);
            self.put(Kind::Moved, id(Some(context)), (why | from, number(to)));
        }
    }
}

events! {
    self, context: SchedContext<A>;
    fn trace_given_up() if GivenUp = write_given_up(self.core.consumed.0, 0);
    fn trace_consumed(consumed: Ticks) if Consumed = write_consumed(consumed.0, 0);
    fn trace_exhausted(end: End) if Exhausted =
        write_exhausted(end.number().into(), number(self[context].thread));
    fn trace_limited(allowed: Ticks) if Limited = write_limited(allowed.0, number(self[context].thread));
    fn trace_context_created() if ContextCreated = write_context_created(0, 0);
    fn trace_context_deleted() if ContextDeleted = write_context_deleted(0, 0);
    fn trace_context_migrated(core: u8) if ContextMigrated = write_context_migrated(core.into(), 0);
}

// ---- Threads

hooks! {
    /// The thread has blocked, as its state says.
    fn trace_blocked(&mut self, thread: Ptr<Thread<A>>) if Blocked = write_blocked {
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
        self.put(Kind::Blocked, id(Some(thread)), (what.number().into(), object));
    }

    /// The thread continues, or stays stopped, as its state says.
    fn trace_resumed(&mut self, thread: Ptr<Thread<A>>) if Woken = write_resumed {
        match self[thread].is_runnable() {
            true => self.trace_woken(thread),
            false => self.trace_stopped(thread),
        }
    }

    /// The thread has marked this point with the system call `TraceMark`.
    fn trace_mark(&mut self, thread: Ptr<Thread<A>>) if Marked = write_mark {
        let context = &self[thread].context;
        let word = |index: usize| context.get(MR[index]) as u64;
        let value = match usize::BITS {
            32 => word(1) | word(2) << 32,
            _ => word(1),
        };
        let what = (context.get(CAP) as u64) << 32;
        let details = (what | word(0) & u64::from(u32::MAX), value);
        self.put(Kind::Marked, id(Some(thread)), details);
    }

    fn trace_named(&mut self, thread: Ptr<Thread<A>>) if Named = write_named {
        let name = u128::from_le_bytes(self[thread].name);
        self.put(Kind::Named, id(Some(thread)), (name as u64, (name >> 64) as u64));
    }
}

events! {
    self, thread: Thread<A>;
    /// The thread invokes a capability with the message in its registers.
    fn trace_invocation(cap: RawCap) if Invocation = write_invocation(
        cap.tag().into(),
        MessageInfo(self[thread].context.get(INFO)).label() as u64
    );
    fn trace_woken() if Woken = write_woken(number(self.core.current), 0);
    fn trace_stopped() if Stopped = write_stopped(0, 0);
    fn trace_postponed(time: Ticks) if Postponed =
        write_postponed(time.0, number(self[thread].sched_context));
    fn trace_deferred(needed: Ticks) if Deferred =
        write_deferred(number(self[thread].sched_context), needed.0);
    fn trace_fault(fault: &Fault) if Faulted = write_fault(fault.label() as u64, 0);
    fn trace_timeout(badge: usize) if Timeout =
        write_timeout(number(self[thread].sched_context), badge as u64);
    fn trace_yielded(to: Ptr<SchedContext<A>>, until: Option<Ticks>) if Yielded =
        write_yielded(number(Some(to)), until.unwrap_or(Ticks::NEVER).0);
    fn trace_priority(priority: u8) if Priority = write_priority(priority.into(), 0);
    fn trace_criticality() if Criticality = write_criticality(self[thread].criticality.into(), 0);
    fn trace_thread_created() if ThreadCreated = write_thread_created(0, 0);
    fn trace_thread_deleted() if ThreadDeleted = write_thread_deleted(0, 0);
    fn trace_thread_migrated(core: u8) if ThreadMigrated = write_thread_migrated(core.into(), 0);
}

// ---- What happens only in kernels for several cores

hooks! {
    fn trace_remote_access(&mut self) if Entry = write_remote_access {
        self.put_entry(Reason::RemoteAccess, 0);
    }

    fn trace_start(&mut self) if Entry = write_start {
        self.put_entry(Reason::Start, 0);
    }

    /// This core gives up the entry lock, to wait for exclusive mode.
    fn trace_unlock(&mut self) if Waited = write_unlock {
        self.instruments.tracer.wait = Wait::Since(self.arch.now());
    }

    /// This core has waited for the entry lock, and has got it.
    fn trace_lock(&mut self) if Waited = write_lock {
        let waited = match self.instruments.tracer.wait {
            Wait::Since(start) => self.arch.now().saturating_sub(start),
            _ => Ticks::ZERO,
        };
        self.instruments.tracer.wait = match self.entry_lock.is_exclusive() {
            true => Wait::Exclusive(waited),
            false => Wait::Shared,
        };
    }
}

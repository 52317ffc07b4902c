//! Timeout faults, and the wake-up of threads with contexts that need a check then.

use abi::fault::timeout_flags;

use super::{InvocationFlags, Ipc};
use crate::arch::{Arch, UserContext};
use crate::object::{
    ContextFlag, Fault, PendingFault, SchedContext, Thread, ThreadSlot, ThreadState,
};
use crate::time::Ticks;
use crate::token::Ptr;

impl<A: Arch> Ipc<A> {
    /// Reports to the timeout handler of a thread, if there is one, that its budget has run out or what
    /// `flags` say ([`abi::fault::timeout_flags`]). Returns whether there is a handler.
    pub(crate) fn raise_timeout(&mut self, thread: Ptr<Thread<A>>, flags: usize) -> bool {
        let Some(context) = self[thread].sched_context else {
            return false;
        };
        let badge = self[context].badge;
        let timed = self.timer_of(context) < Ticks::NEVER;
        let more = (timed || self[context].has(ContextFlag::Idling)).then_some(flags);
        let told = self.report_timeout(thread, badge, more);
        if told && timed {
            self.stop_timer(context);
        }
        told
    }

    /// Reports a timeout on the scheduling context with this badge to the timeout handler of a thread, if
    /// there is one. Returns whether there is.
    pub(super) fn report_timeout(
        &mut self,
        thread: Ptr<Thread<A>>,
        badge: usize,
        more: Option<usize>,
    ) -> bool {
        // The context is not donated, because it has no budget left: the handler needs its own context, and
        // its endpoint must have no threshold.
        let Some(handler) = self
            .handler(thread, ThreadSlot::TimeoutHandler)
            .filter(|handler| self[handler.object].threshold().is_none())
        else {
            return false;
        };
        self.trace_timeout(thread, badge);
        self[thread].fault = PendingFault::Some(Fault::Timeout { badge, more });
        self.send(thread, handler, InvocationFlags::new(true, true, false));
        true
    }

    /// The slow path of [`Ipc::wake_context`], for contexts that need a wake-up check. A timer or budget that ended
    /// while the thread was blocked is reported now.
    pub(super) fn wake_with_checks(
        &mut self,
        thread: Ptr<Thread<A>>,
        context: Ptr<SchedContext<A>>,
    ) {
        let idled = self.stop_idling(thread);
        if self[context].has(ContextFlag::Sporadic) {
            let now = self.core.now;
            self[context].unblock(now);
            self.trace_head(context);
        }
        if !self.is_schedulable(thread) {
            return;
        }
        let flags = if self.timer_of(context) <= self.core.now {
            timeout_flags::BLOCKED | timeout_flags::INSTANT
        } else if idled && !self[context].is_round_robin() && !self.has_budget(thread) {
            timeout_flags::BLOCKED
        } else {
            return;
        };
        // The operation that it waited for is complete: after the reply to the timeout it continues at the
        // next instruction.
        if let ThreadState::Running = self[thread].state {
            self[thread].context.complete_system_call();
        }
        self.raise_timeout(thread, flags);
    }
}

//! Idling contexts: their budget is charged while the thread waits at an endpoint, as some reservation
//! protocols require.
//!
//! Nothing happens while the thread waits. When it stops waiting, or the context is read or changed, the
//! context is charged for the time since.

use super::Scheduler;
use crate::arch::Arch;
use crate::object::{ContextFlags, SchedContext, Thread, ThreadState};
use crate::token::Ptr;

impl<A: Arch> Scheduler<A> {
    /// If a thread with an idling context has begun to wait at an endpoint, stores the time.
    pub(crate) fn start_idling(&mut self, thread: Ptr<Thread<A>>) {
        let waits = matches!(
            self[thread].state,
            ThreadState::BlockedOnSend { .. } | ThreadState::BlockedOnReceive { .. }
        );
        if waits
            && let Some(context) = self[thread].sched_context
            && self[context].flags.contains(ContextFlags::IDLING)
        {
            self[thread].idling = Some(self.core.now);
        }
    }

    /// Charges an idling context up to now, if its thread waits.
    pub(crate) fn charge_idling(&mut self, context: Ptr<SchedContext<A>>) {
        if let Some(thread) = self[context].thread
            && self.stop_idling(thread)
        {
            self.start_idling(thread);
        }
    }

    /// Charges the context of a thread for the time that the thread has waited. Returns whether the context
    /// was idling.
    pub(crate) fn stop_idling(&mut self, thread: Ptr<Thread<A>>) -> bool {
        let since = self[thread].idling.take();
        let (Some(since), Some(context)) = (since, self[thread].sched_context) else {
            return false;
        };
        let (now, minimum) = (self.core.now, self.min_budget());
        let before = self[context].consumed;
        self[context].idle(since, now, minimum);
        self.trace_idled(context, before);
        true
    }
}

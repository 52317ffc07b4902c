//! The timers of scheduling contexts, and the links between contexts and the threads that have yielded to
//! them: such a thread waits for an answer, has a timer set, or both. A thread has at most one timer, and so
//! has a context. The answers are in `ipc::yield_to`.

use super::Scheduler;
use crate::arch::Arch;
use crate::config::CORES;
use crate::object::{ContextFlags, SchedContext, Thread, YieldAnswer};
use crate::time::Ticks;
use crate::token::Ptr;

impl<A: Arch> Scheduler<A> {
    /// Links `caller` with `context`, to be answered with the time consumed from it.
    pub(crate) fn begin_yield_to(
        &mut self,
        caller: Ptr<Thread<A>>,
        context: Ptr<SchedContext<A>>,
        answer: YieldAnswer,
    ) {
        self[caller].yielding_to = Some(context);
        self[caller].yield_answer = Some(answer);
        self[context].yielded_from = Some(caller);
    }

    /// Sets the timer of `context`: the run of its thread ends at `instant` at the latest.
    pub(crate) fn start_timer(
        &mut self,
        caller: Ptr<Thread<A>>,
        context: Ptr<SchedContext<A>>,
        instant: Ticks,
    ) {
        self[caller].yielding_to = Some(context);
        self[caller].yield_timer = instant;
        self[context].yielded_from = Some(caller);
        self[context].flags.set(ContextFlags::NEEDS_CHECK, true);
    }

    /// The time at which the timer of a context expires.
    pub(crate) fn timer_of(&self, context: Ptr<SchedContext<A>>) -> Ticks {
        let setter = self[context].yielded_from;
        setter.map_or(Ticks::NEVER, |thread| self[thread].yield_timer)
    }

    /// Removes the timer of a context.
    pub(crate) fn stop_timer(&mut self, context: Ptr<SchedContext<A>>) {
        if let Some(caller) = self[context].yielded_from {
            self[caller].yield_timer = Ticks::NEVER;
            if self[caller].yield_answer.is_none() {
                self.cancel_yield_to(caller);
            }
        }
    }

    /// Unlinks `caller` from its context: it gets no answer, and its timer is removed.
    pub(crate) fn cancel_yield_to(&mut self, caller: Ptr<Thread<A>>) {
        if let Some(context) = self[caller].yielding_to.take() {
            self[context].yielded_from = None;
            // Another core may be programmed for the timer.
            if CORES > 1 && self[caller].yield_timer < Ticks::NEVER {
                self.owning_core_of_context(context).core.reprogram = true;
            }
            self[caller].yield_answer = None;
            self[caller].yield_timer = Ticks::NEVER;
        }
    }
}

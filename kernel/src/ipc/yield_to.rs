//! `SchedContext_YieldTo` and `SchedContext_YieldToTimeout`: run the thread of a scheduling context, and
//! report how much of the context was consumed.
//!
//! The caller stays linked with the context while it waits for the answer or has a timer set; these links
//! and timers are in `sched::timer`.

use abi::yield_target;

use super::Ipc;
use crate::arch::Arch;
use crate::config::CORES;
use crate::object::{Fault, PendingFault, Reply, SchedContext, Thread, ThreadState, YieldAnswer};
use crate::sched::Readiness;
use crate::time::Ticks;
use crate::token::Ptr;

impl<A: Arch> Ipc<A> {
    /// Answers `caller`, because it runs again or its context is deleted. Its timer stays set.
    pub(crate) fn finish_yield_to(&mut self, caller: Ptr<Thread<A>>) {
        let Some(context) = self[caller].yielding_to else {
            return;
        };
        if let Some(answer) = self[caller].yield_answer.take() {
            self.answer_yield(caller, context, answer);
            if self[caller].yield_timer == Ticks::NEVER {
                self.cancel_yield_to(caller);
            }
        }
    }

    /// Migrates a thread to a core. If it waits for an answer, it gets it first: the context that it yielded to stays on the
    /// other core, which may be charging it when the thread runs on its new one.
    pub(crate) fn migrate_after_answer(&mut self, thread: Ptr<Thread<A>>, core: u8) {
        if CORES > 1 && self[thread].core != core {
            self.finish_yield_to(thread);
            self.migrate_thread(thread, core);
        }
    }

    /// Answers the thread that is linked with `context`, if there is one, and removes its timer, because
    /// the context is deleted, migrates, or is the target of another `YieldTo`.
    pub(crate) fn finish_pending_yield(&mut self, context: Ptr<SchedContext<A>>) {
        if let Some(caller) = self[context].yielded_from {
            self.finish_yield_to(caller);
            self.cancel_yield_to(caller);
        }
    }

    /// Answers a `YieldTo`. The answer always has the state of the target: in the short answer, for which seL4
    /// defines only the consumed time, in the register after the message.
    pub(crate) fn answer_yield(
        &mut self,
        caller: Ptr<Thread<A>>,
        context: Ptr<SchedContext<A>>,
        answer: YieldAnswer,
    ) {
        let (used, count) = self.take_consumed(context).words();
        let now = self.arch.clock().microseconds(self.core.now);
        let mut words = [0; 5];
        words[..count].copy_from_slice(&used[..count]);
        words[count] = self.target_state(context);
        let length = match answer {
            YieldAnswer::Short => count,
            YieldAnswer::Long => {
                words[count + 1..][..count].copy_from_slice(&now.words().0[..count]);
                2 * count + 1
            }
        };
        self.answer_call(caller, 0, &words[..length]);
        if let YieldAnswer::Short = answer {
            self.set_message_word(caller, count, words[count]);
        }
    }

    /// The state of the thread of a context; see [`abi::yield_target`].
    fn target_state(&self, context: Ptr<SchedContext<A>>) -> usize {
        let Some(thread) = self[context].thread else {
            return yield_target::STOPPED;
        };
        if let PendingFault::Some(Fault::Timeout { .. }) = self[thread].fault {
            yield_target::TIMED_OUT
        } else if self[thread].is_blocked() {
            yield_target::BLOCKED
        } else if !self[thread].is_runnable() || !self[context].is_configured() {
            yield_target::STOPPED
        } else if self.readiness(thread) == Readiness::Ready {
            yield_target::RUNNABLE
        } else {
            yield_target::OUT_OF_TIME
        }
    }

    /// Whether `reply` holds a call of `thread`, or its timeout fault, that [`Self::release_call`] may answer.
    #[inline(always)]
    pub(crate) fn can_release(&self, reply: Ptr<Reply<A>>, thread: Ptr<Thread<A>>) -> bool {
        self[reply].thread() == Some(thread)
            && matches!(self[thread].state, ThreadState::BlockedOnReply { .. })
            && matches!(
                self[thread].fault,
                PendingFault::None | PendingFault::Some(Fault::Timeout { .. })
            )
            && !self.is_limited(reply)
    }

    /// Answers a call with an empty message, or ends a timeout fault: then the thread restarts.
    pub(crate) fn release_call(&mut self, reply: Ptr<Reply<A>>, thread: Ptr<Thread<A>>) {
        self.pop_call(thread, reply);
        match self[thread].fault {
            PendingFault::None => {
                self.answer_call(thread, 0, &[]);
                self[thread].state = ThreadState::Running;
            }
            PendingFault::Some(_) => {
                self[thread].fault = PendingFault::None;
                self[thread].state = ThreadState::Restart;
            }
        }
        self.trace_woken(thread);
        self.wake_context(thread);
    }
}

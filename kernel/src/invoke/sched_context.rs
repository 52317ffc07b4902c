//! Methods of scheduling contexts.

use abi::{Method, WORD_BITS};

use super::thread::check_released;
use super::{Answer, Done, Error, Invocation, Outcome, allow, ensure};
use crate::arch::Arch;
use crate::cap::Cap;
use crate::object::{Reply, SchedContext, Thread, YieldAnswer};
use crate::sched::Readiness;
use crate::time::{Microseconds, Ticks};
use crate::token::Ptr;
use crate::{ExclusiveKernel, Kernel};

impl<A: Arch> Invocation<A> {
    pub(super) fn invoke_context(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        context: Ptr<SchedContext<A>>,
    ) -> Outcome {
        match self.method {
            Method::SchedContextBind => self.bind_context(kernel, context)?,
            Method::SchedContextUnbind => {
                allow(kernel[context].thread != Some(self.caller))?;
                kernel.unbind_all(context);
            }
            Method::SchedContextUnbindObject => self.unbind_object(kernel, context)?,
            Method::SchedContextConsumed => {
                kernel.charge_idling(context);
                return Ok(Answer::time(kernel.take_consumed(context)));
            }
            Method::SchedContextYieldTo | Method::SchedContextYieldToTimeout => {
                return self.yield_to(kernel, context);
            }
            _ => return Err(Error::IllegalOperation.into()),
        }
        Ok(Answer::Nothing)
    }

    fn bind_context(&self, kernel: &mut ExclusiveKernel<A>, context: Ptr<SchedContext<A>>) -> Done {
        self.require(0, 1)?;
        match self.extra_cap(kernel, 0) {
            Cap::Thread(thread) => {
                allow(kernel[context].thread.is_none())?;
                allow(kernel[thread].sched_context.is_none())?;
                check_released(kernel, thread, context)?;
                kernel.bind_thread(context, thread);
            }
            Cap::Notification(cap) => {
                allow(kernel[context].notification.is_none())?;
                allow(kernel[cap.object].sched_context.is_none())?;
                kernel.bind_lender(context, cap.object);
            }
            _ => return Err(Error::InvalidCapability(1).into()),
        }
        Ok(())
    }

    fn unbind_object(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        context: Ptr<SchedContext<A>>,
    ) -> Done {
        self.require(0, 1)?;
        match self.extra_cap(kernel, 0) {
            Cap::Thread(thread) => {
                allow(kernel[context].thread == Some(thread) && thread != self.caller)?;
                kernel.unbind_thread(context);
            }
            Cap::Notification(cap) => {
                allow(kernel[context].notification == Some(cap.object))?;
                kernel[context].notification = None;
                kernel[cap.object].sched_context = None;
            }
            _ => return Err(Error::InvalidCapability(1).into()),
        }
        Ok(())
    }

    fn decode_yield_to(
        &self,
        kernel: &Kernel<A>,
        context: Ptr<SchedContext<A>>,
    ) -> Result<YieldTo<A>, Error> {
        let caller = self.caller;
        let has_timer = self.method == Method::SchedContextYieldToTimeout;
        let mut instant = Microseconds(0);
        if has_timer {
            self.require(64 / WORD_BITS, 0)?;
            instant = self.time(kernel, 0).0;
        }
        let target = kernel[context].thread.ok_or(Error::IllegalOperation)?;
        allow(target != caller)?;
        allow(kernel[target].priority <= kernel[caller].max_controlled_priority)?;
        if !has_timer {
            return Ok((target, None, None));
        }
        let clock = kernel.arch.clock();
        let last = Microseconds(clock.microseconds(Ticks::NEVER).0 - 1);
        ensure(instant <= last, Error::range(0, last.word()))?;
        let reply = match self.extra_cap(kernel, 0) {
            Cap::Null => None,
            Cap::Reply { object, .. } if kernel.can_release(object, target) => Some(object),
            Cap::Reply { .. } => return Err(Error::IllegalOperation),
            _ => return Err(Error::InvalidCapability(1)),
        };
        // Rounded up, so that an answer at this tick never reports an earlier time.
        Ok((target, Some(clock.first_tick(instant)), reply))
    }

    fn yield_to(&self, kernel: &mut ExclusiveKernel<A>, context: Ptr<SchedContext<A>>) -> Outcome {
        let (target, timer, reply) = self.decode_yield_to(kernel, context)?;
        let answer = match timer {
            Some(_) => YieldAnswer::Long,
            None => YieldAnswer::Short,
        };
        let caller = self.caller;
        kernel.finish_pending_yield(context);
        kernel.cancel_yield_to(caller);
        let answer_now = |kernel: &mut ExclusiveKernel<A>| {
            if self.is_call {
                kernel.answer_yield(caller, context, answer);
            }
            Ok(Answer::Written)
        };
        // Without an answer, the caller learns from the target's timeout message that the time has passed.
        let gets_answer = self.is_call || timer.is_none();
        if gets_answer && timer.is_some_and(|instant| instant <= kernel.core.now) {
            return answer_now(kernel);
        }
        kernel.trace_yielded(caller, context, timer);
        if let Some(reply) = reply {
            kernel.release_call(reply, target);
        }
        // If it runs on another core, what it has used so far is charged before its budget decides anything here.
        kernel.owning_core(target);
        if !gets_answer {
            kernel.take_consumed(context);
        }
        // If the target runs on another core, its slice ends there.
        if kernel.readiness(target) == Readiness::LacksBudget {
            if kernel.is_current(target) {
                return answer_now(kernel);
            }
            kernel.postpone(target);
        }
        if !kernel.is_schedulable(target) {
            return answer_now(kernel);
        }
        if let Some(instant) = timer {
            kernel.start_timer(caller, context, instant);
        }
        let elsewhere = !gets_answer
            || kernel[target].core != kernel[caller].core
            || kernel[target].domain != kernel[caller].domain
            || kernel.rank(target) < kernel.rank(caller);
        kernel.choose_again();
        if elsewhere {
            kernel.owning_core(target).choose_again();
            kernel.ready_front(target);
            return answer_now(kernel);
        }
        // The target runs first. The caller is next in the ready queue and gets the result when it runs again.
        kernel.begin_yield_to(caller, context, answer);
        kernel.ready_front(caller);
        kernel.ready_front(target);
        Ok(Answer::Later)
    }
}

/// The arguments of `YieldTo` and `YieldToTimeout`: the target; when the timeout of the caller expires; and the
/// reply object with the target's call or timeout fault, which is replied to first.
type YieldTo<A> = (Ptr<Thread<A>>, Option<Ticks>, Option<Ptr<Reply<A>>>);

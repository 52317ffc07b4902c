//! A turn of a scheduler at user level: `SchedContext_YieldToTimeout` by `NBSendRecv`.

use abi::registers::{CAP, DESTINATION, INFO, REPLY};
use abi::{MessageInfo, Method, WORD_BITS};

use super::{Eligible, NotEligible, eligible};
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::Cap;
use crate::object::{Reply, Thread, ThreadState};
use crate::time::Ticks;
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Replies to a thread, which runs until a time, and blocks the scheduler until the next message. It loads its
    /// arguments from the register context, so that the more frequent fast paths beside it need not save them.
    #[inline(never)]
    pub(super) fn fast_turn(&mut self, scheduler: Ptr<Thread<A>>) -> Eligible<Ptr<Thread<A>>> {
        const METHOD: usize = Method::SchedContextYieldToTimeout.number();
        const LENGTH: usize = 64 / WORD_BITS;
        let info = MessageInfo(self[scheduler].context.get(INFO));
        eligible(info.label() == METHOD)?;
        eligible(info.extra_caps() == 1 && info.length() >= LENGTH)?;
        let address = self[scheduler].context.get(DESTINATION);
        let context = Cap::decode_context(self.find(scheduler, address)?).ok_or(NotEligible)?;
        let sent = self.send_buffer(scheduler).ok_or(NotEligible)?;
        let reply = self.reply_object(scheduler, sent.extra_cap(0))?;
        self.is_on_this_core(self[context].core)?;
        self.is_on_this_core(self[reply].core())?;
        let thread = self[context].thread.ok_or(NotEligible)?;
        eligible(self[thread].priority <= self[scheduler].max_controlled_priority)?;
        // It waits for the reply to a call without donation, or to a timeout.
        eligible(self[reply].is_in_no_call_chain() && self.can_release(reply, thread))?;
        let setter = self[context].yielded_from;
        eligible(setter.is_none_or(|setter| setter == scheduler))?;
        if let Some(before) = self[scheduler].yielding_to {
            self.is_on_this_core(self[before].core)?;
        }
        let (instant, clock) = (self.message_time(scheduler), self.arch.clock());
        // Later times are converted on the slow path, which checks for overflow.
        eligible(instant <= clock.max_period())?;
        let timer = clock.first_tick(instant);
        let cap = self[scheduler].context.get(CAP);
        let cap = Cap::decode_endpoint(self.find(scheduler, cap)?).ok_or(NotEligible)?;
        let own = self[scheduler].context.get(REPLY);
        let own = self.reply_object(scheduler, own)?;
        eligible(own == reply || self[own].thread().is_none())?;
        eligible(!self[cap.object].has_threshold())?;
        let others = self.may_wait_for_call(scheduler, &cap, own)?;
        let reading = self.read_clock_with_budget()?;
        eligible(reading.now < timer)?;
        let available = self.can_run_until(thread, reading.now, timer)?;
        self.goes_first(thread, reading.now)?;

        self[reply].set_thread(None);
        if self[thread].fault.take().is_some() {
            self[thread].context.restart();
        } else {
            self.answer_call(thread, 0, &[]);
        }
        self[thread].outer_limit = None;
        self[thread].state = ThreadState::Running;
        self[context].consumed = Ticks::ZERO;
        self.cancel_yield_to(scheduler);
        self.start_timer(scheduler, context, timer);
        self.wait_for_call(scheduler, cap.object, others, own);
        self.commit_reading(Some(reading));
        self.switch_to_woken(thread, available);
        Ok(thread)
    }

    #[inline(always)]
    pub(super) fn reply_object(
        &self,
        thread: Ptr<Thread<A>>,
        address: usize,
    ) -> Eligible<Ptr<Reply<A>>> {
        Cap::decode_reply(self.find(thread, address)?).ok_or(NotEligible)
    }
}

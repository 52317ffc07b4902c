//! Timer interrupts: the end of a budget or of a `YieldToTimeout` that a timeout handler waits for, and the release
//! of a thread.

use abi::fault::timeout_flags;

use super::switch::ClockReading;
use super::{Eligible, NotEligible, eligible};
use crate::Kernel;
use crate::arch::Arch;
use crate::cap::Cap;
use crate::ipc::is_handler;
use crate::object::{SchedContext, Thread, ThreadSlot};
use crate::sched::Spent;
use crate::time::Ticks;
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Handles a timer interrupt, after the clock was read.
    pub(crate) fn fast_timer(&mut self) -> Eligible<Ptr<Thread<A>>> {
        eligible(abi::config::DOMAINS == 1)?;
        let reading = ClockReading {
            now: self.core.now,
            consumed: self.core.consumed,
        };
        if reading.consumed < self.core.check_threshold {
            return self.fast_release(reading);
        }
        let thread = self.core.current.ok_or(NotEligible)?;
        let context = self.core.current_context.ok_or(NotEligible)?;
        self.fast_timeout(thread, context, reading)
    }

    /// Reports the end of the current budget, or of its timer, to a handler that waits, which runs on its own context.
    #[inline(always)]
    fn fast_timeout(
        &mut self,
        thread: Ptr<Thread<A>>,
        context: Ptr<SchedContext<A>>,
        reading: ClockReading,
    ) -> Eligible<Ptr<Thread<A>>> {
        let Cap::Endpoint(handler) = self[thread].cap(ThreadSlot::TimeoutHandler) else {
            return Err(NotEligible);
        };
        eligible(is_handler(&handler))?;
        let (by, has_timer) = self.expiry_of(context)?;
        let (server, is_alone) = self.first_receiver(handler.object)?;
        let reply = self.reply_of(server)?.ok_or(NotEligible)?;
        let available = self.can_run(server, reading.now)?;
        self.runs_after_block(thread, server, reading.now)?;
        // If a thread with a criticality is ready, the ready queues decide between threads of one priority.
        let domain = self.core.current_domain();
        let first = (self.core.ready).first_normal(domain, self[server].priority);
        eligible(first.is_some())?;

        let flags = if let Spent::Timer = by {
            self.commit_time();
            timeout_flags::INSTANT
        } else {
            self.charge_slice(context, reading.consumed);
            0
        };
        self.take_receiver(handler.object, server, is_alone);
        self.track_call(thread, reply);
        let message = (self[context].badge, has_timer.then_some(flags));
        self.transfer_timeout(thread, server, handler.badge, message);
        if has_timer {
            self.stop_timer(context);
        }
        self.switch_to_woken(server, available);
        Ok(server)
    }

    /// What ends the use of the current context, whose budget check threshold is reached: its budget or its timer. And
    /// whether it has a timer, which the end removes.
    #[inline(always)]
    fn expiry_of(&mut self, context: Ptr<SchedContext<A>>) -> Eligible<(Spent, bool)> {
        eligible(self[context].is_configured())?;
        if self[context].may_expire_while_blocked() {
            return self.expiry_beside_timer(context);
        }
        eligible(!self[context].is_round_robin())?;
        Ok((Spent::Budget, false))
    }

    /// The same if there may be a timer.
    #[inline(never)]
    fn expiry_beside_timer(&mut self, context: Ptr<SchedContext<A>>) -> Eligible<(Spent, bool)> {
        eligible(self[context].has_at_most_a_timer())?;
        self.is_timer_local(context)?;
        let by = self.spent(context).ok_or(NotEligible)?;
        match by {
            Spent::Timer => {}
            Spent::Budget => eligible(!self[context].is_round_robin())?,
            Spent::Limit => return Err(NotEligible),
        }
        Ok((by, self.timer_of(context) < Ticks::NEVER))
    }

    /// Switches from the current thread, or from the idle loop, to a higher-priority thread that is due.
    #[inline(always)]
    fn fast_release(&mut self, reading: ClockReading) -> Eligible<Ptr<Thread<A>>> {
        let current = self.core.current;
        let (domain, level) = (self.core.current_domain(), self.core.level);
        let due = (self.core.release).highest_priority_due(domain, reading.now, level);
        let next = due.and_then(|due| due.thread).ok_or(NotEligible)?;
        self.is_resumable(next)?;
        let available = self.can_run(next, reading.now)?;
        eligible(current.is_none_or(|current| self[current].priority < self[next].priority))?;

        if let Some(current) = current {
            self.queue_front(current);
        }
        self.take_due(next);
        self.switch_context(next, available, false);
        Ok(next)
    }
}

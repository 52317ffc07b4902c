//! Endpoint thresholds: the budget that a sender must have.
//!
//! A server behind a threshold serves only callers with enough budget, so that a budget that runs out
//! during a request is an error of the caller or the server, not a normal event. The idea is that of
//! Johnston's endpoint budget thresholds for seL4's MCS kernel.
//!
//! Messages through endpoints without a threshold do not use this code: if `send` or `receive` finds a
//! threshold, it calls functions of this module, which remove the threshold and run it again.

use abi::registers::INFO;
use abi::{MessageInfo, WORD_BITS};

use super::{InvocationFlags, Ipc, Receiver};
use crate::arch::{Arch, UserContext};
use crate::cap::EndpointCap;
use crate::config::CORES;
use crate::error::{Error, allow};
use crate::object::{
    ContextFlags, Endpoint, EndpointState, EndpointThreshold, PendingFault, Progress, SchedContext,
    Thread, ThreadState, ThresholdFlags,
};
use crate::sched::Funding;
use crate::time::Ticks;
use crate::token::Ptr;

impl<A: Arch> Ipc<A> {
    /// Sends to an endpoint with a threshold. `sender` is the current thread.
    #[cold]
    pub(super) fn send_with_threshold(
        &mut self,
        sender: Ptr<Thread<A>>,
        cap: EndpointCap<A>,
        flags: InvocationFlags,
    ) {
        let endpoint = cap.object;
        let Some(threshold) = self[endpoint].threshold() else {
            return;
        };
        match self.admit(sender, threshold, flags) {
            Ok(Funding::Available) => {}
            // The head suffices when it is due; a receiver that gets the context waits for that.
            Ok(Funding::Later) if self.core.raises_once => {}
            Ok(Funding::Later) => {
                let needed = self.needed(threshold);
                self.trace_deferred(sender, needed);
                return self.defer(sender);
            }
            Err(error) => return self.refuse(sender, flags, error),
        }
        let receiver = match self[endpoint].state() {
            EndpointState::Receiving(queue) => queue.first(&self.objects),
            EndpointState::Idle | EndpointState::Sending(_) => None,
        };
        self[endpoint].set_threshold(None);
        self.send(sender, cap, flags);
        self[endpoint].set_threshold(Some(threshold));
        if let Some(receiver) = receiver {
            self.delivered(receiver, threshold, self[sender].sched_context.is_none());
        }
    }

    /// Receives from an endpoint with a threshold.
    #[cold]
    pub(super) fn receive_with_threshold(
        &mut self,
        receiver: Ptr<Thread<A>>,
        endpoint: Ptr<Endpoint<A>>,
        how: Receiver<A>,
    ) {
        let Some(threshold) = self[endpoint].threshold() else {
            return;
        };
        self.abandon_orphan(receiver, how.blocking);
        let passive = self[receiver].sched_context.is_none();
        let has_sender = matches!(self[endpoint].state(), EndpointState::Sending(_));
        self[endpoint].set_threshold(None);
        self.receive_without_threshold(receiver, endpoint, how);
        self[endpoint].set_threshold(Some(threshold));
        if has_sender {
            let donated = passive && self[receiver].sched_context.is_some();
            self.delivered(receiver, threshold, donated);
        }
    }

    /// Takes an orphaned context from a server that is about to wait at an endpoint with a threshold.
    ///
    /// A caller that is deleted while it is served leaves its context with the server (seL4 reference
    /// manual, section "Scheduling Context Donation"). With this context, which may have little budget,
    /// the server would not be passive, and would take no donation from later callers.
    fn abandon_orphan(&mut self, server: Ptr<Thread<A>>, waits: bool) {
        if let Some(context) = self[server].sched_context
            && waits
            && self[context].reply.is_none()
            && self[context].owner != Some(server)
        {
            if self[context].limit.is_some() {
                self.return_to_owner(context);
            } else {
                self.unbind_thread(context);
            }
        }
    }

    /// The budget that a sender must have.
    fn needed(&self, threshold: EndpointThreshold) -> Ticks {
        threshold.time + self.min_budget()
    }

    /// Checks a sender against an endpoint threshold. The message is sent when the sender has the budget; if
    /// that is later, the sender restarts its system call then. With an error it is not sent.
    fn admit(
        &mut self,
        sender: Ptr<Thread<A>>,
        threshold: EndpointThreshold,
        flags: InvocationFlags,
    ) -> Result<Funding, Error> {
        let context = self[sender].sched_context.filter(|_| flags.donate);
        let context = context.ok_or(Error::IllegalOperation)?;
        let limit = self.limit_of(context);
        allow(limit.is_none() || flags.call && threshold.flags.contains(ThresholdFlags::LIMIT))?;
        let needed = self.needed(threshold);
        // The largest amount that the context can ever have available.
        let most = self[context].budget.min(limit.unwrap_or(Ticks::NEVER));
        if most < needed {
            let needed = self.arch.clock().microseconds(needed);
            return Err(self.too_small(needed, most));
        }
        let head = self[context].head();
        let left = head.amount.saturating_sub(self.core.consumed);
        // That of a late request is used up: the next one may be due later.
        let is_due = CORES == 1 || head.time <= self.core.now;
        if is_due && left + self.retry_credit(context) >= needed {
            return Ok(Funding::Available);
        }
        self.merge_replenishments(context, needed, flags.blocking)
    }

    /// The time that a deferred sender has consumed since it was deferred, if it is at most the smallest
    /// budget: leaving the kernel and entering it again takes no more. Otherwise zero: the sender did other
    /// work (its registers or its program may have been changed), and is treated as any other.
    fn retry_credit(&self, context: Ptr<SchedContext<A>>) -> Ticks {
        let used = |since| Ticks(self.total_consumed(context).wrapping_sub(since));
        let used = self.core.again.map_or(Ticks::ZERO, used);
        if used <= self.min_budget() {
            used
        } else {
            Ticks::ZERO
        }
    }

    /// Lets a sender wait for a replenishment, or for its next timeslice, and then restart its system call.
    fn defer(&mut self, sender: Ptr<Thread<A>>) {
        self[sender].fault = PendingFault::None;
        self[sender].context.restart();
        self[sender].state = ThreadState::Running;
        if let Some(context) = self[sender].sched_context {
            let since = self.total_consumed(context);
            self[sender].progress = Progress::Deferred { since };
            self[context].flags.set(ContextFlags::NEEDS_CHECK, true);
        }
        self.wait_for_time(sender);
    }

    /// Reports to a caller why its message was not sent. Other senders get no error, as the ABI requires. If
    /// a fault message is refused, its thread stops.
    fn refuse(&mut self, sender: Ptr<Thread<A>>, flags: InvocationFlags, error: Error) {
        if let Some(fault) = self[sender].fault.take() {
            self.stop_with(sender, fault);
        } else if flags.call {
            self.answer_error(sender, error);
        }
    }

    /// Applies the threshold's flags after a message was delivered; `donated`: with the sender's context.
    fn delivered(&mut self, receiver: Ptr<Thread<A>>, threshold: EndpointThreshold, donated: bool) {
        let context = self[receiver].sched_context.filter(|_| donated);
        if let Some(context) = context {
            // An idling context may have been charged while its sender waited after the check. The
            // receiver then waits for replenishments that make up for it, so that it is not cut short.
            // A deferred sender may have used up to the smallest budget to send again.
            let least = threshold.time;
            if self[context].head().amount < least && !self[context].is_round_robin() {
                let needed = self.needed(threshold);
                self[context].refills().merge_until(needed, Ticks::NEVER);
                self.trace_head(context);
                self.core.reprogram = true;
            }
            if threshold.flags.contains(ThresholdFlags::LIMIT) {
                self.set_limit(context, least);
            }
        }
        if threshold.flags.contains(ThresholdFlags::TELL_BUDGET) {
            let budget = context.map_or(Ticks::ZERO, |context| self.available_budget(context));
            self.write_budget(receiver, budget);
        }
    }

    /// Appends a budget to the message that a receiver has received.
    fn write_budget(&mut self, receiver: Ptr<Thread<A>>, budget: Ticks) {
        let budget = self.arch.clock().microseconds(budget).0;
        let end = MessageInfo(self[receiver].context.get(INFO)).length();
        self.set_message_word(receiver, end, budget as usize);
        if WORD_BITS == 32 {
            self.set_message_word(receiver, end + 1, (budget >> 32) as usize);
        }
    }
}

//! ReplyRecv.

use abi::registers::REPLY;
use abi::{MessageInfo, Rights};

use super::capability::CapTransfer;
use super::{Eligible, NotEligible, SystemCall, eligible, require_plain};
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::{Cap, EndpointCap};
use crate::object::{
    Above, ContextFlags, Endpoint, Fault, NotificationState, PendingFault, Reply, SchedContext,
    Thread, ThreadState, WaitQueue,
};
use crate::slot::RawCap;
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Replies to a waiting caller, and blocks the server until the next call.
    #[inline(always)]
    pub(super) fn fast_reply_recv(&mut self, call: &SystemCall<A>) -> Eligible<Ptr<Thread<A>>> {
        require_plain(call.info)?;
        self.reply_and_wait(call, |_, _, _| Ok(None))
    }

    /// The same with one extra capability.
    #[inline(always)]
    pub(super) fn fast_reply_recv_with_capability(
        &mut self,
        call: &SystemCall<A>,
    ) -> Eligible<Ptr<Thread<A>>> {
        self.reply_and_wait(call, |kernel, reply, caller| {
            eligible(Cap::<A>::is_reply_with_grant(reply) && !kernel[caller].fault.is_some())?;
            kernel.prepare_transfer(call.thread, caller, None).map(Some)
        })
    }

    /// Replies with the extra capability that `prepare` finds, which gets the reply capability and the caller.
    #[inline(always)]
    fn reply_and_wait(
        &mut self,
        call: &SystemCall<A>,
        prepare: impl FnOnce(&mut Self, RawCap, Ptr<Thread<A>>) -> Eligible<Option<CapTransfer<A>>>,
    ) -> Eligible<Ptr<Thread<A>>> {
        let server = call.thread;
        let cap = Cap::decode_endpoint(self.find(server, call.cap)?).ok_or(NotEligible)?;
        let address = self[server].context.get(REPLY);
        let reply_cap = self.find(server, address)?;
        let reply = Cap::decode_reply(reply_cap).ok_or(NotEligible)?;
        let others = self.may_wait_for_call(server, &cap, reply)?;
        let caller = self[reply].thread().ok_or(NotEligible)?;
        let ThreadState::BlockedOnReply { .. } = self[caller].state else {
            return Err(NotEligible);
        };
        self.is_on_this_core(self[caller].core)?;
        if let Some(below) = self[reply].below {
            self.is_on_this_core(self[below].core())?;
        }
        let fault = self[caller].fault.get();
        eligible(fault.is_none_or(|fault| applies_reply(fault, call.info)))?;
        let context = self.core.current_context.ok_or(NotEligible)?;
        let transfer = prepare(self, reply_cap, caller)?;

        let reading = match self[reply].above {
            Above::Context(same) if same == context && self[caller].sched_context.is_none() => {
                self.may_run_on_donated_time(server, caller)?;
                let reading = self.read_clock_if_needed()?;
                self.commit_reading(reading);
                None
            }
            // A server that keeps its context behind a threshold may have to give it up.
            Above::None
                if transfer.is_none()
                    && self[reply].below.is_none()
                    && !self[cap.object].has_threshold() =>
            {
                let reading = self.read_clock_with_budget()?;
                let available = self.can_run(caller, reading.now)?;
                self.runs_after_block(server, caller, reading.now)?;
                Some((reading, available))
            }
            Above::Limited(same) if same == context && transfer.is_none() => {
                eligible(fault.is_none())?;
                return self.reply_within_limit(call, cap.object, others, reply, caller);
            }
            _ => return Err(NotEligible),
        };

        match fault {
            None => {
                self.deliver_message(server, caller, call.info, 0);
                if let Some(transfer) = transfer {
                    self.complete_transfer(caller, transfer);
                }
            }
            Some(fault) => self.apply_reply_to_fault(server, caller, fault),
        }
        self[caller].state = ThreadState::Running;
        if reading.is_some() {
            // Its call may have been cut off from a chain with a limit.
            self[caller].outer_limit = None;
        } else {
            self.return_donated(context, server, reply, caller);
        }
        self.wait_for_call(server, cap.object, others, reply);
        match reading {
            None => self.switch_on_same_context(server, caller),
            Some((reading, available)) => {
                self.commit_reading(Some(reading));
                self.switch_to_woken(caller, available);
            }
        }
        Ok(caller)
    }

    /// Returns a donated context to the caller.
    #[inline(always)]
    fn return_donated(
        &mut self,
        context: Ptr<SchedContext<A>>,
        server: Ptr<Thread<A>>,
        reply: Ptr<Reply<A>>,
        caller: Ptr<Thread<A>>,
    ) {
        let below = self[reply].below.take();
        if let Some(below) = below {
            self[below].above = Above::Context(context);
        }
        self[context].reply = below;
        self[reply].above = Above::None;
        self.donate_context(context, server, caller);
    }

    /// Replies to a call with a limit, which is not reached, and blocks the server until the next call.
    #[inline(never)]
    fn reply_within_limit(
        &mut self,
        call: &SystemCall<A>,
        endpoint: Ptr<Endpoint<A>>,
        others: WaitQueue<A>,
        reply: Ptr<Reply<A>>,
        caller: Ptr<Thread<A>>,
    ) -> Eligible<Ptr<Thread<A>>> {
        let server = call.thread;
        let context = self.core.current_context.ok_or(NotEligible)?;
        eligible(self[caller].sched_context.is_none() && self[caller].outer_limit.is_none())?;
        let reading = self.read_clock_within_limit(context)?;
        self.runs_after_block(server, caller, reading.now)?;

        self.commit_reading(Some(reading));
        self.deliver_message(server, caller, call.info, 0);
        self[caller].state = ThreadState::Running;
        self.return_donated(context, server, reply, caller);
        // That was the only reason for a budget check.
        self[context].limit = None;
        self[context].flags.set(ContextFlags::NEEDS_CHECK, false);
        self.wait_for_call(server, endpoint, others, reply);
        self.switch_on_charged_context(context, caller);
        Ok(caller)
    }

    /// Applies the reply to a fault; the thread restarts.
    #[inline(never)]
    fn apply_reply_to_fault(
        &mut self,
        handler: Ptr<Thread<A>>,
        thread: Ptr<Thread<A>>,
        fault: Fault,
    ) {
        self.apply_fault_reply(handler, thread, fault);
        self[thread].fault = PendingFault::None;
        self[thread].context.restart();
    }

    /// The threads that wait at an endpoint. Not eligible unless `server` may wait there, too, with a reply
    /// object: no message or signal comes first. At an endpoint with a threshold it may lose its context.
    #[inline(always)]
    pub(super) fn may_wait_for_call(
        &self,
        server: Ptr<Thread<A>>,
        cap: &EndpointCap<A>,
        reply: Ptr<Reply<A>>,
    ) -> Eligible<WaitQueue<A>> {
        eligible(cap.rights.contains(Rights::READ))?;
        self.is_on_this_core(self[cap.object].core())?;
        self.is_on_this_core(self[reply].core())?;
        eligible(self[cap.object].has_no_senders())?;
        self.receives_no_signal(server)?;
        Ok(self[cap.object].queue())
    }

    /// Not eligible if the receiver would get a signal instead of a message, or may have to give back a
    /// context that its bound notification has lent.
    #[inline(always)]
    fn receives_no_signal(&self, receiver: Ptr<Thread<A>>) -> Eligible<()> {
        let Some(notification) = self[receiver].bound_notification else {
            return Ok(());
        };
        let notification = &self[notification];
        self.is_on_this_core(notification.core)?;
        let is_active = matches!(notification.state, NotificationState::Active(_));
        eligible(!is_active && notification.sched_context.is_none())
    }

    /// Blocks the server until the next call.
    #[inline(always)]
    pub(super) fn wait_for_call(
        &mut self,
        server: Ptr<Thread<A>>,
        endpoint: Ptr<Endpoint<A>>,
        mut others: WaitQueue<A>,
        reply: Ptr<Reply<A>>,
    ) {
        self[reply].set_thread(Some(server));
        self[server].state = ThreadState::BlockedOnReceive {
            endpoint,
            reply: Some(reply),
        };
        if others.root().is_none() {
            WaitQueue::insert_only(&mut self.objects, server);
            self[endpoint].set_only_receiver(Some(server));
        } else {
            others.insert(&mut self.objects, server);
            self[endpoint].set_queue(others);
        }
    }
}

/// Whether the reply to a fault continues the thread and the fast path can apply it.
fn applies_reply(fault: Fault, info: MessageInfo) -> bool {
    match fault {
        Fault::Cap { .. } | Fault::Vm { .. } => true,
        Fault::UnknownSyscall { .. } | Fault::UserException { .. } => info.label() == 0,
        Fault::Debug { .. } | Fault::Timeout { .. } => false,
    }
}

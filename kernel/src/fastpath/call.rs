//! Call and Send to waiting receivers, and faults.

use abi::registers::{CAP, INFO, MESSAGE_REGISTERS};
use abi::{MessageInfo, Rights};

use super::capability::CapTransfer;
use super::switch::ClockReading;
use super::{Eligible, NotEligible, SystemCall, eligible, require_plain};
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::{Cap, EndpointCap};
use crate::ipc::is_handler;
use crate::object::{
    Endpoint, EndpointState, EndpointThreshold, Fault, PendingFault, Reply, SchedContext, Thread,
    ThreadSlot, ThreadState, ThresholdFlags, WaitQueue,
};
use crate::time::Ticks;
use crate::token::Ptr;

/// The content of a call.
#[derive(Clone, Copy)]
enum What {
    /// The message of the caller, without extra capabilities.
    Message(MessageInfo),
    /// The message of the caller, with one extra capability.
    WithCapability(MessageInfo),
    /// The message of a fault of the caller.
    Fault(Fault),
}

/// A caller that has the budget for an endpoint threshold.
struct Admission<A: Arch> {
    /// The first receiver, and whether it is the only one.
    first: (Ptr<Thread<A>>, bool),
    /// The clock reading by which it has the budget.
    reading: ClockReading,
    /// The threshold, and whether it is also a limit.
    time: Ticks,
    is_limited: bool,
}

impl<A: Arch> Kernel<A> {
    /// Calls a waiting receiver, which runs on the caller's context or on its own.
    #[inline(always)]
    pub(super) fn fast_call(&mut self, call: &SystemCall<A>) -> Eligible<Ptr<Thread<A>>> {
        let caller = call.thread;
        require_plain(call.info)?;
        let cap = Cap::decode_endpoint(self.find(caller, call.cap)?).ok_or(NotEligible)?;
        let may_reply = Rights::GRANT.union(Rights::GRANT_REPLY);
        eligible(cap.rights.contains(Rights::WRITE))?;
        eligible(cap.rights.intersection(may_reply) != Rights::NONE)?;
        self.call_waiting(caller, &cap, What::Message(call.info))
    }

    /// The same with one extra capability.
    #[inline(always)]
    pub(super) fn fast_call_with_capability(
        &mut self,
        call: &SystemCall<A>,
    ) -> Eligible<Ptr<Thread<A>>> {
        let cap = Cap::decode_endpoint(self.find(call.thread, call.cap)?).ok_or(NotEligible)?;
        eligible(cap.rights.contains(Rights::WRITE.union(Rights::GRANT)))?;
        self.call_waiting(call.thread, &cap, What::WithCapability(call.info))
    }

    /// Reports a fault of the current thread, which is a call to its handler.
    #[inline(always)]
    pub(crate) fn fast_fault(
        &mut self,
        thread: Ptr<Thread<A>>,
        fault: Fault,
    ) -> Eligible<Ptr<Thread<A>>> {
        let Cap::Endpoint(handler) = self[thread].cap(ThreadSlot::FaultHandler) else {
            return Err(NotEligible);
        };
        eligible(is_handler(&handler))?;
        self.call_waiting(thread, &handler, What::Fault(fault))
    }

    /// Calls by a capability with the necessary rights.
    #[inline(always)]
    fn call_waiting(
        &mut self,
        caller: Ptr<Thread<A>>,
        cap: &EndpointCap<A>,
        what: What,
    ) -> Eligible<Ptr<Thread<A>>> {
        let (server, is_alone) = match (self.first_receiver(cap.object), what) {
            (found, What::Fault(_)) => found?,
            (Ok(found), _) => found,
            (Err(NotEligible), _) => {
                let admission = self.admitted_to(cap.object)?;
                if admission.is_limited {
                    let What::Message(info) = what else {
                        return Err(NotEligible);
                    };
                    return self.call_with_limit(caller, cap, info, &admission);
                }
                admission.first
            }
        };
        let reply = self.reply_of(server)?.ok_or(NotEligible)?;
        let transfer = match what {
            What::WithCapability(_) => {
                Some(self.prepare_transfer(caller, server, Some(cap.object))?)
            }
            What::Message(_) | What::Fault(_) => None,
        };
        let context = self.core.current_context.ok_or(NotEligible)?;
        if self[server].sched_context.is_some() {
            eligible(transfer.is_none())?;
            let reading = self.read_clock_beside_timer(caller, context)?;
            let available = self.can_run(server, reading.now)?;
            self.runs_after_block(caller, server, reading.now)?;

            self.take_receiver(cap.object, server, is_alone);
            self.track_call(caller, reply);
            self.write_fast_message(caller, server, what, cap.badge, transfer);
            self.commit_reading(Some(reading));
            self.switch_to_woken(server, available);
            return Ok(server);
        }
        self.may_run_on_donated_time(caller, server)?;
        let reading = self.read_clock_if_needed()?;

        self.commit_reading(reading);
        self.take_receiver(cap.object, server, is_alone);
        self.track_call(caller, reply);
        self.join_call_chain(context, reply);
        self.donate_context(context, caller, server);
        self.write_fast_message(caller, server, what, cap.badge, transfer);
        self.switch_on_same_context(caller, server);
        Ok(server)
    }

    /// Calls a passive server, which gets a limit.
    #[inline(never)]
    fn call_with_limit(
        &mut self,
        caller: Ptr<Thread<A>>,
        cap: &EndpointCap<A>,
        info: MessageInfo,
        admission: &Admission<A>,
    ) -> Eligible<Ptr<Thread<A>>> {
        let (server, is_alone) = admission.first;
        let reading = admission.reading;
        let reply = self.reply_of(server)?.ok_or(NotEligible)?;
        eligible(self[server].sched_context.is_none())?;
        let context = self.core.current_context.ok_or(NotEligible)?;
        self.runs_after_block(caller, server, reading.now)?;

        self.commit_reading(Some(reading));
        self.take_receiver(cap.object, server, is_alone);
        self.track_call(caller, reply);
        self.join_call_chain(context, reply);
        self.donate_context(context, caller, server);
        self.set_limit(context, admission.time);
        self.deliver_message(caller, server, info, cap.badge);
        self.switch_on_charged_context(context, server);
        Ok(server)
    }

    #[inline(always)]
    fn write_fast_message(
        &mut self,
        caller: Ptr<Thread<A>>,
        server: Ptr<Thread<A>>,
        what: What,
        badge: usize,
        transfer: Option<CapTransfer<A>>,
    ) {
        match what {
            What::Message(info) | What::WithCapability(info) => {
                self.deliver_message(caller, server, info, badge);
                if let Some(transfer) = transfer {
                    self.complete_transfer(server, transfer);
                }
            }
            What::Fault(fault) => {
                self[caller].fault = PendingFault::Some(fault);
                self.transfer_fault(caller, server, badge);
            }
        }
    }

    /// Sends a message without a reply, replies to a caller, or signals a notification.
    #[inline(always)]
    pub(super) fn fast_send(&mut self, call: &SystemCall<A>) -> Eligible<Ptr<Thread<A>>> {
        require_plain(call.info)?;
        let found = self.find(call.thread, call.cap)?;
        if let Some(cap) = Cap::decode_notification(found) {
            eligible(cap.rights.contains(Rights::WRITE))?;
            return self.fast_signal(call.thread, cap.object, cap.badge);
        }
        let Some(cap) = Cap::decode_endpoint(found) else {
            let reply = Cap::decode_reply(found).ok_or(NotEligible)?;
            return self.fast_reply(call.thread, reply);
        };
        eligible(cap.rights.contains(Rights::WRITE))?;
        self.send_to_waiting(call, cap)
    }

    #[inline(always)]
    fn send_to_waiting(
        &mut self,
        call: &SystemCall<A>,
        cap: EndpointCap<A>,
    ) -> Eligible<Ptr<Thread<A>>> {
        let sender = call.thread;
        let (receiver, is_alone) = self.first_receiver(cap.object)?;
        let reply = self.reply_of(receiver)?;
        let reading = self.read_clock_with_budget()?;
        let available = self.can_run(receiver, reading.now)?;
        self.is_decided_between(sender, receiver, reading.now)?;

        self.take_receiver(cap.object, receiver, is_alone);
        if let Some(reply) = reply {
            self[reply].set_thread(None);
        }
        self.deliver_message(sender, receiver, call.info, cap.badge);
        Ok(self.wake_beside(sender, receiver, reading, available))
    }

    /// The first receiver of an endpoint, and whether it is the only one.
    #[inline(always)]
    pub(super) fn first_receiver(
        &self,
        endpoint: Ptr<Endpoint<A>>,
    ) -> Eligible<(Ptr<Thread<A>>, bool)> {
        let root = self[endpoint]
            .receivers_without_threshold()
            .ok_or(NotEligible)?;
        self.is_on_this_core(self[endpoint].core())?;
        self.first_of(WaitQueue::from_root(Some(root)))
    }

    /// The first thread of a wait queue, and whether it is the only one.
    #[inline(always)]
    pub(super) fn first_of(&self, queue: WaitQueue<A>) -> Eligible<(Ptr<Thread<A>>, bool)> {
        if let Some(only) = queue.only(&self.objects) {
            return Ok((only, true));
        }
        let first = queue.first(&self.objects);
        first.map(|first| (first, false)).ok_or(NotEligible)
    }

    /// Not eligible unless a receiver waits, the endpoint threshold does not report the budget to it, and the
    /// caller has the budget.
    #[inline(never)]
    fn admitted_to(&self, endpoint: Ptr<Endpoint<A>>) -> Eligible<Admission<A>> {
        let EndpointThreshold { time, flags } = self[endpoint].threshold().ok_or(NotEligible)?;
        let EndpointState::Receiving(queue) = self[endpoint].state() else {
            return Err(NotEligible);
        };
        let is_limited = flags == ThresholdFlags::LIMIT;
        eligible(is_limited || flags.is_empty())?;
        self.is_on_this_core(self[endpoint].core())?;
        let context = self.core.current_context.ok_or(NotEligible)?;
        let reading = self.read_clock_with_budget()?;
        let left = self[context].head().amount;
        eligible(left.saturating_sub(reading.consumed) >= time + self.min_budget())?;
        let first = self.first_of(queue)?;
        Ok(Admission {
            first,
            reading,
            time,
            is_limited,
        })
    }

    /// The reply object of a thread that is blocked on receive.
    #[inline(always)]
    pub(super) fn reply_of(&self, receiver: Ptr<Thread<A>>) -> Eligible<Option<Ptr<Reply<A>>>> {
        match self[receiver].state {
            ThreadState::BlockedOnReceive { reply, .. } => Ok(reply),
            _ => Err(NotEligible),
        }
    }

    /// Takes a receiver out of the wait queue.
    #[inline(always)]
    pub(super) fn take_receiver(
        &mut self,
        endpoint: Ptr<Endpoint<A>>,
        receiver: Ptr<Thread<A>>,
        is_alone: bool,
    ) {
        if is_alone {
            WaitQueue::remove_only(&mut self.objects, receiver);
            self[endpoint].set_only_receiver(None);
        } else {
            self.leave_endpoint(endpoint, receiver);
        }
        self[receiver].state = ThreadState::Running;
    }

    /// Blocks the caller until the reply.
    #[inline(always)]
    pub(super) fn track_call(&mut self, caller: Ptr<Thread<A>>, reply: Ptr<Reply<A>>) {
        self[reply].set_thread(Some(caller));
        self[caller].state = ThreadState::BlockedOnReply { reply };
    }

    /// Moves a context from one thread to another; neither is in a scheduler queue.
    #[inline(always)]
    pub(super) fn donate_context(
        &mut self,
        context: Ptr<SchedContext<A>>,
        from: Ptr<Thread<A>>,
        to: Ptr<Thread<A>>,
    ) {
        self[from].sched_context = None;
        self[to].sched_context = Some(context);
        self[to].core = self[context].core;
        self[context].thread = Some(to);
    }

    /// Copies a message without extra capabilities.
    #[inline(always)]
    pub(super) fn deliver_message(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        info: MessageInfo,
        badge: usize,
    ) {
        let info = info.plain();
        let info = if info.raw_length() <= MESSAGE_REGISTERS {
            self.copy_words(sender, receiver, info.raw_length());
            info
        } else {
            let length = self.copy_words(sender, receiver, info.length());
            MessageInfo::new(info.label(), 0, length)
        };
        let context = &mut self[receiver].context;
        context.set_result(INFO, info.0);
        context.set_result(CAP, badge);
    }
}

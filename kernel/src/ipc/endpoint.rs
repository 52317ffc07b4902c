//! Sending to and receiving from endpoints.

use abi::Rights;
use abi::fault::timeout_flags;
use abi::registers::CAP;

use super::Ipc;
use crate::arch::{Arch, UserContext};
use crate::cap::EndpointCap;
use crate::object::{
    ContextFlags, Endpoint, EndpointState, Fault, NotificationState, PendingFault, Reply,
    SchedContext, Thread, ThreadState, WaitQueue,
};
use crate::sched::Readiness;
use crate::token::Ptr;
use crate::tracing::Move;

/// The invocation flags.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InvocationFlags {
    /// Wait for a receiver, and report lookup errors.
    pub blocking: bool,
    /// Wait for a reply.
    pub call: bool,
    /// Donate the sender's scheduling context.
    pub donate: bool,
}

impl InvocationFlags {
    pub(crate) const SEND: Self = Self::new(true, false, false);
    pub(crate) const NB_SEND: Self = Self::new(false, false, false);
    pub(crate) const CALL: Self = Self::new(true, true, true);
    /// The send phase of a system call that also receives.
    pub(crate) const SEND_PHASE: Self = Self::new(false, false, true);

    pub(crate) const fn new(blocking: bool, call: bool, donate: bool) -> Self {
        Self {
            blocking,
            call,
            donate,
        }
    }

    /// Whether this is the send phase of a system call that also receives. Operations that could interfere with the
    /// receive phase are refused in it.
    pub(crate) const fn is_send_phase(self) -> bool {
        self.donate && !self.call
    }
}

/// The flags of a receive operation.
#[derive(Clone, Copy)]
pub(crate) struct Receiver<A: Arch> {
    /// Wait for a sender.
    pub blocking: bool,
    /// The reply object that will track the caller.
    pub reply: Option<Ptr<Reply<A>>>,
}

impl<A: Arch> Ipc<A> {
    /// Sends the message of `sender` (or its fault) to an endpoint.
    pub(crate) fn send(
        &mut self,
        sender: Ptr<Thread<A>>,
        cap: EndpointCap<A>,
        flags: InvocationFlags,
    ) {
        let endpoint = cap.object;
        let grant = cap.rights.contains(Rights::GRANT);
        let grant_reply = cap.rights.contains(Rights::GRANT_REPLY);
        let Some(receivers) = self[endpoint].receivers_without_threshold() else {
            if self[endpoint].has_threshold() {
                return self.send_with_threshold(sender, cap, flags);
            }
            if flags.blocking {
                self[sender].last_cancel = self.core.cancels;
                self[sender].state = ThreadState::BlockedOnSend {
                    endpoint,
                    badge: cap.badge,
                    grant,
                    grant_reply,
                    call: flags.call,
                };
                self.wait_at(endpoint, sender);
                self.trace_blocked(sender);
            }
            return;
        };
        let Some(receiver) = WaitQueue::from_root(Some(receivers)).first(&self.objects) else {
            return;
        };
        self.leave_endpoint(endpoint, receiver);
        let reply = self[receiver].state.reply();
        if let Some(reply) = reply {
            self[reply].set_thread(None);
        }

        self.transfer(sender, receiver, Some(endpoint), cap.badge, grant);
        if flags.call || self[sender].fault.is_some() {
            let reply = reply.filter(|_| grant || grant_reply);
            self.push_call(sender, receiver, reply, flags.donate);
        } else if flags.donate
            && self[receiver].sched_context.is_none()
            && let Some(context) = self[sender].sched_context
        {
            self.trace_move(context, Some(receiver), Move::Send);
            self.donate(context, receiver);
        }
        self.wake(receiver, ThreadState::Running);
    }

    /// Makes a blocked thread runnable: `Running` if the operation that it waits for is complete, `Restart` if it
    /// executes its instruction again.
    pub(crate) fn wake(&mut self, thread: Ptr<Thread<A>>, state: ThreadState<A>) {
        self[thread].state = state;
        self.trace_woken(thread);
        self.wake_context(thread);
        self.possible_switch_to(thread);
    }

    /// A thread is woken by an event: unused budget of a sporadic context counts from now on.
    #[inline(always)]
    pub(crate) fn wake_context(&mut self, thread: Ptr<Thread<A>>) {
        if let Some(context) = self[thread].sched_context
            && self[context].needs_wakeup_check()
            && !self.is_current_context(context)
        {
            self.wake_with_checks(thread, context);
        }
    }

    /// The slow path of [`Ipc::wake_context`], for contexts that need a wake-up check. A timer or budget that ended
    /// while the thread was blocked is reported now; if the thread is woken by such a report itself, the timer ends its
    /// run, and without budget it waits for a replenishment.
    fn wake_with_checks(&mut self, thread: Ptr<Thread<A>>, context: Ptr<SchedContext<A>>) {
        let idled = self.stop_idling(thread);
        if self[context].flags.contains(ContextFlags::SPORADIC) {
            let now = self.core.now;
            self[context].unblock(now);
            self.trace_head(context);
        }
        let readiness = self.readiness(thread);
        if readiness == Readiness::NotReady || self.core.reports_timeout {
            return;
        }
        let flags = if self.timer_of(context) <= self.core.now {
            timeout_flags::BLOCKED | timeout_flags::INSTANT
        } else if idled && !self[context].is_round_robin() && readiness == Readiness::LacksBudget {
            timeout_flags::BLOCKED
        } else {
            return;
        };
        self.raise_timeout_of_woken(thread, flags);
    }

    /// Receives from an endpoint into `receiver`, the current thread.
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        receiver: Ptr<Thread<A>>,
        endpoint: Ptr<Endpoint<A>>,
        how: Receiver<A>,
    ) {
        if let Some(reply) = how.reply
            && let Some(user) = self[reply].thread()
            && user != receiver
        {
            self.take_reply(user, reply);
        }
        if let Some(notification) = self[receiver].bound_notification {
            if let NotificationState::Active(word) = self[notification].state {
                self[notification].state = NotificationState::Idle;
                self[receiver].context.set_result(CAP, word);
                self.lend_context(notification, receiver);
                self.switch_to_migrated(receiver);
                return;
            }
            if how.blocking {
                self.return_lent_context(receiver, notification);
            }
        }
        self.receive_message(receiver, endpoint, how);
    }

    /// Receives when no signal is pending: takes the message of the first sender, or waits for one.
    #[inline(always)]
    fn receive_message(
        &mut self,
        receiver: Ptr<Thread<A>>,
        endpoint: Ptr<Endpoint<A>>,
        how: Receiver<A>,
    ) {
        if self[endpoint].has_no_senders_and_no_threshold() {
            if how.blocking {
                let reply = how.reply;
                if let Some(reply) = reply {
                    self[reply].set_thread(Some(receiver));
                    let core = self[receiver].core;
                    self[reply].set_core(core);
                }
                self[receiver].state = ThreadState::BlockedOnReceive { endpoint, reply };
                self.wait_at(endpoint, receiver);
                self.trace_blocked(receiver);
            } else {
                self[receiver].context.set_result(CAP, 0);
                self.claim(endpoint, how.reply, receiver);
            }
            return;
        }
        if self[endpoint].has_threshold() {
            return self.receive_with_threshold(receiver, endpoint, how);
        }
        let EndpointState::Sending(senders) = self[endpoint].state() else {
            return;
        };
        let Some(sender) = senders.first(&self.objects) else {
            return;
        };
        self.leave_endpoint(endpoint, sender);
        let ThreadState::BlockedOnSend {
            badge,
            grant,
            grant_reply,
            call,
            ..
        } = self[sender].state
        else {
            return;
        };

        self.transfer(sender, receiver, Some(endpoint), badge, grant);
        if call || self[sender].fault.is_some() {
            self.wake_context(sender);
            let timeout = matches!(
                self[sender].fault,
                PendingFault::Some(Fault::Timeout { .. })
            );
            let reply = how.reply.filter(|_| grant || grant_reply);
            self.push_call(sender, receiver, reply, !timeout);
            self.switch_to_migrated(receiver);
        } else {
            self.wake(sender, ThreadState::Running);
        }
    }

    /// Receives after the endpoint threshold was checked and removed for this operation. Not inlined, to keep
    /// it out of the code for endpoints without a threshold.
    #[cold]
    pub(super) fn receive_without_threshold(
        &mut self,
        receiver: Ptr<Thread<A>>,
        endpoint: Ptr<Endpoint<A>>,
        how: Receiver<A>,
    ) {
        self.receive_message(receiver, endpoint, how);
    }

    /// Makes the core of `receiver` the owning core of an endpoint without waiting threads, and of a reply object that no
    /// thread uses, after a non-blocking receive.
    fn claim(
        &mut self,
        endpoint: Ptr<Endpoint<A>>,
        reply: Option<Ptr<Reply<A>>>,
        receiver: Ptr<Thread<A>>,
    ) {
        let core = self[receiver].core;
        if self[endpoint].is_idle_without_threshold() {
            self[endpoint].set_core(core);
        }
        if let Some(reply) = reply
            && self[reply].thread().is_none()
        {
            self[reply].set_core(core);
        }
    }

    /// Takes a thread out of the queue of an endpoint.
    pub(crate) fn leave_endpoint(&mut self, endpoint: Ptr<Endpoint<A>>, thread: Ptr<Thread<A>>) {
        if self[endpoint].is_cancelling() {
            return self.leave_while_cancelling(endpoint, thread);
        }
        let mut queue = self[endpoint].queue();
        queue.remove(&mut self.objects, thread);
        self[endpoint].set_queue(queue);
    }

    /// Puts a blocked thread into the queue of an endpoint.
    pub(super) fn wait_at(&mut self, endpoint: Ptr<Endpoint<A>>, thread: Ptr<Thread<A>>) {
        self.leave_scheduler(thread);
        let mut queue = self[endpoint].queue();
        let core = queue.core_with(self[endpoint].core(), self[thread].core);
        self[endpoint].set_core(core);
        let is_first = queue.is_empty();
        queue.insert(&mut self.objects, thread);
        if !is_first {
            self[endpoint].set_queue(queue);
        } else if let ThreadState::BlockedOnReceive { .. } = self[thread].state {
            self[endpoint].set_only_receiver(Some(thread));
        } else {
            self[endpoint].set_only_sender(thread);
        }
    }
}

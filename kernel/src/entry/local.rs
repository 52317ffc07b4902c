//! Decides whether a kernel entry is core-local.
//!
//! It is if this core owns every object that the entry uses. Threads, scheduling contexts, endpoints,
//! notifications and reply objects name their owning core (or [`crate::object::NO_CORE`]); only threads of
//! that core wait at them. Rare cases and all cases not listed here count as not core-local: the core then
//! takes the entry lock exclusively, and handles the entry in the same way.
//!
//! Capabilities can be read in shared mode, because they are changed in exclusive mode only. Lookups that
//! take many levels count as not core-local: they would be done twice, and here without a preemption point.

use abi::registers::{CAP, DESTINATION, INFO, REPLY, SYSCALL};
use abi::{MessageInfo, Rights, Syscall};

use crate::Kernel;
use crate::arch::{Arch, Interrupt, UserContext};
use crate::cap::Cap;
use crate::ipc::is_handler;
use crate::object::{
    Above, ContextFlags, Endpoint, Fault, Notification, NotificationState, PendingFault, Reply,
    SchedContext, Thread, ThreadSlot, ThreadState,
};
use crate::time::Ticks;
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Whether the system call of the current thread is core-local.
    pub(crate) fn is_system_call_local(&mut self) -> bool {
        let Some(thread) = self.core.current else {
            return true;
        };
        let register = |register| self[thread].context.get(register);
        let (cap, reply) = (register(CAP), register(REPLY));
        // Where the thread sends to, and with which reply object it receives.
        let (target, receive) = match Syscall::from_number(register(SYSCALL)) {
            Some(Syscall::Send | Syscall::NBSend | Syscall::Call) => (Some(cap), None),
            Some(Syscall::Recv | Syscall::NBRecv) => (None, Some(Some(reply))),
            Some(Syscall::Wait | Syscall::NBWait) => (None, Some(None)),
            Some(Syscall::ReplyRecv) => (Some(reply), Some(Some(reply))),
            Some(Syscall::NBSendRecv) => (Some(register(DESTINATION)), Some(Some(reply))),
            Some(Syscall::NBSendWait) => (Some(reply), Some(None)),
            Some(Syscall::Yield | Syscall::SetTlsBase) => (None, None),
            Some(Syscall::YieldUntilBudget) if cfg!(feature = "thresholds") => (None, None),
            Some(Syscall::TraceMark) if cfg!(feature = "tracing") => (None, None),
            // Unknown system calls are faults.
            Some(Syscall::YieldUntilBudget | Syscall::TraceMark) | None => {
                return self.is_fault_local();
            }
            Some(_) => return false,
        };
        target.is_none_or(|target| self.is_send_local(thread, target))
            && receive.is_none_or(|reply| self.is_receive_local(thread, cap, reply))
            && self.is_time_local()
    }

    /// Whether a fault of the current thread is core-local.
    pub(crate) fn is_fault_local(&mut self) -> bool {
        let Some(thread) = self.core.current else {
            return true;
        };
        self.is_fault_delivery_local(thread) && self.is_time_local()
    }

    /// Whether an interrupt is core-local. Device interrupts are not: the table of the threads and
    /// notifications that they signal is shared, and the registers of the interrupt controller may be.
    pub(crate) fn is_interrupt_local(&mut self, interrupt: Interrupt) -> bool {
        !matches!(interrupt, Interrupt::Line(_)) && self.is_time_local()
    }

    /// Whether the current thread has budget, and its domain a turn, by a new clock reading.
    #[cold]
    pub(super) fn is_time_left(&self) -> bool {
        let now = self.arch.now();
        let used = self.core.consumed + now.saturating_sub(self.core.now);
        let context = self.core.current_context;
        self.domain_end().saturating_sub(now) >= self.min_budget()
            && context.is_none_or(|context| self.has_left(context, used))
    }

    /// Whether the effects of the time that has passed are core-local. If so, the clock reading of this
    /// decision is the time of this entry.
    pub(super) fn is_time_local(&mut self) -> bool {
        let now = self.arch.now();
        self.entry_lock.clock_reading = Some(now);
        let (Some(thread), Some(context)) = (self.core.current, self.core.current_context) else {
            return true;
        };
        let used = self.core.consumed + now.saturating_sub(self.core.now);
        self.outlasts(context, used)
            || self.needs_no_report(context) && self.is_timeout_local(thread)
    }

    /// Whether the current context holds the smallest budget after `used`, and nothing else ends its use. The budget
    /// check threshold would not do: it is zero while this core is traced.
    fn outlasts(&self, context: Ptr<SchedContext<A>>, used: Ticks) -> bool {
        !self[context].flags.contains(ContextFlags::NEEDS_CHECK) && self.has_left(context, used)
    }

    /// Whether reporting to the timeout handler of a thread, if there is one, is core-local.
    fn is_timeout_local(&self, thread: Ptr<Thread<A>>) -> bool {
        match self[thread].cap(ThreadSlot::TimeoutHandler) {
            Cap::Null => true,
            Cap::Endpoint(cap) => self.is_endpoint_local(cap.object),
            _ => false,
        }
    }

    /// Whether a change of a scheduling context's budget has effects on this core only.
    fn needs_no_report(&self, context: Ptr<SchedContext<A>>) -> bool {
        let object = &self[context];
        self.is_own_core(object.core)
            && !object.may_expire_while_blocked()
            && object.limit.is_none()
            && object.yielded_from.is_none()
    }

    /// Whether waking a thread is core-local. Its timeout handler gets no message: only what
    /// [`Kernel::needs_no_report`] excludes can have ended while it was blocked.
    fn is_wakeup_local(&self, thread: Ptr<Thread<A>>) -> bool {
        let object = &self[thread];
        let context = object.sched_context;
        self.is_own_core(object.core) && context.is_none_or(|context| self.needs_no_report(context))
    }

    /// Whether reporting a fault to the handler of a thread is core-local.
    fn is_fault_delivery_local(&self, thread: Ptr<Thread<A>>) -> bool {
        match self[thread].cap(ThreadSlot::FaultHandler) {
            Cap::Endpoint(cap) => is_handler(&cap) && self.is_endpoint_local(cap.object),
            // A fault without a handler is reported on the console, which is shared.
            _ => false,
        }
    }

    /// The capability at an address. If it is not found, whether that is core-local.
    fn find_near(&self, thread: Ptr<Thread<A>>, address: usize) -> Result<Cap<A>, bool> {
        match self.lookup_near(self[thread].root(), address) {
            Ok(Some(slot)) => Ok(self[slot].cap()),
            Ok(None) => Err(false),
            Err(_) => Err(self.is_fault_delivery_local(thread)),
        }
    }

    /// Whether this core owns a reply object, if there is one.
    fn is_own_reply(&self, reply: Option<Ptr<Reply<A>>>) -> bool {
        reply.is_none_or(|reply| self.is_own_core(self[reply].core()))
    }

    /// Whether a send by a thread to an address is core-local.
    fn is_send_local(&self, thread: Ptr<Thread<A>>, address: usize) -> bool {
        let info = MessageInfo(self[thread].context.get(INFO));
        if info.extra_caps() > 0 {
            return false;
        }
        match self.find_near(thread, address) {
            // Without the right to send, it is an invocation.
            Ok(Cap::Endpoint(cap)) if cap.rights.contains(Rights::WRITE) => {
                self.is_endpoint_local(cap.object)
            }
            Ok(Cap::Notification(cap)) if cap.rights.contains(Rights::WRITE) => {
                self.is_signal_local(cap.object)
            }
            Ok(Cap::Reply { object, .. }) => self.is_reply_local(object),
            Ok(_) => false,
            Err(is_local) => is_local,
        }
    }

    /// Whether a send to an endpoint, or a receive from it, is core-local.
    fn is_endpoint_local(&self, endpoint: Ptr<Endpoint<A>>) -> bool {
        let object = &self[endpoint];
        if !self.is_own_core(object.core()) || object.has_threshold() || object.is_cancelling() {
            return false;
        }
        let Some(first) = object.queue().first(&self.objects) else {
            return true;
        };
        let is_reply_local = match self[first].state {
            ThreadState::BlockedOnReceive { reply, .. } => self.is_own_reply(reply),
            _ => MessageInfo(self[first].context.get(INFO)).extra_caps() == 0,
        };
        is_reply_local && self.is_wakeup_local(first)
    }

    /// Whether a signal is core-local.
    fn is_signal_local(&self, notification: Ptr<Notification<A>>) -> bool {
        let object = &self[notification];
        if !self.is_own_core(object.core) || !self.is_lending_local(notification) {
            return false;
        }
        match object.state {
            NotificationState::Active(_) => true,
            NotificationState::Waiting(queue) => {
                let first = queue.first(&self.objects);
                first.is_none_or(|first| self.is_wakeup_local(first))
            }
            NotificationState::Idle => object.bound_thread.is_none_or(|bound| {
                let waits_locally = match self[bound].state {
                    ThreadState::BlockedOnReceive { endpoint, reply } => {
                        self.is_own_core(self[endpoint].core()) && self.is_own_reply(reply)
                    }
                    _ => true,
                };
                waits_locally && self.is_wakeup_local(bound)
            }),
        }
    }

    /// Whether this core owns the scheduling context that a notification lends.
    fn is_lending_local(&self, notification: Ptr<Notification<A>>) -> bool {
        let context = self[notification].sched_context;
        context.is_none_or(|context| self.needs_no_report(context))
    }

    /// Whether a reply is core-local.
    fn is_reply_local(&self, reply: Ptr<Reply<A>>) -> bool {
        let object = &self[reply];
        if !self.is_own_core(object.core()) {
            return false;
        }
        let Some(caller) = object.thread() else {
            return true;
        };
        let is_above_local = match object.above {
            Above::None => true,
            Above::Reply(above) => {
                self.is_own_core(self[above].core()) && !self.is_limited_inside(reply)
            }
            Above::Context(context) => self.needs_no_report(context),
            Above::Limited(_) => false,
        };
        // The caller continues on its own context, or else on the one that returns. If that lacks budget, its timeout
        // handler gets a message.
        let context = self[caller].sched_context.or(match object.above {
            Above::Context(context) => Some(context),
            _ => None,
        });
        let has_budget = context
            .is_none_or(|context| self[context].is_available(self.core.now, self.min_budget()));
        let applies_reply = matches!(
            self[caller].fault,
            PendingFault::Some(Fault::Timeout { .. } | Fault::Debug { .. })
        );
        is_above_local
            && self.is_own_reply(object.below)
            && self.is_wakeup_local(caller)
            && (has_budget || self.is_timeout_local(caller))
            && !applies_reply
    }

    /// Whether a receive by a thread from an address is core-local. One that is a fault counts as not core-local: which
    /// receiver gets that may depend on the send phase.
    fn is_receive_local(
        &self,
        thread: Ptr<Thread<A>>,
        address: usize,
        reply: Option<usize>,
    ) -> bool {
        match self.find_near(thread, address) {
            Ok(Cap::Endpoint(cap)) if cap.rights.contains(Rights::READ) => {
                let is_reply_local =
                    reply.is_none_or(|reply| match self.find_near(thread, reply) {
                        Ok(Cap::Reply { object, .. }) => {
                            self.is_reply_usable_locally(object, thread)
                        }
                        _ => false,
                    });
                is_reply_local
                    && self.is_endpoint_local(cap.object)
                    && self[thread].bound_notification.is_none_or(|bound| {
                        self.is_own_core(self[bound].core) && self.is_lending_local(bound)
                    })
            }
            Ok(Cap::Notification(cap)) if cap.rights.contains(Rights::READ) => {
                let bound = self[cap.object].bound_thread;
                bound.is_none_or(|bound| bound == thread)
                    && self.is_own_core(self[cap.object].core)
                    && self.is_lending_local(cap.object)
            }
            _ => false,
        }
    }

    /// Whether receiving with a reply object is core-local: no other thread receives with it. A caller that
    /// waits for the reply is replied to first.
    fn is_reply_usable_locally(&self, reply: Ptr<Reply<A>>, thread: Ptr<Thread<A>>) -> bool {
        self.is_own_core(self[reply].core())
            && self[reply].thread().is_none_or(|user| {
                user == thread || matches!(self[user].state, ThreadState::BlockedOnReply { .. })
            })
            && self.is_reply_local(reply)
    }
}

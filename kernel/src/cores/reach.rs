//! Decides whether a kernel entry is core-local.
//!
//! It is if this core owns every object that the entry uses. Threads, scheduling contexts, endpoints,
//! notifications and reply objects name their owning core (or [`crate::object::NO_CORE`]); only threads of
//! that core wait at them. Rare cases and all cases not listed here count as not core-local: the core then
//! takes the entry lock exclusively, and handles the entry in the same way.
//!
//! Capabilities can be read in shared mode, because they are changed in exclusive mode only. Lookups that
//! take many levels count as not core-local: they would be done twice, and here without a preemption point.

use abi::config::DOMAINS;
use abi::registers::{CAP, DESTINATION, INFO, REPLY, SYSCALL};
use abi::{MessageInfo, Syscall};

use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::{Cap, lookup_near};
use crate::ipc::is_handler;
use crate::object::{
    Above, Endpoint, EndpointState, Fault, Notification, NotificationState, PendingFault, Reply,
    SchedContext, Thread, ThreadSlot, ThreadState,
};
use crate::syscall::Interrupt;
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Whether the system call of the current thread is core-local.
    pub(crate) fn system_call_stays(&mut self) -> bool {
        let Some(thread) = self.core.current else {
            return true;
        };
        let register = |register| self[thread].context.get(register);
        let (cap, reply) = (register(CAP), register(REPLY));
        let stays = match Syscall::from_number(register(SYSCALL)) {
            Some(Syscall::Send | Syscall::NBSend | Syscall::Call) => self.send_stays(thread, cap),
            Some(Syscall::Recv | Syscall::NBRecv) => self.receive_stays(thread, cap, Some(reply)),
            Some(Syscall::Wait | Syscall::NBWait) => self.receive_stays(thread, cap, None),
            Some(Syscall::ReplyRecv) => {
                self.send_stays(thread, reply) && self.receive_stays(thread, cap, Some(reply))
            }
            Some(Syscall::NBSendRecv) => {
                self.send_stays(thread, register(DESTINATION))
                    && self.receive_stays(thread, cap, Some(reply))
            }
            Some(Syscall::NBSendWait) => {
                self.send_stays(thread, reply) && self.receive_stays(thread, cap, None)
            }
            Some(Syscall::Yield | Syscall::YieldUntilBudget | Syscall::SetTlsBase) => true,
            Some(_) => false,
            None => self.fault_is_told_here(thread),
        };
        stays && self.time_stays()
    }

    /// Whether a fault of the current thread is core-local.
    pub(crate) fn fault_stays(&mut self) -> bool {
        let Some(thread) = self.core.current else {
            return true;
        };
        self.fault_is_told_here(thread) && self.time_stays()
    }

    /// Whether an interrupt is core-local. Device interrupts are not: the table of the threads and
    /// notifications that they signal is shared, and the registers of the interrupt controller may be.
    pub(crate) fn interrupt_stays(&mut self, interrupt: Interrupt) -> bool {
        !matches!(interrupt, Interrupt::Line(_)) && self.time_stays()
    }

    fn is_mine(&self, core: u8) -> bool {
        usize::from(core) == self.core.id
    }

    /// Whether the effects of the time that has passed are core-local. If so, the clock reading of this
    /// decision is the time of this entry.
    pub(super) fn time_stays(&mut self) -> bool {
        let now = self.arch.now();
        self.gate.looked = Some(now);
        let (Some(thread), Some(context)) = (self.core.current, self.core.current_context) else {
            return true;
        };
        let used = self.core.consumed + now.saturating_sub(self.core.now);
        used < self.core.allowance && DOMAINS == 1
            || self[thread].slots[ThreadSlot::TimeoutHandler as usize].is_empty()
                && self.is_plain(context)
    }

    /// Whether a change of a scheduling context's budget has effects on this core only.
    fn is_plain(&self, context: Ptr<SchedContext<A>>) -> bool {
        let object = &self[context];
        self.is_mine(object.core)
            && !object.is_used_waiting()
            && object.limit.is_none()
            && object.yielded_from.is_none()
    }

    /// Whether waking a thread is core-local.
    fn wakes_here(&self, thread: Ptr<Thread<A>>) -> bool {
        let object = &self[thread];
        let context = object.sched_context;
        self.is_mine(object.core)
            && object.slots[ThreadSlot::TimeoutHandler as usize].is_empty()
            && context.is_none_or(|context| self.is_plain(context))
    }

    /// Whether reporting a fault to the handler of a thread is core-local.
    fn fault_is_told_here(&self, thread: Ptr<Thread<A>>) -> bool {
        match self[thread].cap(ThreadSlot::FaultHandler) {
            Cap::Endpoint(cap) => is_handler(&cap) && self.endpoint_stays(cap.object),
            // A fault without a handler is reported on the console, which is shared.
            _ => false,
        }
    }

    /// Whether a send by a thread to an address is core-local.
    fn send_stays(&self, thread: Ptr<Thread<A>>, address: usize) -> bool {
        let info = MessageInfo(self[thread].context.get(INFO));
        if info.extra_caps() > 0 {
            return false;
        }
        let slot = match lookup_near(self, self[thread].cap(ThreadSlot::CSpace), address) {
            Ok(Some(slot)) => slot,
            Ok(None) => return false,
            Err(_) => return self.fault_is_told_here(thread),
        };
        match self[slot].cap() {
            Cap::Endpoint(cap) => self.endpoint_stays(cap.object),
            Cap::Notification(cap) => self.signal_stays(cap.object),
            Cap::Reply { object, .. } => self.reply_stays(object),
            _ => false,
        }
    }

    /// Whether a send to an endpoint, or a receive from it, is core-local.
    fn endpoint_stays(&self, endpoint: Ptr<Endpoint<A>>) -> bool {
        let object = &self[endpoint];
        if !self.is_mine(object.core()) || object.is_guarded() || object.is_swept() {
            return false;
        }
        let first = match object.state() {
            EndpointState::Idle => return true,
            EndpointState::Sending(queue) | EndpointState::Receiving(queue) => {
                queue.first(&self.objects)
            }
        };
        let Some(first) = first else { return true };
        let reply_stays = match self[first].state {
            ThreadState::BlockedOnReceive { reply, .. } => {
                reply.is_none_or(|reply| self.is_mine(self[reply].core()))
            }
            _ => {
                let info = MessageInfo(self[first].context.get(INFO));
                info.extra_caps() == 0
            }
        };
        reply_stays && self.wakes_here(first)
    }

    /// Whether a signal is core-local.
    fn signal_stays(&self, notification: Ptr<Notification<A>>) -> bool {
        let object = &self[notification];
        if !self.is_mine(object.core) || !self.lends_here(notification) {
            return false;
        }
        match object.state {
            NotificationState::Active(_) => true,
            NotificationState::Waiting(queue) => {
                let first = queue.first(&self.objects);
                first.is_none_or(|first| self.wakes_here(first))
            }
            NotificationState::Idle => {
                let Some(bound) = object.bound_thread else {
                    return true;
                };
                let waits_here = match self[bound].state {
                    ThreadState::BlockedOnReceive { endpoint, reply } => {
                        self.is_mine(self[endpoint].core())
                            && reply.is_none_or(|reply| self.is_mine(self[reply].core()))
                    }
                    _ => true,
                };
                self.is_mine(self[bound].core) && waits_here && self.wakes_here(bound)
            }
        }
    }

    /// Whether this core owns the scheduling context that a notification lends.
    fn lends_here(&self, notification: Ptr<Notification<A>>) -> bool {
        let context = self[notification].sched_context;
        context.is_none_or(|context| self.is_plain(context))
    }

    /// Whether a reply is core-local.
    fn reply_stays(&self, reply: Ptr<Reply<A>>) -> bool {
        let object = &self[reply];
        if !self.is_mine(object.core()) {
            return false;
        }
        let Some(caller) = object.thread() else {
            return true;
        };
        let above_stays = match object.above {
            Above::None => true,
            Above::Reply(above) => {
                self.is_mine(self[above].core()) && !self.is_limited_inside(reply)
            }
            Above::Context(context) => self.is_plain(context),
            Above::Limited(_) => false,
        };
        let mends = matches!(
            self[caller].fault,
            PendingFault::Some(Fault::Timeout { .. } | Fault::Debug { .. })
        );
        above_stays
            && object
                .below
                .is_none_or(|below| self.is_mine(self[below].core()))
            && self.wakes_here(caller)
            && !mends
    }

    /// Whether a receive by a thread from an address is core-local.
    fn receive_stays(&self, thread: Ptr<Thread<A>>, address: usize, reply: Option<usize>) -> bool {
        let root = self[thread].cap(ThreadSlot::CSpace);
        let slot = match lookup_near(self, root, address) {
            Ok(Some(slot)) => slot,
            Ok(None) => return false,
            Err(_) => return self.fault_is_told_here(thread),
        };
        match self[slot].cap() {
            Cap::Endpoint(cap) => {
                let reply_stays = reply.is_none_or(|reply| {
                    let slot = lookup_near(self, root, reply).ok().flatten();
                    slot.is_some_and(|slot| match self[slot].cap() {
                        Cap::Reply { object, .. } => self.is_at_hand(object, thread),
                        _ => false,
                    })
                });
                reply_stays
                    && self.endpoint_stays(cap.object)
                    && self[thread].bound_notification.is_none_or(|bound| {
                        self.is_mine(self[bound].core) && self.lends_here(bound)
                    })
            }
            Cap::Notification(cap) => {
                let bound = self[cap.object].bound_thread;
                bound.is_none_or(|bound| bound == thread)
                    && self.is_mine(self[cap.object].core)
                    && self.lends_here(cap.object)
            }
            _ => false,
        }
    }

    /// Whether receiving with a reply object is core-local: no other thread receives with it. A caller that
    /// waits for the reply is replied to first.
    fn is_at_hand(&self, reply: Ptr<Reply<A>>, thread: Ptr<Thread<A>>) -> bool {
        self.is_mine(self[reply].core())
            && self[reply].thread().is_none_or(|user| {
                user == thread || matches!(self[user].state, ThreadState::BlockedOnReply { .. })
            })
            && self.reply_stays(reply)
    }
}

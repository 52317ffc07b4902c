//! Fault and timeout messages to handlers.

use abi::breakpoint::{SINGLE_STEP, SOFTWARE};
use abi::fault::{
    DEBUG_EXCEPTION_LENGTH, DEBUG_EXCEPTION_SHORT_LENGTH, LONG_TIMEOUT_LENGTH, TIMEOUT_LENGTH,
    USER_EXCEPTION_LENGTH, VM_FAULT_LENGTH,
};
use abi::registers::{CAP, INFO, PC, UNKNOWN_SYSCALL, USER_EXCEPTION};
use abi::{MessageInfo, Rights};

use super::{InvocationFlags, Ipc};
use crate::arch::{Arch, UserContext};
use crate::cap::{Cap, EndpointCap};
use crate::console::debug_line;
use crate::log::info;
use crate::object::{ContextFlags, Fault, PendingFault, Thread, ThreadSlot, ThreadState};
use crate::time::Ticks;
use crate::token::Ptr;

impl<A: Arch> Ipc<A> {
    /// The endpoint capability in a handler slot of a thread, if it is valid for fault messages.
    pub(super) fn handler(
        &self,
        thread: Ptr<Thread<A>>,
        slot: ThreadSlot,
    ) -> Option<EndpointCap<A>> {
        match self[thread].cap(slot) {
            Cap::Endpoint(cap) if is_handler(&cap) => Some(cap),
            _ => None,
        }
    }

    /// Reports a fault of a thread to its handler; without a handler the thread stops.
    pub(crate) fn raise(&mut self, thread: Ptr<Thread<A>>, fault: Fault) {
        info!("core {}: fault of {:#x}", self.core.id, thread.address());
        self.trace_fault(thread, &fault);
        match self.handler(thread, ThreadSlot::FaultHandler) {
            Some(handler) => {
                let donate = self[thread].sched_context.is_some_and(|context| {
                    // A context with a limit is donated only to endpoints that set one: with a threshold.
                    self[context].limit.is_none() || self[handler.object].threshold().is_some()
                });
                self[thread].fault = PendingFault::Some(fault);
                self.send(thread, handler, InvocationFlags::new(true, true, donate));
            }
            None => self.stop_with(thread, fault),
        }
    }

    /// Reports to the timeout handler of a thread, if there is one, that its budget has run out, or the event
    /// in `flags` ([`abi::fault::timeout_flags`]). Returns whether there is a handler.
    pub(crate) fn raise_timeout(&mut self, thread: Ptr<Thread<A>>, flags: usize) -> bool {
        let Some(context) = self[thread].sched_context else {
            return false;
        };
        let badge = self[context].badge;
        let timed = self.timer_of(context) < Ticks::NEVER;
        let more = (timed || self[context].flags.contains(ContextFlags::IDLING)).then_some(flags);
        let reported = self.report_timeout(thread, badge, more);
        if reported && timed {
            self.stop_timer(context);
        }
        reported
    }

    /// The same of a thread that is woken. If the operation that it waited for is complete, it continues at the next
    /// instruction after the reply to the timeout.
    pub(crate) fn raise_timeout_of_woken(&mut self, thread: Ptr<Thread<A>>, flags: usize) -> bool {
        if let ThreadState::Running = self[thread].state {
            self[thread].context.complete_system_call();
        }
        self.raise_timeout(thread, flags)
    }

    /// Reports a timeout on the scheduling context with this badge to the timeout handler of a thread that is to
    /// continue, if there is one. Returns whether there is. Another core may have stopped the thread just before.
    pub(super) fn report_timeout(
        &mut self,
        thread: Ptr<Thread<A>>,
        badge: usize,
        more: Option<usize>,
    ) -> bool {
        // The context is not donated, because it has no budget left: the handler needs its own context, and
        // its endpoint must have no threshold.
        let Some(handler) = self
            .handler(thread, ThreadSlot::TimeoutHandler)
            .filter(|handler| self[handler.object].threshold().is_none())
            .filter(|_| self[thread].is_runnable())
        else {
            return false;
        };
        self.trace_timeout(thread, badge);
        self[thread].fault = PendingFault::Some(Fault::Timeout { badge, more });
        self.core.reports_timeout = true;
        self.send(thread, handler, InvocationFlags::new(true, true, false));
        self.core.reports_timeout = false;
        true
    }

    /// Stops a thread with a fault for which it has no handler, and prints the fault to the console.
    pub(super) fn stop_with(&mut self, thread: Ptr<Thread<A>>, fault: Fault) {
        debug_line::<A>(format_args!(
            "kernel: thread {:#x} \"{}\" stops at {:#x}: {fault:x?}, and it has no fault handler",
            thread.address(),
            self[thread].shown_name(),
            self[thread].context.get(PC),
        ));
        self.core.unhandled_fault = true;
        self.leave_scheduler(thread);
        self[thread].state = ThreadState::Inactive;
        self.trace_stopped(thread);
    }

    /// Writes the fault message of `sender` to its handler.
    pub(crate) fn transfer_fault(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        badge: usize,
    ) {
        let PendingFault::Some(fault) = self[sender].fault else {
            return;
        };
        let context = &self[sender].context;
        let pc = context.get(PC);
        let length = match fault {
            Fault::Cap {
                address,
                in_receive_phase,
                failure,
            } => {
                let (description, count) = failure.words();
                let mut words = [0; 7];
                words[..3].copy_from_slice(&[pc, address, in_receive_phase as usize]);
                words[3..].copy_from_slice(&description);
                self.write_message(receiver, &words[..3 + count])
            }
            Fault::Vm {
                address,
                status,
                instruction,
            } => {
                let words: [usize; VM_FAULT_LENGTH] = [pc, address, instruction as usize, status];
                self.write_words(receiver, &words)
            }
            Fault::UnknownSyscall { number } => {
                let mut words = [number; UNKNOWN_SYSCALL.len() + 1];
                for (word, register) in words.iter_mut().zip(UNKNOWN_SYSCALL) {
                    *word = context.get(register);
                }
                self.write_message(receiver, &words)
            }
            Fault::UserException { number, code } => {
                let [pc, sp, flags] = USER_EXCEPTION.map(|register| context.get(register));
                let words: [usize; USER_EXCEPTION_LENGTH] = [pc, sp, flags, number, code];
                self.write_words(receiver, &words)
            }
            Fault::Debug {
                reason,
                address,
                number,
            } => {
                let words: [usize; DEBUG_EXCEPTION_LENGTH] = [pc, reason, address, number];
                let length = match reason {
                    SINGLE_STEP | SOFTWARE => DEBUG_EXCEPTION_SHORT_LENGTH,
                    _ => DEBUG_EXCEPTION_LENGTH,
                };
                self.write_message(receiver, &words[..length])
            }
            Fault::Timeout { badge, more } => self.write_timeout(sender, receiver, badge, more),
        };
        self.write_fault_head(receiver, fault, length, badge);
    }

    /// Writes what is in registers beside the words of a fault message: its label and length, and the badge of the
    /// handler's endpoint.
    #[inline(always)]
    fn write_fault_head(
        &mut self,
        receiver: Ptr<Thread<A>>,
        fault: Fault,
        length: usize,
        badge: usize,
    ) {
        let context = &mut self[receiver].context;
        context.set_result(INFO, MessageInfo::new(fault.label() as usize, 0, length).0);
        context.set_result(CAP, badge);
    }

    /// Reports a timeout on the scheduling context `context_badge` of `sender` to `receiver`, which has the message when
    /// it runs: what [`Ipc::report_timeout`] does where the handler waits.
    #[inline(always)]
    pub(crate) fn transfer_timeout(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        badge: usize,
        (context_badge, more): (usize, Option<usize>),
    ) {
        let fault = Fault::Timeout {
            badge: context_badge,
            more,
        };
        self[sender].fault = PendingFault::Some(fault);
        let length = self.write_timeout(sender, receiver, context_badge, more);
        self.write_fault_head(receiver, fault, length, badge);
    }

    /// Writes a timeout message: the badge, the consumed time, and the additional words of the long format; returns its
    /// length.
    #[inline(always)]
    fn write_timeout(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        badge: usize,
        more: Option<usize>,
    ) -> usize {
        let Some(context) = self[sender].sched_context else {
            return self.write_words(receiver, &[badge]);
        };
        let (consumed, count) = self.take_consumed(context).words();
        let mut words = [badge; TIMEOUT_LENGTH];
        words[1..].copy_from_slice(&consumed[..count]);
        match more {
            None => self.write_words(receiver, &words),
            Some(flags) => self.write_long_timeout(receiver, words, flags),
        }
    }

    /// The same in the long format, which begins with the words of the short one.
    #[inline(never)]
    fn write_long_timeout(
        &mut self,
        receiver: Ptr<Thread<A>>,
        short: [usize; TIMEOUT_LENGTH],
        flags: usize,
    ) -> usize {
        let mut words = [flags; LONG_TIMEOUT_LENGTH];
        words[..TIMEOUT_LENGTH].copy_from_slice(&short);
        let now = self.arch.clock().microseconds(self.core.now);
        let (now, count) = now.words();
        words[TIMEOUT_LENGTH + 1..].copy_from_slice(&now[..count]);
        self.write_message(receiver, &words)
    }
}

/// Whether an endpoint capability has the rights for fault messages, which are calls.
pub(crate) fn is_handler<A: Arch>(cap: &EndpointCap<A>) -> bool {
    cap.rights.contains(Rights::WRITE)
        && (cap.rights.contains(Rights::GRANT) || cap.rights.contains(Rights::GRANT_REPLY))
}

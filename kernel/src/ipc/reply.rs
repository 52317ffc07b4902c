//! Replies to calls and to faults.

use abi::MessageInfo;
use abi::breakpoint::SINGLE_STEP;
use abi::registers::{INFO, TIMEOUT_REPLY, UNKNOWN_SYSCALL, USER_EXCEPTION};

use super::Ipc;
use crate::arch::{Arch, UserContext};
use crate::object::{Fault, PendingFault, Progress, Reply, Thread, ThreadState};
use crate::sched::Readiness;
use crate::token::Ptr;

impl<A: Arch> Ipc<A> {
    /// Replies to the caller that `reply` tracks with the message of `replier`; does nothing if there is
    /// no caller.
    pub(crate) fn reply(&mut self, replier: Ptr<Thread<A>>, reply: Ptr<Reply<A>>, grant: bool) {
        let Some(caller) = self[reply].thread() else {
            return;
        };
        match self[caller].state {
            ThreadState::BlockedOnReply { .. } if !self.is_limited_inside(reply) => {}
            ThreadState::BlockedOnReply { .. } | ThreadState::BlockedOnReturn { .. } => {
                return self.fail_call(caller, reply);
            }
            _ => return,
        }
        self.pop_call(caller, reply);
        let fault = self[caller].fault.get();
        match fault {
            None => {
                self.transfer(replier, caller, None, 0, grant);
                self[caller].state = ThreadState::Running;
            }
            Some(fault) => {
                let restart = self.apply_fault_reply(replier, caller, fault);
                self[caller].fault = PendingFault::None;
                self[caller].state = if restart {
                    ThreadState::Restart
                } else {
                    ThreadState::Inactive
                };
            }
        }
        self.trace_resumed(caller);
        self.wake_context(caller);
        if !self[caller].is_runnable() || self[caller].sched_context.is_none() {
            return;
        }
        let from_timeout = matches!(fault, Some(Fault::Timeout { .. }));
        if self.readiness(caller) == Readiness::LacksBudget
            && !from_timeout
            && self.raise_timeout_of_woken(caller, 0)
        {
            return;
        }
        self.possible_switch_to(caller);
    }

    /// Applies the reply of a fault handler; returns whether the thread continues.
    pub(crate) fn apply_fault_reply(
        &mut self,
        handler: Ptr<Thread<A>>,
        thread: Ptr<Thread<A>>,
        fault: Fault,
    ) -> bool {
        let registers: &[usize] = match fault {
            Fault::Cap { .. } | Fault::Vm { .. } => return true,
            Fault::UnknownSyscall { .. } => &UNKNOWN_SYSCALL,
            Fault::UserException { .. } => &USER_EXCEPTION,
            Fault::Timeout { .. } => &TIMEOUT_REPLY,
            Fault::Debug { .. } => &[],
        };
        let (length, buffer) = self.message_extent(handler);
        let count = length.min(registers.len());
        if count > 0 {
            // The thread may make another system call.
            self[thread].progress = Progress::None;
        }
        for (index, register) in registers.iter().enumerate().take(count) {
            let word = self.message_word_in(handler, buffer, index);
            self[thread].context.set(*register, word);
        }
        let continues = MessageInfo(self[handler].context.get(INFO)).label() == 0;
        match fault {
            // The reply may give the number of instructions until the next fault; the default is 1.
            Fault::Debug {
                reason: SINGLE_STEP,
                ..
            } if continues => {
                let instructions = match length {
                    0 => 1,
                    _ => self.message_word_in(handler, buffer, 0),
                };
                A::step(self, thread, None, instructions).is_ok()
            }
            _ => continues,
        }
    }
}

//! Faults as messages: to handlers, and back.

use abi::breakpoint::{SINGLE_STEP, SOFTWARE};
use abi::fault::{
    DEBUG_EXCEPTION_LENGTH, DEBUG_EXCEPTION_SHORT_LENGTH, FaultLabel, TIMEOUT_LENGTH,
    USER_EXCEPTION_LENGTH, VM_FAULT_LENGTH,
};
use abi::registers::{CAP, INFO, PC, TIMEOUT_REPLY, UNKNOWN_SYSCALL, USER_EXCEPTION};
use abi::{MessageInfo, Rights, WORD_BITS};

use super::SendOptions;
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::{Cap, EndpointCap};
use crate::console::debug_line;
use crate::object::{Fault, Reply, Thread, ThreadSlot, ThreadState};
use crate::token::Ptr;
use crate::trace::info;

/// Words of the longest fault message.
const LONGEST: usize = UNKNOWN_SYSCALL.len() + 1;

impl<A: Arch> Kernel<A> {
    /// The endpoint in a thread's handler slot, if it can take faults.
    fn handler(&self, thread: Ptr<Thread<A>>, slot: ThreadSlot) -> Option<EndpointCap<A>> {
        match self[thread].cap(slot) {
            Cap::Endpoint(cap) if is_handler(&cap) => Some(cap),
            _ => None,
        }
    }

    /// Reports a fault of a thread to its handler; without one the thread stops.
    pub(crate) fn raise(&mut self, thread: Ptr<Thread<A>>, fault: Fault) {
        info!("fault of {:#x}", thread.address());
        match self.handler(thread, ThreadSlot::FaultHandler) {
            Some(handler) => {
                let donate = self[thread].sched_context.is_some();
                self[thread].fault = Some(fault);
                self.send(
                    thread,
                    handler,
                    SendOptions {
                        blocking: true,
                        call: true,
                        donate,
                    },
                );
            }
            None => {
                self.report(thread, fault);
                self.core.unhandled_fault = true;
                self.leave_scheduler(thread);
                self[thread].state = ThreadState::Inactive;
            }
        }
    }

    /// Tells the timeout handler of a thread, if there is one, that its budget ran out.
    pub(crate) fn raise_timeout(&mut self, thread: Ptr<Thread<A>>) -> bool {
        let Some(handler) = self.handler(thread, ThreadSlot::TimeoutHandler) else {
            return false;
        };
        let Some(context) = self[thread].sched_context else {
            return false;
        };
        let badge = self[context].badge;
        self[thread].fault = Some(Fault::Timeout { badge });
        // The handler must have time of its own: this context has none left.
        self.send(
            thread,
            handler,
            SendOptions {
                blocking: true,
                call: true,
                donate: false,
            },
        );
        true
    }

    /// Tells a person about a fault that nobody handles.
    fn report(&self, thread: Ptr<Thread<A>>, fault: Fault) {
        let name = self[thread].name;
        let end = name
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(name.len());
        debug_line::<A>(format_args!(
            "kernel: thread {:#x} \"{}\" stops at {:#x}: {fault:x?}, and it has no fault handler",
            thread.address(),
            name[..end].escape_ascii(),
            self[thread].context.get(PC),
        ));
    }

    /// Writes the message of the sender's fault to a handler.
    pub(super) fn transfer_fault(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        badge: usize,
    ) {
        let Some(fault) = self[sender].fault else {
            return;
        };
        let mut words = [0; LONGEST];
        let pc = self[sender].context.get(PC);
        let (label, length) = match fault {
            Fault::Cap {
                address,
                in_receive_phase,
                failure,
            } => {
                let (description, count) = failure.words();
                words[..3].copy_from_slice(&[pc, address, in_receive_phase as usize]);
                words[3..3 + count].copy_from_slice(&description[..count]);
                (FaultLabel::CapFault, 3 + count)
            }
            Fault::Vm {
                address,
                status,
                instruction,
            } => {
                words[..VM_FAULT_LENGTH].copy_from_slice(&[
                    pc,
                    address,
                    instruction as usize,
                    status,
                ]);
                (FaultLabel::VmFault, VM_FAULT_LENGTH)
            }
            Fault::UnknownSyscall { number } => {
                self.read_registers(sender, &UNKNOWN_SYSCALL, &mut words);
                words[UNKNOWN_SYSCALL.len()] = number;
                (FaultLabel::UnknownSyscall, UNKNOWN_SYSCALL.len() + 1)
            }
            Fault::UserException { number, code } => {
                self.read_registers(sender, &USER_EXCEPTION, &mut words);
                words[3..USER_EXCEPTION_LENGTH].copy_from_slice(&[number, code]);
                (FaultLabel::UserException, USER_EXCEPTION_LENGTH)
            }
            Fault::Debug {
                reason,
                address,
                number,
            } => {
                words[..DEBUG_EXCEPTION_LENGTH].copy_from_slice(&[pc, reason, address, number]);
                let length = match reason {
                    SINGLE_STEP | SOFTWARE => DEBUG_EXCEPTION_SHORT_LENGTH,
                    _ => DEBUG_EXCEPTION_LENGTH,
                };
                (FaultLabel::DebugException, length)
            }
            Fault::Timeout { badge } => {
                words[0] = badge;
                (FaultLabel::Timeout, self.write_consumed(sender, &mut words))
            }
        };
        let length = self.write_message(receiver, &words[..length]);
        let context = &mut self[receiver].context;
        context.set_result(INFO, MessageInfo::new(label as usize, 0, length).0);
        context.set_result(CAP, badge);
    }

    /// The consumed time in a timeout message, behind the badge; returns the message's length.
    fn write_consumed(&mut self, sender: Ptr<Thread<A>>, words: &mut [usize]) -> usize {
        let Some(context) = self[sender].sched_context else {
            return 1;
        };
        let consumed = self.take_consumed(context).0;
        words[1] = consumed as usize;
        if WORD_BITS == 32 {
            words[2] = (consumed >> 32) as usize;
        }
        TIMEOUT_LENGTH
    }

    fn read_registers(&self, thread: Ptr<Thread<A>>, list: &[usize], words: &mut [usize]) {
        for (word, register) in words.iter_mut().zip(list) {
            *word = self[thread].context.get(*register);
        }
    }

    /// Replies to the caller that `reply` tracks, with the message of `replier`; nothing happens if
    /// there is none.
    pub(crate) fn reply(&mut self, replier: Ptr<Thread<A>>, reply: Ptr<Reply<A>>, grant: bool) {
        let Some(caller) = self[reply].thread else {
            return;
        };
        if !matches!(self[caller].state, ThreadState::BlockedOnReply { .. }) {
            return;
        }
        self.pop_call(caller, reply);
        let fault = self[caller].fault;
        match fault {
            None => {
                self.transfer(replier, caller, None, 0, grant);
                self[caller].state = ThreadState::Running;
            }
            Some(fault) => {
                let restart = self.apply_fault_reply(replier, caller, fault);
                self[caller].fault = None;
                self[caller].state = if restart {
                    ThreadState::Restart
                } else {
                    ThreadState::Inactive
                };
            }
        }
        self.wake_context(caller);
        if !self[caller].is_runnable() || self[caller].sched_context.is_none() {
            return;
        }
        let from_timeout = matches!(fault, Some(Fault::Timeout { .. }));
        if self.is_schedulable(caller)
            && !self.has_budget(caller)
            && !from_timeout
            && self.handler(caller, ThreadSlot::TimeoutHandler).is_some()
        {
            self.raise_timeout(caller);
            return;
        }
        self.offer(caller);
    }

    /// Applies the reply of a fault handler; returns whether the thread goes on.
    fn apply_fault_reply(
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
        let length = self.message_length(handler);
        for (index, register) in registers.iter().enumerate().take(length) {
            let word = self.message_word(handler, index);
            self[thread].context.set(*register, word);
        }
        let goes_on = MessageInfo(self[handler].context.get(INFO)).label() == 0;
        match fault {
            // The handler says how many instructions shall be executed next; one if it says nothing.
            Fault::Debug {
                reason: SINGLE_STEP,
                ..
            } if goes_on => {
                let instructions = match length {
                    0 => 1,
                    _ => self.message_word(handler, 0),
                };
                A::step(self, thread, None, instructions).is_ok()
            }
            _ => goes_on,
        }
    }
}

/// Whether an endpoint capability can serve as a handler: faults are calls.
pub(crate) fn is_handler<A: Arch>(cap: &EndpointCap<A>) -> bool {
    cap.rights.contains(Rights::WRITE)
        && (cap.rights.contains(Rights::GRANT) || cap.rights.contains(Rights::GRANT_REPLY))
}

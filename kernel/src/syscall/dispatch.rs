//! The eleven system calls.

use abi::registers::{CAP, DESTINATION, REPLY};
use abi::{LookupFailure, Rights, Syscall};

use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::{Cap, EndpointCap, lookup_quickly};
use crate::invoke::{self, Answer, Error, Failure, LookupError, Outcome};
use crate::ipc::{ExtraCaps, InvocationFlags, ResolvedCapTransfers};
use crate::object::{Fault, Progress, Reply, Thread, ThreadSlot, ThreadState};
use crate::slot::RawCap;
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Performs a system call of the current thread.
    #[inline(always)]
    pub(super) fn dispatch(&mut self, thread: Ptr<Thread<A>>, call: Syscall) {
        // Until the system call is complete, it counts as not executed: if an operation stops the thread
        // before then, the thread executes the system call again when it is resumed.
        self[thread].state = ThreadState::Restart;
        self.cap_transfers = ResolvedCapTransfers::NONE;
        let register = |kernel: &Self, register| kernel[thread].context.get(register);
        let cap = register(self, CAP);
        let reply = register(self, REPLY);
        let done = match call {
            Syscall::Send => self.invoke(thread, cap, InvocationFlags::SEND),
            Syscall::NBSend => self.invoke(thread, cap, InvocationFlags::NB_SEND),
            Syscall::Call => self.invoke(thread, cap, InvocationFlags::CALL),
            Syscall::Recv => self.receive_only(thread, cap, Some(reply), true),
            Syscall::NBRecv => self.receive_only(thread, cap, Some(reply), false),
            Syscall::Wait => self.receive_only(thread, cap, None, true),
            Syscall::NBWait => self.receive_only(thread, cap, None, false),
            Syscall::ReplyRecv => self.send_and_receive(thread, reply, cap, Some(reply)),
            Syscall::NBSendRecv => {
                let destination = self[thread].context.get(DESTINATION);
                self.send_and_receive(thread, destination, cap, Some(reply))
            }
            Syscall::NBSendWait => self.send_and_receive(thread, reply, cap, None),
            _ => {
                self.yield_slice();
                Ok(())
            }
        };
        match done {
            Ok(()) => {
                if let ThreadState::Restart = self[thread].state {
                    self[thread].state = ThreadState::Running;
                }
            }
            Err(Preempted) => self.stop_call(thread, call),
        }
    }

    /// Charges the work done by a system call that was preempted, and ends the timeslice if the budget is
    /// used up; not if the system call has itself deleted the context of its thread.
    #[inline(never)]
    fn stop_call(&mut self, thread: Ptr<Thread<A>>, call: Syscall) {
        self.check_after_preemption(thread, call);
        // A deferred sender has not been answered yet: its next try is still the second one.
        if let Some(since) = self.core.again
            && matches!(self[thread].progress, Progress::None)
        {
            self[thread].progress = Progress::Deferred { since };
        }
        if self[thread].sched_context == self.core.current_context {
            self.check_budget();
        }
    }

    /// [`Kernel::dispatch`], not inlined, for contexts that need a budget check at each entry.
    #[cold]
    pub(super) fn dispatch_specially(&mut self, thread: Ptr<Thread<A>>, call: Syscall) {
        self.dispatch(thread, call);
    }

    /// Performs a system call of the current thread, which runs on a context that was donated with a limit.
    /// It may donate the context only to endpoints with a threshold.
    pub(super) fn dispatch_limited(&mut self, thread: Ptr<Thread<A>>, call: Syscall) {
        let register = |register| self[thread].context.get(register);
        let (target, without) = match call {
            Syscall::Call => (register(CAP), None),
            Syscall::ReplyRecv => (register(REPLY), Some(Syscall::Recv)),
            Syscall::NBSendRecv => (register(DESTINATION), Some(Syscall::Recv)),
            Syscall::NBSendWait => (register(REPLY), Some(Syscall::Wait)),
            _ => return self.dispatch_specially(thread, call),
        };
        let found = lookup_quickly(self, self[thread].cap(ThreadSlot::CSpace), target);
        if self.is_interrupted() {
            self[thread].state = ThreadState::Restart;
            return self.stop_call(thread, call);
        }
        let lends_freely = found.is_ok_and(|slot| {
            matches!(self[slot].cap(), Cap::Endpoint(cap) if self[cap.object].threshold().is_none())
        });
        match without {
            _ if !lends_freely => self.dispatch_specially(thread, call),
            // The message is dropped, as the ABI does with messages that cannot be sent without blocking.
            Some(receive) => self.dispatch_specially(thread, receive),
            None => self.answer_error(thread, Error::IllegalOperation),
        }
    }

    /// Performs a system call that only receives.
    fn receive_only(
        &mut self,
        thread: Ptr<Thread<A>>,
        source: usize,
        reply: Option<usize>,
        blocking: bool,
    ) -> Result<(), Preempted> {
        let footprint = self.find_footprint(thread, source, reply)?;
        self.receive_by(thread, &footprint, blocking);
        Ok(())
    }

    /// Performs a system call that sends and then receives.
    fn send_and_receive(
        &mut self,
        thread: Ptr<Thread<A>>,
        target: usize,
        source: usize,
        reply: Option<usize>,
    ) -> Result<(), Preempted> {
        let footprint = self.find_footprint(thread, source, reply)?;
        self.invoke(thread, target, InvocationFlags::SEND_PHASE)?;
        self.receive_by(thread, &footprint, true);
        Ok(())
    }

    /// Invokes the capability at an address.
    fn invoke(
        &mut self,
        thread: Ptr<Thread<A>>,
        address: usize,
        flags: InvocationFlags,
    ) -> Result<(), Preempted> {
        let invoked = match self.find_invoked(thread, address) {
            Ok(invoked) => invoked,
            Err(LookupError::Preempted) => return Err(Preempted),
            Err(LookupError::Missing { address, failure }) => {
                self.raise_cap_fault(thread, address, failure, flags);
                return Ok(());
            }
        };
        let cap = self[invoked.slot].raw();
        let outcome = if Cap::<A>::is_passed_on(cap) {
            self.pass_on(thread, cap, invoked.extra, flags)
        } else if flags.is_send_phase() && invoke::refuses_first_phase::<A>(cap) {
            Err(Error::InvalidCapability(0).into())
        } else {
            let invocation = invoked.invocation(thread, flags.call);
            invoke::invoke(self, &invocation, cap)
        };
        if let Err(Failure::Preempted) = outcome {
            return Err(Preempted);
        }
        if flags.call && matches!(self[thread].state, ThreadState::Restart) {
            self.answer(thread, &outcome);
        }
        Ok(())
    }

    /// Reports a lookup error of the invoked capability or of an extra capability.
    #[cold]
    fn raise_cap_fault(
        &mut self,
        thread: Ptr<Thread<A>>,
        address: usize,
        failure: LookupFailure,
        flags: InvocationFlags,
    ) {
        if flags.blocking {
            let fault = Fault::Cap {
                address,
                in_receive_phase: false,
                failure,
            };
            self.raise(thread, fault);
        }
    }

    /// Invokes a capability that passes a message or a signal on to another thread.
    fn pass_on(
        &mut self,
        thread: Ptr<Thread<A>>,
        cap: RawCap,
        extra: ExtraCaps<A>,
        flags: InvocationFlags,
    ) -> Outcome {
        match Cap::decode(cap) {
            Cap::Endpoint(cap) => self.send_to(thread, cap, extra, flags),
            Cap::Notification(cap) if cap.rights.contains(Rights::WRITE) => {
                self.signal(cap.object, cap.badge);
                Ok(Answer::Nothing)
            }
            Cap::Reply { object, grant } => self.reply_to(thread, object, grant, extra),
            _ => Err(Error::InvalidCapability(0).into()),
        }
    }

    fn send_to(
        &mut self,
        sender: Ptr<Thread<A>>,
        cap: EndpointCap<A>,
        extra: ExtraCaps<A>,
        flags: InvocationFlags,
    ) -> Outcome {
        if !cap.rights.contains(Rights::WRITE) {
            return Err(Error::InvalidCapability(0).into());
        }
        self.prepare_send(
            sender,
            cap.object,
            cap.rights.contains(Rights::GRANT),
            extra,
        )?;
        self.send(sender, cap, flags);
        Ok(Answer::Later)
    }

    fn reply_to(
        &mut self,
        replier: Ptr<Thread<A>>,
        object: Ptr<Reply<A>>,
        grant: bool,
        extra: ExtraCaps<A>,
    ) -> Outcome {
        self.prepare_reply(replier, object, grant, extra)?;
        self.reply(replier, object, grant);
        Ok(Answer::Nothing)
    }
}

/// The operation stopped at a preemption point.
pub(super) struct Preempted;

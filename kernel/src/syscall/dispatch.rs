//! The system calls, except those for debugging and benchmarks.

use abi::registers::{CAP, DESTINATION, REPLY, SYSCALL};
use abi::{Rights, Syscall};

use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::Cap;
use crate::instruments::checked;
use crate::invoke::{self, Answer, Error, Failure, Missing, Preempted};
use crate::ipc::InvocationFlags;
use crate::object::{Fault, Progress, Thread, ThreadState};
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Performs a system call of the current thread; an unknown number is a fault.
    #[inline(always)]
    pub(super) fn dispatch(&mut self, thread: Ptr<Thread<A>>, call: Option<Syscall>) {
        // Until the system call is complete, it counts as not executed: if an operation stops the thread
        // before then, the thread executes the system call again when it is resumed.
        self[thread].state = ThreadState::Restart;
        self.cap_transfers.clear();
        let register = |kernel: &Self, register| kernel[thread].context.get(register);
        let cap = register(self, CAP);
        let reply = register(self, REPLY);
        let done = match call {
            Some(Syscall::Send) => self.invoke(thread, cap, InvocationFlags::SEND),
            Some(Syscall::NBSend) => self.invoke(thread, cap, InvocationFlags::NB_SEND),
            Some(Syscall::Call) => self.invoke(thread, cap, InvocationFlags::CALL),
            Some(Syscall::Recv) => self.receive_only(thread, cap, Some(reply), true),
            Some(Syscall::NBRecv) => self.receive_only(thread, cap, Some(reply), false),
            Some(Syscall::Wait) => self.receive_only(thread, cap, None, true),
            Some(Syscall::NBWait) => self.receive_only(thread, cap, None, false),
            Some(Syscall::ReplyRecv) => self.send_and_receive(thread, reply, cap, Some(reply)),
            Some(Syscall::NBSendRecv) => {
                let destination = self[thread].context.get(DESTINATION);
                self.send_and_receive(thread, destination, cap, Some(reply))
            }
            Some(Syscall::NBSendWait) => self.send_and_receive(thread, reply, cap, None),
            Some(Syscall::Yield) => {
                self.yield_slice();
                Ok(())
            }
            _ => {
                self.dispatch_rare(thread, call);
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

    /// Performs a system call that neither sends, receives nor yields; an unknown number is a fault.
    #[inline(never)]
    fn dispatch_rare(&mut self, thread: Ptr<Thread<A>>, call: Option<Syscall>) {
        match call {
            Some(Syscall::SetTlsBase) => {
                let base = self[thread].context.get(CAP);
                self[thread].context.set_tls_base(base);
                self.core.reload = true;
            }
            Some(Syscall::YieldUntilBudget) if cfg!(feature = "thresholds") => {
                self.yield_until_budget(thread);
            }
            Some(Syscall::TraceMark) if cfg!(feature = "tracing") => self.trace_mark(thread),
            _ => {
                let number = self[thread].context.get(SYSCALL);
                self.raise(thread, Fault::UnknownSyscall { number });
            }
        }
    }

    /// Charges the work done by a system call that was preempted, and ends the timeslice if the budget is
    /// used up; not if the system call has itself deleted the context of its thread.
    #[inline(never)]
    fn stop_call(&mut self, thread: Ptr<Thread<A>>, call: Option<Syscall>) {
        checked!(self.check_after_preemption(thread, call));
        // The repeated send was preempted before its check: its next attempt still counts as the repetition.
        if let Some(since) = self.core.again
            && matches!(self[thread].progress, Progress::None)
        {
            self[thread].progress = Progress::Deferred { since };
        }
        if self[thread].sched_context == self.core.current_context {
            self.check_budget();
        }
    }

    /// [`Kernel::dispatch`] for contexts that need a budget check at each entry. A context that was donated with a
    /// limit may be donated only to endpoints with a threshold.
    #[cold]
    pub(super) fn dispatch_with_check(
        &mut self,
        thread: Ptr<Thread<A>>,
        mut call: Option<Syscall>,
    ) {
        let context = self[thread].sched_context;
        let is_limited = context.is_some_and(|context| self[context].limit.is_some());
        let register = |register| self[thread].context.get(register);
        let donation = match call {
            _ if !is_limited => None,
            Some(Syscall::Call) => Some((register(CAP), None)),
            Some(Syscall::ReplyRecv) => Some((register(REPLY), Some(Syscall::Recv))),
            Some(Syscall::NBSendRecv) => Some((register(DESTINATION), Some(Syscall::Recv))),
            Some(Syscall::NBSendWait) => Some((register(REPLY), Some(Syscall::Wait))),
            _ => None,
        };
        if let Some((target, without)) = donation {
            let Ok(found) = self.lookup_quickly(thread, target) else {
                self[thread].state = ThreadState::Restart;
                return self.stop_call(thread, call);
            };
            let has_no_threshold = found.is_ok_and(|slot| {
                matches!(self[slot].cap(), Cap::Endpoint(cap) if self[cap.object].threshold().is_none())
            });
            match without {
                _ if !has_no_threshold => {}
                // The message is dropped, as the ABI does with messages that cannot be sent without blocking.
                Some(receive) => call = Some(receive),
                None => return self.answer_error(thread, Error::IllegalOperation),
            }
        }
        self.dispatch(thread, call);
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
        let invoked = match self.find_invoked(thread, address)? {
            Ok(invoked) => invoked,
            Err(missing) => {
                if flags.blocking {
                    self.raise_cap_fault(thread, missing, false);
                } else {
                    self[thread].progress = Progress::None;
                }
                return Ok(());
            }
        };
        let cap = self[invoked.slot].raw();
        self.trace_invocation(thread, cap);
        let extra = invoked.extra;
        let outcome = match Cap::decode(cap) {
            Cap::Endpoint(cap) if cap.rights.contains(Rights::WRITE) => {
                if extra[0].is_some() {
                    let grant = cap.rights.contains(Rights::GRANT);
                    self.prepare_send(thread, cap.object, grant, extra)?;
                }
                self.send(thread, cap, flags);
                Ok(Answer::Later)
            }
            Cap::Notification(cap) if cap.rights.contains(Rights::WRITE) => {
                self.signal(cap.object, cap.badge);
                Ok(Answer::Nothing)
            }
            Cap::Reply { object, grant } => {
                if extra[0].is_some() {
                    self.prepare_reply(thread, object, grant, extra)?;
                }
                self.reply(thread, object, grant);
                Ok(Answer::Nothing)
            }
            _ if flags.is_send_phase()
                && invoke::refuses_send_phase::<A>(cap, invoked.method()) =>
            {
                Err(Error::InvalidCapability(0).into())
            }
            // A thread invokes such an object only in exclusive mode (`entry::local`).
            _ => invoked
                .invocation(thread, flags.call)
                .perform(self.in_exclusive_mode(), cap),
        };
        match outcome {
            Err(Failure::Preempted) => return Err(Preempted),
            // It was perhaps preempted before it failed: see `answer`.
            Err(Failure::Error(_)) if !flags.call => self[thread].progress = Progress::None,
            _ if flags.call && matches!(self[thread].state, ThreadState::Restart) => {
                self.answer(thread, &outcome);
            }
            _ => {}
        }
        Ok(())
    }

    /// Raises the fault of a thread for a lookup error.
    #[cold]
    pub(super) fn raise_cap_fault(
        &mut self,
        thread: Ptr<Thread<A>>,
        missing: Missing,
        in_receive_phase: bool,
    ) {
        let Missing { address, failure } = missing;
        let fault = Fault::Cap {
            address,
            in_receive_phase,
            failure,
        };
        self.raise(thread, fault);
    }
}

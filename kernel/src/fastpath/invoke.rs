//! Invocations of capabilities to memory: untyped memory and the objects of the architecture.

use abi::registers::{CAP, INFO};
use abi::{MessageInfo, Method};

use super::{Eligible, NotEligible, eligible};
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::Cap;
use crate::invoke::{Failure, Invoked};
use crate::object::{Thread, ThreadState};
use crate::token::Ptr;

/// Whether a label is that of a method of memory, which makes a capability lookup worthwhile:
/// `Untyped_Retype` is the first method, and the methods of the architecture come after all others.
const fn is_about_memory(label: usize) -> bool {
    label == Method::UntypedRetype.number() || label > Method::SchedContextYieldTo.number()
}

impl<A: Arch> Kernel<A> {
    /// Performs a Call of the current thread on memory.
    ///
    /// The operation itself is that of the slow path. No operation of this kind wakes a thread, or takes the
    /// processor or a context from one; so there is no read of the clock before it and no scheduling
    /// decision after it.
    #[inline(always)]
    pub(crate) fn fast_invocation(&mut self, thread: Ptr<Thread<A>>) -> Eligible<Ptr<Thread<A>>> {
        let info = MessageInfo(self[thread].context.get(INFO));
        eligible(is_about_memory(info.label()))?;
        self.invoke_memory(thread, info)
    }

    #[inline(never)]
    fn invoke_memory(
        &mut self,
        thread: Ptr<Thread<A>>,
        info: MessageInfo,
    ) -> Eligible<Ptr<Thread<A>>> {
        let address = self[thread].context.get(CAP);
        let slot = self.slot_of(thread, address)?;
        let cap = self[slot].raw();
        eligible(Cap::<A>::is_memory(cap))?;
        let reading = self.read_clock_if_needed()?;
        eligible(self.preempt_after_one_level().is_ok())?;
        let invoked = match Invoked::without_buffer(slot, info) {
            Some(invoked) => invoked,
            None => match self.with_buffer(thread, slot, info) {
                Ok(Ok(invoked)) => invoked,
                _ => return Err(NotEligible),
            },
        };

        self.commit_reading(reading);
        let invocation = invoked.invocation(thread, true);
        let outcome = invocation.perform_on_memory(self.in_exclusive_mode(), cap);
        if let Err(Failure::Preempted) = outcome {
            self.stop_invocation(thread);
        } else {
            self.answer(thread, &outcome);
        }
        Ok(thread)
    }

    /// Ends the kernel entry after an operation was preempted: charges the work done so far. The thread
    /// restarts its system call after the pending interrupt.
    #[cold]
    #[inline(never)]
    fn stop_invocation(&mut self, thread: Ptr<Thread<A>>) {
        self[thread].state = ThreadState::Restart;
        self.update_time();
        self.check_budget();
        self.leave();
    }
}

//! Calls on memory: on untyped memory, and on what the architecture makes of memory.

use abi::registers::{CAP, INFO};
use abi::{MessageInfo, Method};

use super::{Declined, Way, usual};
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::{Cap, only_level};
use crate::invoke::{Failure, invoke_memory};
use crate::object::{Thread, ThreadSlot, ThreadState};
use crate::token::Ptr;

/// Whether a label is that of a method of memory, so that it is worth a look at the capability: that of
/// untyped memory is the first of all, and those of the architecture come behind all others.
const fn is_about_memory(label: usize) -> bool {
    label == Method::UntypedRetype.number() || label > Method::SchedContextYieldTo.number()
}

impl<A: Arch> Kernel<A> {
    /// Performs a Call of the current thread on memory. Returns whether it did; if there is no fast path,
    /// nothing has changed.
    ///
    /// The operation itself is the one of the general path. None of its kind makes a thread ready, or takes
    /// the processor or time from one; so nobody looks at the clock before, and nobody chooses afterwards.
    #[inline(never)]
    pub(crate) fn take_fast_path_of_invocation(&mut self, thread: Ptr<Thread<A>>) -> bool {
        if !self.takes_fast_paths() {
            return false;
        }
        let way = self.fast_invocation(thread);
        self.after_way(way).is_some()
    }

    #[inline(always)]
    fn fast_invocation(&mut self, thread: Ptr<Thread<A>>) -> Way<Ptr<Thread<A>>> {
        let info = MessageInfo(self[thread].context.get(INFO));
        usual(is_about_memory(info.label()))?;
        let root = self[thread].cap(ThreadSlot::CSpace);
        let Cap::CNode(space) = root else {
            return Err(Declined);
        };
        let address = self[thread].context.get(CAP);
        let slot = only_level(self, &space, address).ok_or(Declined)?;
        let cap = self[slot].raw();
        usual(Cap::<A>::is_memory(cap))?;
        let look = self.glance()?;
        self.core.count_one_level();
        usual(!self.is_interrupted())?;
        let invoked = self.with_extra(thread, root, slot).map_err(|_| Declined)?;

        self.note(look);
        let outcome = invoke_memory(self, &invoked.invocation(thread, true), cap);
        if let Err(Failure::Preempted) = outcome {
            self.stop_invocation(thread);
        } else {
            self.answer(thread, &outcome);
        }
        Ok(thread)
    }

    /// A long operation stopped at a preemption point: what has waited for that comes now, and what was
    /// done is paid for.
    #[cold]
    fn stop_invocation(&mut self, thread: Ptr<Thread<A>>) {
        self[thread].state = ThreadState::Restart;
        self.update_time();
        self.check_budget();
        self.leave();
    }
}

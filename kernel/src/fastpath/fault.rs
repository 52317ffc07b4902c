//! Faults, which are calls to fault handlers.

use super::call::What;
use super::{Eligible, NotEligible, eligible};
use crate::Kernel;
use crate::arch::Arch;
use crate::cap::Cap;
use crate::ipc::is_handler;
use crate::object::{Fault, Thread, ThreadSlot};
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Reports a fault of the current thread to a waiting handler. Returns the thread to run; `None` if the
    /// fast path is not eligible and nothing has changed.
    #[inline(always)]
    pub(crate) fn take_fast_path_of_fault(
        &mut self,
        thread: Ptr<Thread<A>>,
        fault: Fault,
    ) -> Option<Ptr<Thread<A>>> {
        if !self.takes_fast_paths() {
            return None;
        }
        let outcome = self.fast_fault(thread, fault);
        self.after_attempt(outcome)
    }

    #[inline(always)]
    fn fast_fault(&mut self, thread: Ptr<Thread<A>>, fault: Fault) -> Eligible<Ptr<Thread<A>>> {
        let Cap::Endpoint(handler) = self[thread].cap(ThreadSlot::FaultHandler) else {
            return Err(NotEligible);
        };
        eligible(is_handler(&handler))?;
        self.call_waiting(thread, &handler, What::Fault(fault))
    }
}

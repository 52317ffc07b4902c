//! Kernel entries of cores that other cores have modified.

use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cores::{CoreHandle, Local};
use crate::object::{Membership, ThreadState};

impl<A: Arch> CoreHandle<A> {
    /// The first kernel entry of a secondary core: from now on it runs the threads that it is given.
    pub fn join(&mut self) {
        let mut kernel = self.enter_exclusive();
        kernel.core.now = kernel.arch.now();
        #[cfg(feature = "tracing-from-boot")]
        kernel.trace_from_boot(None);
        kernel.trace_start();
        kernel.choose_again();
        kernel.leave();
    }
}

impl<A: Arch> Local<'_, A> {
    /// Waits for exclusive mode unless the current thread's request is core-local. Returns whether to handle
    /// the request now; otherwise the entry is over, and the thread restarts its system call when it next
    /// runs.
    #[inline(always)]
    pub(crate) fn enter_for_thread(&mut self, is_local: fn(&mut Kernel<A>) -> bool) -> bool {
        self.make_exclusive_unless(is_local) && !self.has_waited_too_long()
            || self.enter_after_remote_access(is_local)
    }

    /// [`Local::enter_for_thread`] after this core was remotely modified or has waited too long. Unless the request is
    /// late, the modifications and the end of the timeslice take effect first, and a thread is chosen as at the end of
    /// an entry. If the current thread continues, its request is handled in this same entry. If it had to restart from
    /// user mode, cores that keep entering in exclusive mode could starve it: each time, it would have to wait for them
    /// again.
    ///
    /// An entry waits for the entry lock three times at most: at its beginning, for the effects of the time that has
    /// passed, and for its request. After the second wait this core holds the lock exclusively.
    #[cold]
    fn enter_after_remote_access(&mut self, is_local: fn(&mut Kernel<A>) -> bool) -> bool {
        loop {
            self.wait_for_remote_changes();
            if self.enter_late() {
                return true;
            }
            let entered = self.rewind_current();
            self.apply_remote_changes();
            // A thread that a remote access has stopped is in another state. So is one that it has stalled:
            // its registers may have been written, and the new values count.
            let entered = entered.filter(|&(thread, _)| {
                self.core.current == Some(thread)
                    && matches!(self[thread].state, ThreadState::Running)
            });
            self.check_budget();
            self.leave();
            let Some((thread, next)) = entered else {
                return false;
            };
            if self.core.current != Some(thread) {
                return false;
            }
            self[thread].context.set_next_pc(next);
            if self.make_exclusive_unless(is_local) && !self.has_waited_too_long() {
                return true;
            }
        }
    }

    /// Waits for exclusive mode, unless the effects of the time that has passed, after remote accesses, are core-local.
    fn wait_for_remote_changes(&mut self) {
        // A remote access may have changed the budget: whether its end is core-local depends on the new one.
        self.recompute_deadlines();
        while !self.entry_lock.is_exclusive()
            && (self.entry_lock.timeslice_ended || !self.is_time_local())
        {
            // Remote accesses during this wait are covered, too.
            self.make_exclusive();
        }
    }

    /// Applies the effects of the time that has passed, after remote accesses. Waits for exclusive mode
    /// unless these effects are core-local.
    pub(crate) fn apply_remote_changes(&mut self) {
        self.wait_for_remote_changes();
        self.account_before_remote_access();
        self.trace_remote_access();
        self.end_exhausted_slice();
        self.recompute_deadlines();
    }
}

impl<A: Arch> Kernel<A> {
    /// Whether there is a current thread, and no other core has stopped it or replaced its registers.
    pub(crate) fn is_current_running(&self) -> bool {
        let current = self.core.current;
        current.is_some_and(|thread| matches!(self[thread].state, ThreadState::Running))
    }

    /// Ends the current thread's timeslice, if a remote access found its head replenishment used up.
    pub(crate) fn end_exhausted_slice(&mut self) {
        if core::mem::take(&mut self.entry_lock.timeslice_ended)
            && let (Some(thread), Some(context)) = (self.core.current, self.core.current_context)
            && self.is_schedulable(thread)
            && self[thread].membership == Membership::None
        {
            // The time consumed since then is charged before the thread waits for more budget; later time is
            // not, as this entry may take long.
            self.detach_current_context(context);
            self.end_slice(thread, context, true);
        }
    }
}

//! Preemption points: how long an operation may run before it checks for pending interrupts.
//!
//! Interrupts are disabled in the kernel. A long operation is therefore divided into pieces. It counts the
//! work of each, and after [`Arch::WORK_PER_PREEMPTION_POINT`] checks whether an interrupt is pending or its thread's
//! budget is used up. If so it stops, in a state from which it can continue, and the thread restarts its
//! system call. Work is counted in instructions, roughly. It suffices that no piece is long, and that
//! preemption points are neither far apart nor so frequent that they cost more than the work.

use super::Scheduler;
use crate::arch::Arch;
use crate::error::Preempted;

/// One level of a capability lookup: on pc99, which takes longest.
pub const LEVEL: usize = 40;
/// Revoking or deleting a capability.
pub const CAPABILITY: usize = 500;
/// Removing a thread from a wait queue, and possibly waking it.
pub const WAITER: usize = 500;
/// Clearing the largest amount of memory between two preemption points.
pub const CHUNK: usize = 250;
/// Testing whether a slot is empty.
pub const SLOT: usize = 8;
/// Checking a request that is long to check and long to perform.
pub const CHECKS: usize = 1000;
/// Testing whether an identifier is free.
pub const IDENTIFIER: usize = 16;
/// Making an object in cleared memory: a thread takes longest.
pub const OBJECT: usize = 1000;

impl<A: Arch> Scheduler<A> {
    /// Preemption point between two pieces of a long operation, after so much work.
    ///
    /// # Errors
    /// [`Preempted`] if the operation should stop here and continue later, because an interrupt is pending, another core
    /// waits for the entry lock, or the current thread's budget is used up.
    pub(crate) fn preempt_between(&mut self, work: usize) -> Result<(), Preempted> {
        if !self.is_preemption_point_due(work) {
            return Ok(());
        }
        let waits = self.is_interrupt_pending() || self.is_contended();
        self.update_time();
        let exhausted = self.core.consumed >= self.core.check_threshold
            && (self.core.current_context)
                .is_some_and(|context| !self.has_left(context, self.core.consumed));
        // Nothing else would end the timeslice of a late request.
        preempt_if(waits || exhausted || self.is_late() || self.domain_expired())
    }

    /// Preemption point after a capability lookup of one level. It is too short to count, except where each piece of
    /// work is followed by a preemption point.
    ///
    /// # Errors
    /// As for [`Scheduler::preempt_after`].
    #[inline(always)]
    pub(crate) fn preempt_after_one_level(&mut self) -> Result<(), Preempted> {
        if A::WORK_PER_PREEMPTION_POINT > LEVEL {
            return Ok(());
        }
        self.preempt_after(LEVEL)
    }

    /// Preemption point after so much work, before any change.
    ///
    /// # Errors
    /// [`Preempted`] if an interrupt is pending, so that the system call should restart after it.
    pub fn preempt_after(&mut self, work: usize) -> Result<(), Preempted> {
        preempt_if(self.is_preemption_point_due(work) && self.is_interrupt_pending())
    }

    /// Whether an interrupt is pending that may stop a request. A function of its own, so that a debugger (`cargo xtask
    /// bench --suite delay`) can see the preemption points.
    #[inline(never)]
    fn is_interrupt_pending(&mut self) -> bool {
        match self.is_late() {
            true => self.is_late_request_preempted(),
            false => self.arch.interrupt_pending(),
        }
    }

    /// The timer has expired at the end of the budget or of the domain's turn, which does not stop a late request, and is
    /// off. A thread that is due and would preempt does; after the domain's turn there is none.
    #[cold]
    fn is_late_request_preempted(&mut self) -> bool {
        !self.domain_expired() && self.is_overdue() || self.arch.other_interrupt_pending()
    }

    fn is_preemption_point_due(&mut self, work: usize) -> bool {
        self.work += work;
        if self.work < A::WORK_PER_PREEMPTION_POINT {
            return false;
        }
        self.work = 0;
        true
    }
}

#[inline(always)]
const fn preempt_if(stops: bool) -> Result<(), Preempted> {
    if stops { Err(Preempted) } else { Ok(()) }
}

//! Preemption points: how long an operation may go on before it looks at what else waits.
//!
//! Interrupts are off in the kernel. An operation that can be long is therefore made of pieces, counts
//! the work that each is, and looks after [`Arch::WORK_PER_LOOK`] of it whether an interrupt waits or the
//! time of its thread is over. If so it stops, in a state from which it can go on, and the thread
//! executes its system call again. Work is counted in instructions, roughly: what matters is that no
//! piece is long, and that looks are neither far apart nor so frequent that they cost more than the
//! work.

use crate::Kernel;
use crate::arch::Arch;
use crate::sched::Core;

/// Taking a capability away.
pub const CAPABILITY: usize = 500;
/// Taking a thread out of a waiting queue, and perhaps waking it.
pub const WAITER: usize = 400;
/// Clearing so much memory as is cleared between two looks at most.
pub const CHUNK: usize = 250;
/// Looking whether a slot is empty.
pub const SLOT: usize = 8;
/// Checking a request that is long to check and long to perform.
pub(crate) const CHECKS: usize = 1000;
/// Looking whether an identifier is free.
pub const IDENTIFIER: usize = 16;
/// Making an object in cleared memory: that of a thread is the largest.
pub const OBJECT: usize = 1000;
/// One level on the way through a capability space.
const LEVEL: usize = 32;

impl<A: Arch> Core<A> {
    /// A system call begins: until now interrupts were on, so that no look is missing.
    #[inline(always)]
    pub(crate) fn begin_work(&mut self) {
        self.work = 0;
        self.levels.set(0);
    }

    /// Counts a lookup of one level. It is too short to be counted, except where every piece of work is
    /// followed by a look.
    #[inline(always)]
    pub(crate) fn count_one_level(&self) {
        if A::WORK_PER_LOOK <= LEVEL {
            self.count_levels(1);
        }
    }

    /// Counts the levels of a lookup.
    #[inline(always)]
    pub(crate) fn count_levels(&self, levels: usize) {
        self.levels.set(self.levels.get() + levels);
    }
}

impl<A: Arch> Kernel<A> {
    /// Between two pieces of a long operation, of which the first was so much work: whether it should
    /// stop here and be taken up later, because an interrupt waits or the time of the current thread
    /// is over.
    pub(crate) fn should_preempt(&mut self, work: usize) -> bool {
        if !self.is_time_to_look(work) {
            return false;
        }
        let waits = self.interrupt_waits() || self.is_waited_for();
        self.update_time();
        let exhausted = self.core.consumed >= self.core.allowance
            && self.core.current_context.is_some_and(|context| {
                let (consumed, minimum) = (self.core.consumed, self.min_budget());
                !self[context].refills().is_sufficient(consumed, minimum)
            });
        waits || exhausted || self.domain_expired()
    }

    /// After a lookup in a capability space, before anything has changed: whether an interrupt waits,
    /// so that the system call should begin again afterwards.
    #[inline(always)]
    pub(crate) fn is_interrupted(&mut self) -> bool {
        let levels = self.core.levels.take();
        levels > 0 && self.is_interrupted_after(levels * LEVEL)
    }

    /// Before anything has changed and after so much work: the same.
    pub fn is_interrupted_after(&mut self, work: usize) -> bool {
        self.is_time_to_look(work) && self.interrupt_waits()
    }

    /// Whether an interrupt waits. A function of its own, so that who watches the kernel from outside
    /// (`cargo xtask bench --suite delay`) sees when it looks.
    #[inline(never)]
    fn interrupt_waits(&mut self) -> bool {
        self.arch.interrupt_pending()
    }

    fn is_time_to_look(&mut self, work: usize) -> bool {
        self.core.work += work;
        if self.core.work < A::WORK_PER_LOOK {
            return false;
        }
        self.core.work = 0;
        true
    }
}

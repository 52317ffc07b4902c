//! A kernel for one core: all state is local.

use super::{Core, Scheduler};
use crate::arch::Arch;
use crate::object::{SchedContext, Thread};
use crate::time::Ticks;
use crate::token::Ptr;

/// A core in exclusive mode: always the only one.
pub struct Exclusive<'k, A: Arch>(&'k mut Scheduler<A>);

#[expect(clippy::unused_self, reason = "the same interface as on several cores")]
impl<A: Arch> Exclusive<'_, A> {
    /// Calls `work` for the kernel of each core.
    #[inline(always)]
    pub fn each_core(&mut self, mut work: impl FnMut(&mut Scheduler<A>)) {
        work(self.0);
    }

    #[inline(always)]
    pub(crate) fn modify_each_core(&mut self, mut work: impl FnMut(&mut Scheduler<A>)) {
        work(self.0);
    }

    /// Remote call of an operation of the architecture on all other cores: there are none.
    #[inline(always)]
    pub fn on_other_cores<R>(&mut self, _remote: R) {}

    #[inline(always)]
    pub(crate) fn stall_remote_thread(&mut self, _thread: Ptr<Thread<A>>) {}

    #[inline(always)]
    pub(crate) fn drop_remote_entry(&mut self, _thread: Ptr<Thread<A>>) {}

    /// A thread is deleted: its registers on this core are released.
    pub(crate) fn detach_thread(&mut self, thread: Ptr<Thread<A>>) {
        A::release_thread(self.0, thread);
    }
}

#[expect(clippy::unused_self, reason = "the same interface as on several cores")]
impl<A: Arch> Scheduler<A> {
    /// This core, which is in exclusive mode.
    #[inline(always)]
    pub const fn exclusive(&mut self) -> Exclusive<'_, A> {
        Exclusive(self)
    }

    #[inline(always)]
    pub(crate) fn owning_core(&mut self, _thread: Ptr<Thread<A>>) -> &mut Self {
        self
    }

    #[inline(always)]
    pub(crate) fn owning_core_of_context(&mut self, _context: Ptr<SchedContext<A>>) -> &mut Self {
        self
    }

    #[inline(always)]
    pub(crate) fn scheduler_of(&mut self, _core: usize) -> &mut Self {
        self
    }

    #[cfg(any(test, feature = "invariants"))]
    pub(crate) fn may_read_all_cores(&self) -> bool {
        true
    }

    #[cfg(any(test, feature = "invariants"))]
    pub(crate) fn unmodified_core(&self, _core: u8) -> Option<&Core<A>> {
        Some(&self.core)
    }

    #[inline(always)]
    pub(crate) fn migrate_thread(&mut self, _thread: Ptr<Thread<A>>, _core: u8) {}

    #[inline(always)]
    pub(crate) fn charge_remote_thread(&mut self, _thread: Ptr<Thread<A>>) {}

    #[inline(always)]
    pub(crate) fn charge_remote_current(&mut self, _context: Ptr<SchedContext<A>>) {}

    #[inline(always)]
    pub(crate) fn stop_if_current(&mut self, _thread: Ptr<Thread<A>>) {}

    #[inline(always)]
    pub(crate) fn switch_to_migrated(&mut self, _thread: Ptr<Thread<A>>) {}

    #[inline(always)]
    pub(crate) fn migrate_context(&mut self, _context: Ptr<SchedContext<A>>, _core: u8) {}

    #[inline(always)]
    pub(crate) fn core_of(&self, _core: u8) -> &Core<A> {
        &self.core
    }

    /// Whether another core has modified this core's state: there is none.
    #[inline(always)]
    pub const fn is_remotely_modified(&self) -> bool {
        false
    }

    #[inline(always)]
    pub(crate) fn read_clock(&mut self) -> Ticks {
        self.arch.now()
    }

    #[inline(always)]
    pub(crate) fn is_contended(&self) -> bool {
        false
    }
}

//! A kernel for one core: all state is local, and the entry lock does nothing.

use core::marker::PhantomData;

use super::Kernels;
use crate::Kernel;
use crate::arch::Arch;
use crate::object::{SchedContext, Thread};
use crate::sched::Core;
use crate::syscall::Interrupt;
use crate::time::Ticks;
use crate::token::Ptr;

/// Unused in a kernel for one core.
pub const OUTSIDE: usize = 0;
/// Unused in a kernel for one core.
pub const INSIDE: usize = 1;

/// The entry lock of a kernel for one core: empty.
pub struct Gate<A: Arch>(PhantomData<A>);

#[allow(missing_docs, reason = "unused in a kernel for one core")]
impl<A: Arch> Gate<A> {
    pub const PLACE: usize = 0;
    pub const STOPPED: usize = 0;
    pub const BITS: usize = 0;
    pub const RECEIVING: usize = 0;
    pub const VISITED: usize = 0;
}

impl<A: Arch> Gate<A> {
    pub(super) const fn new(_kernels: &Kernels<A>, _core: usize) -> Self {
        Self(PhantomData)
    }

    #[expect(clippy::unused_self, reason = "the same interface as on several cores")]
    pub(crate) const fn core(&self) -> usize {
        0
    }
}

#[expect(clippy::unused_self, reason = "the same interface as on several cores")]
impl<A: Arch> Kernel<A> {
    #[inline(always)]
    pub(crate) fn home(&mut self, _thread: Ptr<Thread<A>>) -> &mut Self {
        self
    }

    #[inline(always)]
    pub(crate) fn home_of(&mut self, _context: Ptr<SchedContext<A>>) -> &mut Self {
        self
    }

    #[inline(always)]
    pub(crate) fn at(&mut self, _core: usize) -> &mut Self {
        self
    }

    /// Whether this core holds the entry lock: always.
    pub fn is_in(&self) -> bool {
        true
    }

    /// Calls `work` for the kernel of each core.
    #[inline(always)]
    pub fn each_core(&mut self, mut work: impl FnMut(&mut Self)) {
        work(self);
    }

    #[cfg(any(test, feature = "invariants"))]
    pub(crate) fn sees_everything(&self) -> bool {
        true
    }

    #[cfg(any(test, feature = "invariants"))]
    pub(crate) fn settled_core(&self, _core: u8) -> Option<&Core<A>> {
        Some(&self.core)
    }

    #[inline(always)]
    pub(crate) fn each_visited_core(&mut self, mut work: impl FnMut(&mut Self)) {
        work(self);
    }

    #[inline(always)]
    pub(crate) fn seize(&mut self, _thread: Ptr<Thread<A>>) {}

    #[inline(always)]
    pub(crate) fn abandon_entry(&mut self, _thread: Ptr<Thread<A>>) {}

    #[inline(always)]
    pub(crate) fn move_to(&mut self, _thread: Ptr<Thread<A>>, _core: u8) {}

    #[inline(always)]
    pub(crate) fn charge_remote_thread(&mut self, _thread: Ptr<Thread<A>>) {}

    #[inline(always)]
    pub(crate) fn settle_payer(&mut self, _context: Ptr<SchedContext<A>>) {}

    #[inline(always)]
    pub(crate) fn stop_if_current(&mut self, _thread: Ptr<Thread<A>>) {}

    #[inline(always)]
    pub(crate) fn follow_time(&mut self, _thread: Ptr<Thread<A>>) {}

    #[inline(always)]
    pub(crate) fn move_context(&mut self, _context: Ptr<SchedContext<A>>, _core: u8) {}

    /// A thread is deleted: its registers on this core are released.
    pub(crate) fn forget(&mut self, thread: Ptr<Thread<A>>) {
        A::release_thread(self, thread);
    }

    #[inline(always)]
    pub(crate) fn core_of(&self, _core: u8) -> &Core<A> {
        &self.core
    }

    #[inline(always)]
    pub(crate) fn come_in_quickly(&mut self) -> bool {
        true
    }

    #[inline(always)]
    pub(crate) fn came_in(&mut self) {}

    #[inline(always)]
    pub(crate) fn come_in_for(&mut self, _stays: impl FnOnce(&mut Self) -> bool) -> bool {
        true
    }

    #[inline(always)]
    pub(crate) fn look_at_clock(&mut self) -> Ticks {
        self.arch.now()
    }

    #[inline(always)]
    pub(crate) fn enter_for(&mut self, _stays: fn(&mut Self) -> bool) -> bool {
        true
    }

    #[inline(always)]
    pub(crate) fn catch_up(&mut self) {}

    #[inline(always)]
    pub(crate) fn go_out(&mut self) {}

    #[inline(always)]
    pub(crate) fn is_waited_for(&self) -> bool {
        false
    }

    #[inline(always)]
    pub(crate) fn system_call_stays(&mut self) -> bool {
        true
    }

    #[inline(always)]
    pub(crate) fn fault_stays(&mut self) -> bool {
        true
    }

    #[inline(always)]
    pub(crate) fn interrupt_stays(&mut self, _interrupt: Interrupt) -> bool {
        true
    }
}

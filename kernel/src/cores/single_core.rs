//! A kernel for one core: all state is local, and the entry lock does nothing.

use core::marker::PhantomData;

use super::{CoreHandle, Kernels, Local};
use crate::Kernel;
use crate::arch::Arch;
use crate::object::{SchedContext, Thread};
use crate::sched::Core;
use crate::time::Ticks;
use crate::token::Ptr;

/// Unused in a kernel for one core.
pub const UNLOCKED: usize = 0;
/// Unused in a kernel for one core.
pub const SHARED: usize = 1;

/// The entry lock of a kernel for one core: empty.
pub struct EntryLock<A: Arch>(PhantomData<A>);

#[allow(missing_docs, reason = "unused in a kernel for one core")]
impl<A: Arch> EntryLock<A> {
    pub const STATE: usize = 0;
    pub const EXCLUSIVE: usize = 0;
    pub const BITS: usize = 0;
    pub const RECEIVING: usize = 0;
    pub const REMOTELY_MODIFIED: usize = 0;
}

impl<A: Arch> EntryLock<A> {
    pub(super) const fn new(_kernels: &Kernels<A>, _core: usize) -> Self {
        Self(PhantomData)
    }

    #[expect(clippy::unused_self, reason = "the same interface as on several cores")]
    pub(crate) const fn core(&self) -> usize {
        0
    }
}

impl<A: Arch> CoreHandle<A> {
    /// Enters the kernel.
    #[inline(always)]
    pub const fn enter(&mut self) -> Local<'_, A> {
        Local { core: self }
    }

    /// Enters the kernel.
    #[inline(always)]
    pub const fn enter_exclusive(&mut self) -> Local<'_, A> {
        self.enter()
    }

    #[inline(always)]
    pub(crate) const fn entered_shared(&mut self) -> Local<'_, A> {
        self.enter()
    }
}

/// A core in exclusive mode: always the only one.
pub struct Exclusive<'k, A: Arch>(&'k mut Kernel<A>);

#[expect(clippy::unused_self, reason = "the same interface as on several cores")]
impl<A: Arch> Exclusive<'_, A> {
    /// Calls `work` for the kernel of each core.
    #[inline(always)]
    pub fn each_core(&mut self, mut work: impl FnMut(&mut Kernel<A>)) {
        work(self.0);
    }

    #[inline(always)]
    pub(crate) fn modify_each_core(&mut self, mut work: impl FnMut(&mut Kernel<A>)) {
        work(self.0);
    }

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
impl<A: Arch> Kernel<A> {
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
    pub(crate) fn kernel_of(&mut self, _core: usize) -> &mut Self {
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
}

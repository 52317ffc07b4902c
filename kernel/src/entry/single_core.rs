//! Kernel entries of a kernel for one core: all are core-local, and take no lock.

use crate::Kernel;
use crate::arch::{Arch, Interrupt};
use crate::cores::{CoreHandle, Local};

impl<A: Arch> CoreHandle<A> {
    /// Enters the kernel.
    #[inline(always)]
    pub const fn enter(&mut self) -> Local<'_, A> {
        Local { handle: self }
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

#[expect(clippy::unused_self, reason = "the same interface as on several cores")]
impl<A: Arch> Local<'_, A> {
    #[inline(always)]
    pub(crate) fn make_exclusive_unless(
        &mut self,
        _is_local: impl FnOnce(&mut Kernel<A>) -> bool,
    ) -> bool {
        true
    }

    #[inline(always)]
    pub(crate) fn enter_for_thread(&mut self, _is_local: fn(&mut Kernel<A>) -> bool) -> bool {
        true
    }

    #[inline(always)]
    pub(crate) fn apply_remote_changes(&mut self) {}
}

#[expect(clippy::unused_self, reason = "the same interface as on several cores")]
impl<A: Arch> Kernel<A> {
    #[inline(always)]
    pub(crate) fn is_system_call_local(&mut self) -> bool {
        true
    }

    #[inline(always)]
    pub(crate) fn is_fault_local(&mut self) -> bool {
        true
    }

    #[inline(always)]
    pub(crate) fn is_interrupt_local(&mut self, _interrupt: Interrupt) -> bool {
        true
    }
}

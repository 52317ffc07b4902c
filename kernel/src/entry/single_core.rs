//! Kernel entries of a kernel for one core: all are core-local.

use crate::Kernel;
use crate::arch::{Arch, Interrupt};

#[expect(clippy::unused_self, reason = "the same interface as on several cores")]
impl<A: Arch> Kernel<A> {
    #[inline(always)]
    pub(crate) fn enter_for_thread(&mut self, _is_local: fn(&mut Self) -> bool) -> bool {
        true
    }

    #[inline(always)]
    pub(crate) fn apply_remote_changes(&mut self) {}

    #[inline(always)]
    pub(crate) fn exit_kernel(&mut self) {}

    #[inline(always)]
    pub(crate) fn is_contended(&self) -> bool {
        false
    }

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

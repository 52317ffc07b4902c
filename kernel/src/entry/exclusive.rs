//! The kernel in exclusive mode.

use core::ops::{Deref, DerefMut};

use crate::arch::Arch;
use crate::cores::Local;
use crate::sched::Exclusive;
use crate::{ExclusiveKernel, Kernel};

/// A core that has entered the kernel in exclusive mode. Dropping it leaves the kernel.
pub struct ExclusiveLocal<'a, A: Arch>(Local<'a, A>);

impl<'a, A: Arch> ExclusiveLocal<'a, A> {
    /// # Panics
    /// If the core is not in exclusive mode.
    pub(super) fn new(kernel: Local<'a, A>) -> Self {
        kernel.entry_lock.assert_exclusive();
        Self(kernel)
    }
}

impl<A: Arch> Deref for ExclusiveLocal<'_, A> {
    type Target = ExclusiveKernel<A>;

    fn deref(&self) -> &ExclusiveKernel<A> {
        let kernel: &Kernel<A> = &self.0;
        // SAFETY: the types have the same representation; the mode was checked, and no method of this type changes it.
        unsafe { &*core::ptr::from_ref(kernel).cast() }
    }
}

impl<A: Arch> DerefMut for ExclusiveLocal<'_, A> {
    fn deref_mut(&mut self) -> &mut ExclusiveKernel<A> {
        self.0.in_exclusive_mode()
    }
}

impl<A: Arch> Kernel<A> {
    /// This core, which is in exclusive mode: its entry is not core-local. It remains in this mode as long as this
    /// reference exists, because only methods of [`Local`] change it.
    ///
    /// # Panics
    /// If it is in shared mode.
    #[inline(always)]
    pub(crate) fn in_exclusive_mode(&mut self) -> &mut ExclusiveKernel<A> {
        self.entry_lock.assert_exclusive();
        // SAFETY: the types have the same representation.
        unsafe { &mut *core::ptr::from_mut(self).cast() }
    }
}

impl<A: Arch> ExclusiveKernel<A> {
    /// Access to the other cores.
    #[inline(always)]
    pub fn exclusive(&mut self) -> Exclusive<'_, A> {
        // SAFETY: this type exists in exclusive mode only.
        unsafe { Exclusive::new(self) }
    }
}

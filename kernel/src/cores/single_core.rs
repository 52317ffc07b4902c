//! The entry lock of a kernel for one core: it does nothing.

use core::marker::PhantomData;

use super::Kernels;
use crate::arch::Arch;

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

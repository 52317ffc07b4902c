//! What kernels for several cores have, for one core: nothing.

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

/// The state between the cores.
pub(crate) struct Shared<A: Arch>(PhantomData<A>);

#[expect(clippy::unused_self, reason = "the same interface as on several cores")]
impl<A: Arch> Shared<A> {
    pub(super) const fn new() -> Self {
        Self(PhantomData)
    }

    pub(super) const fn set_count(&self, _count: usize) {}
}

/// Held by the core that writes to the console, or to the log.
#[derive(Debug)]
pub(crate) struct OutputLock;

#[expect(clippy::unused_self, reason = "the same interface as on several cores")]
impl OutputLock {
    pub(crate) const fn new() -> Self {
        Self
    }

    pub(crate) const fn acquire(&self) {}

    pub(crate) const unsafe fn release(&self) {}
}

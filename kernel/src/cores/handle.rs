//! How a core enters the kernel.
//!
//! A trap handler has the [`CoreHandle`] of its core. Entering takes the entry lock and yields a [`Local`], which
//! gives access to the core's [`Kernel`] until it is dropped. A core waits for the entry lock without any reference
//! to its kernel, because another core may use it meanwhile.

use core::ops::{Deref, DerefMut};

use super::CoreStorage;
use crate::Kernel;
use crate::arch::Arch;

/// A core outside of the kernel.
pub struct CoreHandle<A: Arch>(pub(crate) &'static CoreStorage<A>);

/// A core in the kernel. It holds the entry lock, at least in shared mode, and may use what it owns. Dropping it leaves the
/// kernel.
pub struct Local<'a, A: Arch> {
    pub(crate) handle: &'a mut CoreHandle<A>,
}

impl<A: Arch> CoreHandle<A> {
    /// The handle of a core; `address` is that of its kernel, from [`Kernels::address`](super::Kernels::address).
    ///
    /// # Safety
    /// As for [`Kernels::handle`](super::Kernels::handle).
    #[inline(always)]
    pub unsafe fn from_address(address: usize) -> Self {
        // SAFETY: the storage is static, and its provenance was exposed.
        Self(unsafe { &*core::ptr::with_exposed_provenance(address) })
    }

    /// The core's kernel.
    ///
    /// # Safety
    /// This core holds the entry lock and has no other reference to its kernel; or another core is in exclusive mode and has
    /// none, because it waits for this core's answer to a remote call.
    #[inline(always)]
    pub(crate) unsafe fn kernel(&mut self) -> &mut Kernel<A> {
        // SAFETY: the caller's promise. A handle is that of a core whose kernel was made.
        unsafe { (*self.0.kernel.get()).assume_init_mut() }
    }
}

impl<A: Arch> Deref for Local<'_, A> {
    type Target = Kernel<A>;

    #[inline(always)]
    fn deref(&self) -> &Kernel<A> {
        // SAFETY: this core holds the entry lock, so no other core uses its kernel; and mutable references come from
        // a mutable borrow of this value.
        unsafe { (*self.handle.0.kernel.get()).assume_init_ref() }
    }
}

impl<A: Arch> DerefMut for Local<'_, A> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Kernel<A> {
        // SAFETY: this core holds the entry lock, and this value is borrowed mutably.
        unsafe { self.handle.kernel() }
    }
}

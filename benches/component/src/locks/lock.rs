//! The interface of all locks.

use super::atomic::spin_loop;
use super::ticket::Ticket;

/// A lock between cores, which are numbered from 0.
///
/// # Safety
/// Between the return of [`Lock::acquire`] and the call of [`Lock::release`] by the same core, `acquire`
/// returns on no other core. All writes before a `release` are visible after the next `acquire`.
pub unsafe trait Lock: Sync {
    /// Waits until the core has the lock. Cores get it in the order in which they begin to wait.
    ///
    /// # Safety
    /// The lock was made for a core number `core`, only that core uses this number, and it does not hold the
    /// lock.
    unsafe fn acquire(&self, core: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.acquire_with(core, spin_loop) }
    }

    /// The same; calls `wait` each time that the core has found the lock taken.
    ///
    /// # Safety
    /// As for [`Lock::acquire`].
    unsafe fn acquire_with(&self, core: usize, wait: impl FnMut());

    /// Whether another core waits for the lock, which this core holds.
    fn is_contended(&self, core: usize) -> bool;

    /// Releases the lock.
    ///
    /// # Safety
    /// The core holds the lock.
    unsafe fn release(&self, core: usize);
}

// SAFETY: see `Ticket`.
unsafe impl Lock for Ticket {
    unsafe fn acquire_with(&self, _: usize, wait: impl FnMut()) {
        Self::acquire(self, wait);
    }

    fn is_contended(&self, _: usize) -> bool {
        Self::is_contended(self)
    }

    unsafe fn release(&self, _: usize) {
        // SAFETY: the caller's promise.
        unsafe { Self::release(self) }
    }
}

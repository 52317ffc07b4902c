//! What all locks have in common.

use super::atomic::spin_loop;

/// A lock between cores, which are numbered from 0.
///
/// # Safety
/// From the end of [`Lock::acquire`] to the beginning of [`Lock::release`] by the same core, no other
/// core comes back from `acquire`; and what was written before a `release` is seen behind the `acquire`
/// that comes next.
pub unsafe trait Lock: Sync {
    /// Waits until the core has the lock. Cores get it in the order in which they begin to wait.
    ///
    /// # Safety
    /// `core` is a core that this lock was made for, nobody else acts under its number, and it does not
    /// have the lock.
    unsafe fn acquire(&self, core: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.acquire_with(core, spin_loop) }
    }

    /// The same; each time that the core has looked in vain, it calls `wait`.
    ///
    /// # Safety
    /// As for [`Lock::acquire`].
    unsafe fn acquire_with(&self, core: usize, wait: impl FnMut());

    /// Whether another core waits for the lock, which this one has.
    fn is_waited_for(&self, core: usize) -> bool;

    /// Lets go of the lock.
    ///
    /// # Safety
    /// The core has the lock.
    unsafe fn release(&self, core: usize);
}

//! What cores share, behind a lock.

use core::marker::PhantomData;

use super::Lock;
use super::atomic::{UnsafeCell, constant, with_mut};

/// A core's right to use locks. It is borrowed while a lock is held, so that a core that waits for
/// itself, or holds one lock while it waits for another, does not compile.
#[derive(Debug)]
pub struct CoreToken {
    number: usize,
    /// It stays on its core.
    stays: PhantomData<*const ()>,
}

impl CoreToken {
    /// That of a core.
    ///
    /// # Safety
    /// There is no other for this number, and it is used by this core only.
    pub const unsafe fn new(number: usize) -> Self {
        Self {
            number,
            stays: PhantomData,
        }
    }

    /// The core's number.
    pub const fn number(&self) -> usize {
        self.number
    }
}

/// A value that one core at a time can use.
#[derive(Debug)]
pub struct Guarded<T, L> {
    lock: L,
    value: UnsafeCell<T>,
}

// SAFETY: the lock lets one core at a time at the value, and what it wrote is seen by the next.
unsafe impl<T: Send, L: Lock> Sync for Guarded<T, L> {}

impl<T, L: Lock> Guarded<T, L> {
    constant! {
        /// A value behind a lock that nobody has.
        pub fn new(lock: L, value: T) -> Self {
            Self { lock, value: UnsafeCell::new(value) }
        }
    }

    /// Waits for the lock, lets `work` use the value, and lets go. A panic in `work` is the kernel's end,
    /// so that the lock is kept then.
    pub fn with<R>(&self, core: &mut CoreToken, work: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the token is the only one for this number, and is borrowed while the lock is held.
        unsafe { self.lock.acquire(core.number) };
        // SAFETY: this core has the lock.
        let result = unsafe { with_mut(&self.value, work) };
        // SAFETY: as above.
        unsafe { self.lock.release(core.number) };
        result
    }
}

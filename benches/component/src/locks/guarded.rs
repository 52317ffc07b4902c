//! Values that cores share, each behind a lock.

use core::marker::PhantomData;

use super::Lock;
use super::atomic::{UnsafeCell, constant, with_mut};

/// A core's right to use locks. It is mutably borrowed while a lock is held: acquiring a lock twice, or a
/// second one while one is held, does not compile.
#[derive(Debug)]
pub struct CoreToken {
    number: usize,
    /// Not `Send`: a token must not leave its core.
    stays: PhantomData<*const ()>,
}

impl CoreToken {
    /// The token of a core.
    ///
    /// # Safety
    /// There is no other token with this number, and only this core uses it.
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

// SAFETY: the lock gives one core at a time access to the value, and the next core sees its writes.
unsafe impl<T: Send, L: Lock> Sync for Guarded<T, L> {}

impl<T, L: Lock> Guarded<T, L> {
    constant! {
        /// A value behind a free lock.
        pub fn new(lock: L, value: T) -> Self {
            Self { lock, value: UnsafeCell::new(value) }
        }
    }

    /// Acquires the lock, lets `work` use the value, and releases the lock. A panic in `work` halts the
    /// kernel, so the lock is not released then.
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

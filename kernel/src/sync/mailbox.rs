//! A place where one core leaves work for another, and waits until it is done.

use super::atomic::{AtomicBool, Ordering, UnsafeCell, constant, with_mut};

/// A mailbox. One core at a time asks, by agreement; one core serves.
#[derive(Debug)]
pub struct Mailbox<T> {
    asked: AtomicBool,
    work: UnsafeCell<Option<T>>,
}

// SAFETY: `asked` says whose turn it is: of the core that asks while it is not set, of the one that serves
// while it is.
unsafe impl<T: Send> Sync for Mailbox<T> {}

impl<T> Mailbox<T> {
    constant! {
        /// Nothing is asked for.
        pub fn new() -> Self {
            Self { asked: AtomicBool::new(false), work: UnsafeCell::new(None) }
        }
    }

    /// Asks for something, and waits until it is done. Each time that it is not yet, calls `wait`.
    ///
    /// # Safety
    /// Nobody else asks meanwhile.
    pub unsafe fn ask(&self, work: T, mut wait: impl FnMut()) {
        // SAFETY: nobody else asks, and who serves looks only behind the next store.
        unsafe { with_mut(&self.work, |place| *place = Some(work)) };
        // Release: the work, and all that it is about.
        self.asked.store(true, Ordering::Release);
        // Acquire: what was done.
        while self.asked.load(Ordering::Acquire) {
            wait();
        }
    }

    /// Does what somebody asks for, if anybody does.
    ///
    /// # Safety
    /// Nobody else serves meanwhile.
    pub unsafe fn serve(&self, perform: impl FnOnce(T)) {
        // Acquire: the work, and all that it is about.
        if !self.asked.load(Ordering::Acquire) {
            return;
        }
        // SAFETY: who asks waits.
        if let Some(work) = unsafe { with_mut(&self.work, Option::take) } {
            perform(work);
        }
        // Release: what was done.
        self.asked.store(false, Ordering::Release);
    }
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self::new()
    }
}

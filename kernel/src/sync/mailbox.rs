//! A place where one core leaves a request for another, and waits until it is handled.

use super::atomic::{AtomicBool, Ordering, UnsafeCell, constant, with_mut};

/// A mailbox. By agreement, one core at a time makes requests, and one core handles them.
#[derive(Debug)]
pub struct Mailbox<T> {
    pending: AtomicBool,
    work: UnsafeCell<Option<T>>,
}

// SAFETY: `pending` says which core may use `work`: the requesting core while it is clear, the handling core
// while it is set.
unsafe impl<T: Send> Sync for Mailbox<T> {}

impl<T> Mailbox<T> {
    constant! {
        /// No request.
        pub fn new() -> Self {
            Self { pending: AtomicBool::new(false), work: UnsafeCell::new(None) }
        }
    }

    /// Makes a request, and waits until it is handled. Calls `wait` as long as it is not.
    ///
    /// # Safety
    /// No other core makes a request at the same time.
    pub unsafe fn call(&self, work: T, mut wait: impl FnMut()) {
        // SAFETY: no other core makes a request, and the handling core reads it only after the next store.
        unsafe { with_mut(&self.work, |place| *place = Some(work)) };
        // Release: the request, and all data that it is about.
        self.pending.store(true, Ordering::Release);
        // Acquire: the effects of the request.
        while self.pending.load(Ordering::Acquire) {
            wait();
        }
    }

    /// Handles a request, if there is one.
    ///
    /// # Safety
    /// No other core handles requests at the same time.
    pub unsafe fn handle(&self, perform: impl FnOnce(T)) {
        // Acquire: the request, and all data that it is about.
        if !self.pending.load(Ordering::Acquire) {
            return;
        }
        // SAFETY: the requesting core waits.
        if let Some(work) = unsafe { with_mut(&self.work, Option::take) } {
            perform(work);
        }
        // Release: the effects of the request.
        self.pending.store(false, Ordering::Release);
    }
}

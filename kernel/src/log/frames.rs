//! The transfer of log frames to a platform's channel.

use core::cell::UnsafeCell;

use crate::sync::{Ticket, spin_loop};

/// The implementation of a `defmt::Logger`, except for the channel; see [`log_to!`](crate::log_to).
pub struct Frames {
    encoder: UnsafeCell<defmt::Encoder>,
    send: fn(&[u8]),
    lock: Ticket,
}

// SAFETY: the kernel is not interrupted, so that frames of a core do not overlap. With several cores, only
// the core that holds the lock uses the encoder.
unsafe impl Sync for Frames {}

impl Frames {
    /// Frames that `send` transfers, in pieces.
    pub const fn new(send: fn(&[u8])) -> Self {
        Self {
            encoder: UnsafeCell::new(defmt::Encoder::new()),
            send,
            lock: Ticket::new(),
        }
    }

    /// Begins a frame, after any frame of another core has ended.
    pub fn acquire(&self) {
        // This core is not within a frame.
        self.lock.acquire(spin_loop);
        // SAFETY: no other code uses the encoder now.
        unsafe { (*self.encoder.get()).start_frame(self.send) }
    }

    /// Adds to the frame.
    ///
    /// # Safety
    /// This core has begun a frame and not ended it.
    pub unsafe fn write(&self, bytes: &[u8]) {
        // SAFETY: the caller's promise, so that no other code uses the encoder now.
        unsafe { (*self.encoder.get()).write(bytes, self.send) }
    }

    /// Ends the frame.
    ///
    /// # Safety
    /// As for [`Frames::write`].
    pub unsafe fn release(&self) {
        // SAFETY: the caller's promise, so that no other code uses the encoder now.
        unsafe { (*self.encoder.get()).end_frame(self.send) }
        // SAFETY: this core has held the lock since it began the frame.
        unsafe { self.lock.release() }
    }
}

/// Sends the kernel's log to a function that takes bytes. A platform with a log uses this once.
#[macro_export]
macro_rules! log_to {
    ($send:path) => {
        static FRAMES: $crate::log::Frames = $crate::log::Frames::new($send);

        #[defmt::global_logger]
        struct Logger;

        // SAFETY: frames do not overlap.
        unsafe impl defmt::Logger for Logger {
            fn acquire() {
                FRAMES.acquire();
            }

            unsafe fn flush() {}

            unsafe fn release() {
                // SAFETY: the caller has begun a frame.
                unsafe { FRAMES.release() }
            }

            unsafe fn write(bytes: &[u8]) {
                // SAFETY: the caller has begun a frame.
                unsafe { FRAMES.write(bytes) }
            }
        }
    };
}

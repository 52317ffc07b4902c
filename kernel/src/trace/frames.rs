//! The way of frames to a platform's channel.

use core::cell::UnsafeCell;

#[cfg(feature = "smp")]
use crate::cores::CORES;
#[cfg(feature = "smp")]
use crate::sync::{Lock, Ticket};

/// What a `defmt::Logger` has and does, but for the channel; see [`log_to!`](crate::log_to).
pub struct Frames {
    encoder: UnsafeCell<defmt::Encoder>,
    send: fn(&[u8]),
    #[cfg(feature = "smp")]
    lock: Ticket<CORES>,
}

// SAFETY: the kernel is not interrupted, so that frames of a core do not overlap; and of several cores, who
// has the lock uses the encoder.
unsafe impl Sync for Frames {}

impl Frames {
    /// Frames that `send` takes away, in pieces.
    pub const fn new(send: fn(&[u8])) -> Self {
        Self {
            encoder: UnsafeCell::new(defmt::Encoder::new()),
            send,
            #[cfg(feature = "smp")]
            lock: Ticket::new(),
        }
    }

    /// Begins a frame, when no other core is in the middle of one.
    pub fn acquire(&self) {
        // SAFETY: this core is not in the middle of a frame. This kind of lock does not ask who it is.
        #[cfg(feature = "smp")]
        unsafe {
            self.lock.acquire(0);
        }
        // SAFETY: nobody else uses the encoder now.
        unsafe { (*self.encoder.get()).start_frame(self.send) }
    }

    /// Adds to the frame.
    ///
    /// # Safety
    /// This core has begun one and not ended it.
    pub unsafe fn write(&self, bytes: &[u8]) {
        // SAFETY: the caller's promise: nobody else uses the encoder now.
        unsafe { (*self.encoder.get()).write(bytes, self.send) }
    }

    /// Ends the frame.
    ///
    /// # Safety
    /// As for [`Frames::write`].
    pub unsafe fn release(&self) {
        // SAFETY: the caller's promise: nobody else uses the encoder now.
        unsafe { (*self.encoder.get()).end_frame(self.send) }
        // SAFETY: this core has the lock since it began.
        #[cfg(feature = "smp")]
        unsafe {
            self.lock.release(0);
        }
    }
}

/// Lets the kernel's log go to a function that takes bytes. A platform with a log says this once.
#[macro_export]
macro_rules! log_to {
    ($send:path) => {
        static FRAMES: $crate::trace::Frames = $crate::trace::Frames::new($send);

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

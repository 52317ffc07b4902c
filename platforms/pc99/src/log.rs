//! The kernel's log: defmt frames on the second serial port.

use core::cell::UnsafeCell;

use defmt::Encoder;

use crate::serial::COM2;

#[defmt::global_logger]
struct Log;

/// The encoder of frames. The kernel runs on one core with interrupts disabled, so nobody is
/// interrupted within a frame.
struct State(UnsafeCell<Encoder>);

// SAFETY: see above.
unsafe impl Sync for State {}

static STATE: State = State(UnsafeCell::new(Encoder::new()));

fn send(bytes: &[u8]) {
    for byte in bytes {
        COM2.put(*byte);
    }
}

// SAFETY: `acquire` and `release` bracket each frame, and frames do not nest.
unsafe impl defmt::Logger for Log {
    fn acquire() {
        // SAFETY: nobody else uses the encoder now.
        unsafe { (*STATE.0.get()).start_frame(send) }
    }

    unsafe fn flush() {
        COM2.flush();
    }

    unsafe fn release() {
        // SAFETY: nobody else uses the encoder now.
        unsafe { (*STATE.0.get()).end_frame(send) }
    }

    unsafe fn write(bytes: &[u8]) {
        // SAFETY: nobody else uses the encoder now.
        unsafe { (*STATE.0.get()).write(bytes, send) }
    }
}

// Stamps are ticks of the time stamp counter.
defmt::timestamp!("{=u64}", arch_x86_64::timer::time_stamp());

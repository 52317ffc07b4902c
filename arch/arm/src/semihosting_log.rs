//! The kernel's log: defmt frames on the emulator's own console, for machines that have one serial port
//! only.

use core::cell::UnsafeCell;

use crate::semihosting;

static ENCODER: Encoder = Encoder(UnsafeCell::new(defmt::Encoder::new()));

struct Encoder(UnsafeCell<defmt::Encoder>);
// SAFETY: one core runs the kernel, with interrupts masked.
unsafe impl Sync for Encoder {}

fn put_bytes(bytes: &[u8]) {
    bytes.iter().copied().for_each(semihosting::put_byte);
}

#[defmt::global_logger]
struct Logger;

// SAFETY: frames do not overlap, because nothing interrupts the kernel and it has one core.
unsafe impl defmt::Logger for Logger {
    fn acquire() {
        // SAFETY: as above.
        unsafe { (*ENCODER.0.get()).start_frame(put_bytes) }
    }

    unsafe fn flush() {}

    unsafe fn release() {
        // SAFETY: as above.
        unsafe { (*ENCODER.0.get()).end_frame(put_bytes) }
    }

    unsafe fn write(bytes: &[u8]) {
        // SAFETY: as above.
        unsafe { (*ENCODER.0.get()).write(bytes, put_bytes) }
    }
}

//! The kernel's log: defmt frames on the emulator's own console, for machines that have one serial port
//! only.

use crate::semihosting;

fn put_bytes(bytes: &[u8]) {
    bytes.iter().copied().for_each(semihosting::put_byte);
}

kernel::log_to!(put_bytes);

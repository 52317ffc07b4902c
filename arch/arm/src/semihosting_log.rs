//! The kernel's log: defmt frames on the emulator's own console, for machines with only one serial port.

use crate::semihosting;

fn put_bytes(bytes: &[u8]) {
    bytes.iter().copied().for_each(semihosting::put_byte);
}

kernel::log_to!(put_bytes);

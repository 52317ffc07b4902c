//! The kernel's log: defmt frames on the second serial port.

use crate::serial::COM2;

fn send(bytes: &[u8]) {
    for byte in bytes {
        COM2.put(*byte);
    }
}

kernel::log_to!(send);

// Timestamps are ticks of the time stamp counter.
defmt::timestamp!("{=u64}", arch_x86_64::timer::time_stamp());

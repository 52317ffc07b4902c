//! The power management timer (ACPI Specification 6.5, section 4.8.3.3).

use arch_x86_64::timer::ordered_time_stamp;
use calibration::{Frequency, Reading};
use x86_64::instructions::port::PortReadOnly;

/// Its ticks per second.
const FREQUENCY: u64 = 3_579_545;

/// The timer. It always runs.
pub struct PowerTimer {
    /// Its I/O port.
    pub port: u16,
    /// Its largest count, after which it wraps to zero.
    pub last: u32,
}

impl PowerTimer {
    /// The frequency of the time stamp counter; `None` if this one does not count.
    pub fn measure(self) -> Option<Frequency> {
        let count = || {
            // SAFETY: by the firmware's tables, the timer is at this port; reading it has no side effects.
            unsafe { PortReadOnly::<u32>::new(self.port).read() }
        };
        let read = || Some(Reading::now(ordered_time_stamp, count));
        super::by(FREQUENCY, self.last, &read)
    }
}

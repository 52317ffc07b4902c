//! Real-time clocks that count seconds: that of QEMU's machine virt (PrimeCell RTC PL031, DDI 0224), and that of the Zynq
//! UltraScale+ (UG1085, chapter "Real Time Clock"; UG1087, module RTC).

use crate::given::Registers;
use crate::services::dates::DateTime;

/// The register with the seconds since the beginning of 1970. One access reads all of it.
const SECONDS: usize = if cfg!(feature = "devices-zynqmp") {
    0x10
} else {
    0
};

/// The clock.
pub struct Rtc(Registers);

impl Rtc {
    /// The clock of a device.
    pub fn new(device: Registers) -> Self {
        Self(device)
    }

    /// Date and time.
    pub fn now(&self) -> Option<DateTime> {
        DateTime::from_unix(self.0.read32(SECONDS).into())
    }
}

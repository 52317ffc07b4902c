//! Real-time clocks that count seconds: that of QEMU's machine virt (PrimeCell RTC PL031, DDI 0224, chapter 3), and that of
//! the Zynq UltraScale+ (UG1085, chapter "Real Time Clock"; UG1087, module RTC), which is only read.

use crate::given::Registers;
use crate::services::dates::{DateTime, Refused};

/// The register with the seconds since the beginning of 1970. One access reads all of it.
const SECONDS: usize = if IS_READ_ONLY { 0x10 } else { 0 };
/// The clock of the Zynq UltraScale+ takes a second to be set, which QEMU does not emulate, and neither its alarm.
const IS_READ_ONLY: bool = cfg!(feature = "devices-zynqmp");
/// PL031: the seconds at which it interrupts; the new seconds; whether it interrupts; and a register that removes the cause.
const MATCH: usize = 0x4;
const LOAD: usize = 0x8;
const MASK: usize = 0x10;
const CLEAR: usize = 0x1c;

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

    /// Whether the clock can have this date.
    ///
    /// # Errors
    /// If it cannot, or is only read.
    pub fn check(&self, date: DateTime) -> Result<(), Refused> {
        counted(date).map(drop)
    }

    /// Sets date and time.
    ///
    /// # Errors
    /// If the clock cannot have this date, or is only read.
    pub fn set(&self, date: DateTime) -> Result<(), Refused> {
        self.0.write32(LOAD, counted(date)?);
        Ok(())
    }

    /// Sets the alarm for a date that is to come, or stops it.
    pub fn set_alarm(&self, at: Option<DateTime>) {
        if IS_READ_ONLY {
            return;
        }
        self.0.write32(MASK, 0);
        let at = at.and_then(|at| counted(at).ok());
        if let Some(at) = at {
            self.0.write32(MATCH, at);
        }
        self.acknowledge();
        self.0.write32(MASK, at.is_some().into());
    }

    /// Removes the cause of the interrupt.
    pub fn acknowledge(&self) {
        if !IS_READ_ONLY {
            self.0.write32(CLEAR, 1);
        }
    }
}

/// A date as the clock counts.
fn counted(date: DateTime) -> Result<u32, Refused> {
    if IS_READ_ONLY {
        return Err(Refused::ReadOnly);
    }
    let seconds = date.to_unix().and_then(|seconds| seconds.try_into().ok());
    seconds.ok_or(Refused::NoDate)
}

//! The high precision event timer (IA-PC HPET Specification 1.0a, section 2.3).

use core::ptr::with_exposed_provenance_mut;

use arch_x86_64::timer::ordered_time_stamp;
use calibration::{Frequency, Reading};

/// The registers, by their offsets.
#[derive(Clone, Copy)]
enum Register {
    /// Femtoseconds per tick.
    Period = 0x004,
    Configuration = 0x010,
    /// The lower half of the count.
    Count = 0x0f0,
    UpperCount = 0x0f4,
}

/// In the configuration: the counter runs.
const ENABLE: u32 = 1 << 0;
/// The longest period: 100 ns.
const LONGEST_PERIOD: u32 = 0x05f5_e100;
const FEMTOSECONDS: u64 = 1_000_000_000_000_000;

/// The timer, while the kernel uses it: users get it as firmware has left it.
pub struct EventTimer {
    registers: usize,
    frequency: u64,
}

impl EventTimer {
    /// The timer with the registers at this address, if it works.
    ///
    /// # Safety
    /// The registers are mapped there, uncached, and no other code uses them.
    pub unsafe fn new(registers: usize) -> Option<Self> {
        let mut timer = Self {
            registers,
            frequency: 0,
        };
        let period = timer.read(Register::Period);
        if period == 0 || period > LONGEST_PERIOD {
            return None;
        }
        timer.frequency = FEMTOSECONDS / u64::from(period);
        Some(timer)
    }

    /// The frequency of the time stamp counter; `None` if this one does not count. If it was stopped, its count
    /// is restored.
    pub fn measure(mut self) -> Option<Frequency> {
        let configuration = self.read(Register::Configuration);
        let halves = [Register::Count, Register::UpperCount];
        let count = halves.map(|half| (half, self.read(half)));
        self.write(Register::Configuration, configuration | ENABLE);
        let read = || {
            Some(Reading::now(ordered_time_stamp, || {
                self.read(Register::Count)
            }))
        };
        let measured = super::by(self.frequency, u32::MAX, &read);
        self.write(Register::Configuration, configuration);
        if configuration & ENABLE == 0 {
            for (half, value) in count {
                self.write(half, value);
            }
        }
        measured
    }

    fn read(&self, register: Register) -> u32 {
        let register = with_exposed_provenance_mut::<u32>(self.registers + register as usize);
        // SAFETY: a register of the mapped page; reading those of `Register` has no side effects.
        unsafe { register.read_volatile() }
    }

    fn write(&mut self, register: Register, value: u32) {
        let register = with_exposed_provenance_mut::<u32>(self.registers + register as usize);
        // SAFETY: a register of the mapped page, which this type owns.
        unsafe { register.write_volatile(value) }
    }
}

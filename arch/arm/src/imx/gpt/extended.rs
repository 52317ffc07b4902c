//! The timer as the kernel's clock: its 32 bits are the lower half of a 64-bit count, and the overflow
//! interrupt increments the upper half.

use kernel::time::{Clock, Ticks};
use tock_registers::interfaces::{Readable, Writeable};

use super::{CR, IR, Registers, SR, reset};
use crate::mmio::Mmio;
use crate::timer::Timer;

/// A count from here on has not overflowed recently: every interrupt is handled within fewer ticks than
/// this.
const HALF: u32 = 1 << 31;
/// A deadline that was just missed is set this many ticks ahead; the distance doubles at each retry.
const FIRST_MARGIN: u64 = 8;

/// The timer, extended to 64 bits.
#[derive(Debug)]
pub struct ExtendedGpt {
    registers: Mmio<Registers>,
    clock: Clock,
    /// Number of overflows that were acknowledged.
    overflows: u64,
}

impl ExtendedGpt {
    /// Starts the counter from zero, at the rate of the peripheral clock. `measure` determines its
    /// frequency in ticks per second.
    ///
    /// # Safety
    /// The registers of a general purpose timer are at `address`, and no other code uses them.
    pub unsafe fn start(address: usize, measure: impl FnOnce(&dyn Fn() -> u64) -> u64) -> Self {
        // SAFETY: by contract.
        let registers: Mmio<Registers> = unsafe { Mmio::at(address) };
        reset(&registers);
        registers.pr.set(0);
        let setup = CR::CLKSRC::Peripheral + CR::FRR::SET + CR::WAITEN::SET + CR::ENMOD::SET;
        registers.cr.write(setup);
        registers.ir.write(IR::ROVIE::SET);
        registers.cr.write(setup + CR::EN::SET);
        let clock = Clock::new(measure(&|| registers.cnt.get().into()));
        Self {
            registers,
            clock,
            overflows: 0,
        }
    }

    /// Makes comparator 1 raise the interrupt when the count equals the lower half of `instant`.
    fn compare(&self, instant: u64) {
        let registers = &self.registers;
        registers.ir.write(IR::ROVIE::SET);
        registers.ocr1.set(instant as u32);
        registers.sr.write(SR::OF1::SET);
        registers.ir.write(IR::ROVIE::SET + IR::OF1IE::SET);
    }

    /// Whether the comparator has matched.
    fn has_compared(&self) -> bool {
        self.registers.sr.is_set(SR::OF1)
    }
}

/// The time. `acknowledged` is the number of acknowledged overflows. `overflow`: another one was pending when
/// the status was read, which was after the count. In that case a large count was read before the overflow, and
/// a small one after it.
fn extend(acknowledged: u64, count: u32, overflow: bool) -> u64 {
    (acknowledged + u64::from(overflow && count < HALF)) << 32 | u64::from(count)
}

impl Timer for ExtendedGpt {
    fn now(&self) -> Ticks {
        let count = self.registers.cnt.get();
        let overflow = self.registers.sr.is_set(SR::ROV);
        Ticks(extend(self.overflows, count, overflow))
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    /// A deadline after the next overflow needs no comparator: the overflow raises the timer interrupt, and
    /// the kernel then sets the deadline again.
    ///
    /// The comparator matches only when the counter becomes equal to it. So the counter is read again after
    /// the comparator is set; if that time has passed without a match, a later one is tried.
    fn set_deadline(&mut self, deadline: Ticks) {
        let mut instant = deadline.0.max(self.now().0 + FIRST_MARGIN);
        let mut margin = FIRST_MARGIN;
        loop {
            if instant >> 32 != self.now().0 >> 32 {
                self.registers.ir.write(IR::ROVIE::SET);
                return;
            }
            self.compare(instant);
            let now = self.now().0;
            if now < instant || self.has_compared() {
                return;
            }
            margin *= 2;
            instant = now + margin;
        }
    }

    fn acknowledge(&mut self) {
        let registers = &self.registers;
        registers.ir.write(IR::ROVIE::SET);
        registers.sr.write(SR::OF1::SET);
        if registers.sr.is_set(SR::ROV) {
            // Emulators may report the overflow one tick early.
            while registers.cnt.get() >= HALF {
                core::hint::spin_loop();
            }
            registers.sr.write(SR::ROV::SET);
            self.overflows += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_across_an_overflow() {
        // In the order of events around an overflow; the status is read after the count.
        let readings = [
            (0, u32::MAX - 1, false),
            (0, u32::MAX, true),
            (0, 0, true),
            (0, 7, true),
            (1, 8, false),
            (1, HALF, false),
            (1, u32::MAX, false),
            (1, u32::MAX, true),
            (1, 0, true),
            (2, 1, false),
        ];
        let times =
            readings.map(|(acknowledged, count, overflow)| extend(acknowledged, count, overflow));
        assert!(times.is_sorted(), "{times:x?}");
        assert_eq!(times[2], 1 << 32);
        assert_eq!(times[9], (2 << 32) + 1);
    }

    /// What the driver programs for a deadline: the comparator, if it is to interrupt. The counter, which
    /// is memory here, keeps the value `count` after some overflows.
    fn armed(overflows: u64, count: u32, deadline: u64) -> Option<u32> {
        const WORDS: usize = size_of::<Registers>() / 4;
        const COUNTER: usize = 9;
        let mut memory = Box::new([0_u32; WORDS]);
        memory[COUNTER] = count;
        let address = Box::into_raw(memory);
        let mut timer = ExtendedGpt {
            // SAFETY: the memory has the size of the registers, and only this function uses it.
            registers: unsafe { Mmio::at(address.expose_provenance()) },
            clock: Clock::new(39_000_000),
            overflows,
        };
        timer.set_deadline(Ticks(deadline));
        let registers = &timer.registers;
        assert!(registers.ir.is_set(IR::ROVIE));
        let armed = registers.ir.is_set(IR::OF1IE).then(|| registers.ocr1.get());
        // SAFETY: it came from a box, and the timer is not used any more.
        drop(unsafe { Box::from_raw(address) });
        armed
    }

    #[test]
    fn deadlines_before_the_next_overflow_are_compared() {
        assert_eq!(armed(0, 100, 5000), Some(5000));
        assert_eq!(armed(0, 100, 0xffff_ffff), Some(0xffff_ffff));
        assert_eq!(armed(7, 100, (7 << 32) + 5000), Some(5000));
    }

    #[test]
    fn deadlines_behind_the_next_overflow_wait_for_it() {
        assert_eq!(armed(0, 100, 1 << 32), None);
        assert_eq!(armed(0, u32::MAX, 1 << 32), None);
        assert_eq!(armed(7, 100, (8 << 32) + 5000), None);
        assert_eq!(armed(0, 100, u64::MAX), None);
    }

    #[test]
    fn deadlines_that_have_passed_come_soon() {
        let soon = FIRST_MARGIN as u32;
        assert_eq!(armed(0, 100, 0), Some(100 + soon));
        assert_eq!(armed(0, 100, 100), Some(100 + soon));
        assert_eq!(armed(7, 0, 5), Some(soon));
        // The overflow comes even sooner.
        assert_eq!(armed(7, u32::MAX - 1, (7 << 32) + 1), None);
    }
}

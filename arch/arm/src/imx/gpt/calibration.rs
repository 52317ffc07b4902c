//! Calibration by this timer: the rates of the processor's own timers depend on how the boot loader set
//! the clocks, but on an i.MX6 this timer can count a crystal.

use tock_registers::interfaces::{Readable, Writeable};

use super::{CR, Registers, reset};
use crate::imx::measure::measure;
use crate::mmio::Mmio;

/// The timer, in use for calibration.
#[derive(Debug)]
pub struct Gpt(Mmio<Registers>);

impl Gpt {
    /// Makes the timer count the crystal.
    ///
    /// # Safety
    /// The registers of a general purpose timer are at `address`, and no other code uses them.
    pub unsafe fn start(address: usize) -> Self {
        // SAFETY: by contract.
        let gpt = Self(unsafe { Mmio::at(address) });
        reset(&gpt.0);
        gpt.0.pr.set(0);
        let setup = CR::CLKSRC::CrystalDividedBy8 + CR::FRR::SET + CR::ENMOD::SET;
        gpt.0.cr.write(setup);
        gpt.0.cr.write(setup + CR::EN::SET);
        gpt
    }

    /// The frequency of `counter`, to the nearest megahertz. Resets the timer, which users may then get.
    pub fn measure(self, counter: &dyn Fn() -> u64) -> u64 {
        let frequency = measure(counter, &|| self.0.cnt.get(), 3_000_000);
        reset(&self.0);
        frequency
    }
}

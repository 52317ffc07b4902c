//! General-purpose I/O of i.MX processors (i.MX 6Dual/6Quad reference manual, chapter 28).

use crate::given::Registers;
use crate::services::pins::{Direction, PINS, Trigger};

/// Levels that outputs have; for inputs, levels of the pins.
const DATA: usize = 0x00;
/// Outputs have a bit that is set.
const DIRECTION: usize = 0x04;
/// Two bits for each pin say when it interrupts; further 16 pins follow in the next register.
const TRIGGERS: usize = 0x0c;
/// Pins that may interrupt.
const MASK: usize = 0x14;
/// Pins that have interrupted; writing a bit that is set clears it.
const STATUS: usize = 0x18;
/// Pins that interrupt at both edges, whatever their trigger is.
const BOTH_EDGES: usize = 0x1c;

/// A port of 32 pins.
pub struct Gpio(Registers);

impl Gpio {
    /// The port of a device: all pins are inputs, and none interrupts.
    pub fn new(device: Registers) -> Self {
        for register in [MASK, DIRECTION, BOTH_EDGES] {
            device.write32(register, 0);
        }
        device.write32(STATUS, u32::MAX);
        Self(device)
    }

    fn bit(pin: usize) -> u32 {
        assert!(pin < PINS, "the port has no pin {pin}");
        1 << pin
    }

    fn change(&self, register: usize, pin: usize, is_set: bool) {
        let others = self.0.read32(register) & !Self::bit(pin);
        let own = if is_set { Self::bit(pin) } else { 0 };
        self.0.write32(register, others | own);
    }

    /// Makes a pin an input or an output.
    ///
    /// # Panics
    /// If there is no such pin, here and below.
    pub fn turn(&self, pin: usize, direction: Direction) {
        self.change(DIRECTION, pin, direction == Direction::Output);
    }

    /// What a pin is.
    pub fn direction(&self, pin: usize) -> Direction {
        match self.0.read32(DIRECTION) & Self::bit(pin) {
            0 => Direction::Input,
            _ => Direction::Output,
        }
    }

    /// Sets the level of an output.
    pub fn set(&self, pin: usize, is_high: bool) {
        // For inputs, other levels are read than those that were written.
        self.change(DATA, pin, is_high);
    }

    /// Whether the level of a pin is high.
    pub fn read(&self, pin: usize) -> bool {
        self.0.read32(DATA) & Self::bit(pin) != 0
    }

    /// Lets a pin interrupt.
    pub fn watch(&self, pin: usize, trigger: Trigger) {
        self.ignore(pin);
        let register = TRIGGERS + pin / 16 * 4;
        let place = pin % 16 * 2;
        let others = self.0.read32(register) & !(3 << place);
        let own = match trigger {
            Trigger::Low => 0,
            Trigger::High => 1,
            Trigger::Rise => 2,
            Trigger::Fall => 3,
        };
        self.0.write32(register, others | own << place);
        // What was before, by another trigger.
        self.0.write32(STATUS, Self::bit(pin));
        self.change(MASK, pin, true);
    }

    /// Lets a pin not interrupt.
    pub fn ignore(&self, pin: usize) {
        self.change(MASK, pin, false);
    }

    /// The pins that have interrupted, one bit each. They do not interrupt again before they are watched again.
    pub fn take(&self) -> u32 {
        let mask = self.0.read32(MASK);
        let status = self.0.read32(STATUS) & mask;
        self.0.write32(MASK, mask & !status);
        self.0.write32(STATUS, status);
        status
    }

    /// Whether a pin may still interrupt.
    pub fn is_watched(&self, pin: usize) -> bool {
        self.0.read32(MASK) & Self::bit(pin) != 0
    }
}

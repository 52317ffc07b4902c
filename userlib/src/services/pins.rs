//! Pins of general-purpose I/O, each of one client.

/// Pins of a port.
pub const PINS: usize = 32;
/// Pins that can interrupt, the first ones: those after them have an interrupt of their own, which the device `gpio` does
/// not have.
pub const WATCHABLE: usize = 16;

crate::value! {
    /// What a pin does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Direction {
        /// It is read.
        Input,
        /// It is set.
        Output,
    }
}

crate::value! {
    /// When a pin interrupts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Trigger {
        /// While it is low.
        Low,
        /// While it is high.
        High,
        /// When it rises.
        Rise,
        /// When it falls.
        Fall,
    }
}

crate::value! {
    /// Why a request does nothing.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Refused {
        /// There is no such pin, or it is not the caller's.
        NotYours,
        /// The pin has the other direction.
        OtherDirection,
        /// The pin cannot interrupt.
        NoInterrupt,
    }
}

crate::protocol! {
    /// The pins of a port, numbered from 0. At first they are inputs. Each client has a signal that says that one of its
    /// pins has interrupted.
    pub mod requests, version 1 {
        /// Makes a pin an input or an output; it is not watched. An output has the level that was last set.
        fn turn(pin: usize, direction: Direction) -> Result<(), Refused>;
        /// Sets the level of an output: high, or low.
        fn set(pin: usize, is_high: bool) -> Result<(), Refused>;
        /// Whether the level of a pin is high.
        fn read(pin: usize) -> Result<bool, Refused>;
        /// Watches an input until it interrupts, once.
        fn watch(pin: usize, trigger: Trigger) -> Result<(), Refused>;
        /// Whether a pin is still watched.
        fn is_watched(pin: usize) -> Result<bool, Refused>;
    }
}

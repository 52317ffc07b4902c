//! Devices of Freescale's i.MX processors.

mod avic;
mod epit;
mod gpt;
mod measure;
mod uart;
mod watchdog;

pub use avic::Avic;
pub use epit::Epit;
pub use gpt::{ExtendedGpt, Gpt};
pub use uart::Uart;
pub use watchdog::Watchdog;

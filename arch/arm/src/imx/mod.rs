//! Devices of Freescale's i.MX processors.

mod avic;
mod epit;
mod gpt;
mod measure;
#[cfg(feature = "smp")]
mod src;
mod uart;
mod watchdog;

pub use avic::Avic;
pub use epit::Epit;
pub use gpt::{ExtendedGpt, Gpt};
#[cfg(feature = "smp")]
pub use src::Src;
pub use uart::Uart;
pub use watchdog::Watchdog;

//! Devices of Freescale's i.MX processors.

mod gpt;
mod uart;

pub use gpt::Gpt;
pub use uart::Uart;

//! The watchdog, used to reset the board.
//!
//! Chapter "Watchdog Timer (WDOG)" of the *MCIMX31 and MCIMX31L Applications Processors Reference Manual*
//! (MCIMX31RM).

use tock_registers::interfaces::Writeable;
use tock_registers::registers::ReadWrite;
use tock_registers::{register_bitfields, register_structs};

use crate::mmio::Mmio;

register_bitfields! { u16,
    /// Control.
    WCR [
        /// Zero asserts the watchdog's external signal.
        WDA OFFSET(5) NUMBITS(1) [],
        /// Zero resets the system.
        SRS OFFSET(4) NUMBITS(1) []
    ]
}

register_structs! {
    /// The registers.
    Registers {
        (0x0 => wcr: ReadWrite<u16, WCR::Register>),
        (0x2 => _service_and_status),
        (0x6 => @END),
    }
}

/// The watchdog.
#[derive(Debug)]
pub struct Watchdog(Mmio<Registers>);

impl Watchdog {
    /// The watchdog at `address`.
    ///
    /// # Safety
    /// Its registers are there.
    pub const unsafe fn at(address: usize) -> Self {
        // SAFETY: by contract.
        Self(unsafe { Mmio::at(address) })
    }

    /// Resets the board, after a short delay.
    pub fn reset(&self) {
        self.0.wcr.write(WCR::WDA::CLEAR + WCR::SRS::CLEAR);
    }
}

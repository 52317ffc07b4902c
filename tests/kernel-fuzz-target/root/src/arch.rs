//! Capabilities of one architecture.

use hostility::kind::Kind;
use userlib::{Result, boot};

use crate::system::Gifts;

/// An interrupt, and I/O ports without an effect (the page registers of the DMA controller).
#[cfg(target_arch = "x86_64")]
pub fn give(gifts: &mut Gifts) -> Result {
    use userlib::cap::PciFunction;
    let function = PciFunction {
        bus: 0,
        device: 0,
        function: 0,
    };
    let slot = gifts.slot(Kind::IrqHandler);
    boot::IRQ_CONTROL.get_msi(function, 0, 60, slot)?;
    let slot = gifts.slot(Kind::Ports);
    boot::IO_PORT_CONTROL.issue(0x88, 0x8f, slot)
}

/// An interrupt.
#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
pub fn give(gifts: &mut Gifts) -> Result {
    let slot = gifts.slot(Kind::IrqHandler);
    // Some lines are used by the kernel.
    (40..60)
        .find_map(|line| boot::IRQ_CONTROL.get(line, slot).ok())
        .ok_or(userlib::Error::OutOfResources)
}

//! Devices: their registers and I/O ports, and interrupts.

use system_table::MOST_REGISTER_PAGES;
use userlib::cap::{Attributes, Frame, IrqHandler, Line, Notification};
use userlib::environment::PAGE;
use userlib::{CPtr, Capability, Environment, Error, Process, Result, Rights, boot};

/// Gives registers: `pages` pages at a physical address.
pub fn give_registers(
    environment: &mut Environment,
    process: &mut Process,
    name: &str,
    address: u64,
    pages: u16,
) -> Result {
    let address = usize::try_from(address).map_err(|_| Error::OutOfResources)?;
    let mut frames = [Frame::at(CPtr::NULL); MOST_REGISTER_PAGES];
    let frames = &mut frames[..pages.into()];
    for (page, frame) in frames.iter_mut().enumerate() {
        let allocator = &mut environment.allocator;
        *frame = allocator.create_device_frame(address + page * PAGE)?;
    }
    let rights = Rights::READ_WRITE;
    process.map_all(
        environment,
        name,
        frames.iter().copied(),
        rights,
        Attributes::DEVICE,
    )?;
    for &frame in &*frames {
        environment.allocator.delete(frame)?;
    }
    Ok(())
}

/// Gives the I/O ports from `first` to `last`.
#[cfg(target_arch = "x86_64")]
pub fn give_ports(
    environment: &mut Environment,
    process: &mut Process,
    name: &str,
    first: u16,
    last: u16,
) -> Result {
    let slot = environment.allocator.allocate_slot()?;
    boot::IO_PORT_CONTROL.issue(first, last, slot)?;
    let ports = userlib::cap::IoPort::at(CPtr(slot.index));
    process.give_ports(environment, name, ports, first)?;
    environment.allocator.delete(ports)
}

/// There are none.
#[cfg(not(target_arch = "x86_64"))]
pub fn give_ports(_: &mut Environment, _: &mut Process, _: &str, _: u16, _: u16) -> Result {
    Err(Error::IllegalOperation)
}

/// Gives the interrupt of a line, which sets the bit `bit` of `notification`. The handler that is returned
/// acknowledges it after a restart.
pub fn give_interrupt(
    environment: &mut Environment,
    process: &mut Process,
    name: &str,
    line: Line,
    notification: Notification,
    bit: u8,
) -> Result<IrqHandler> {
    let slot = environment.allocator.allocate_slot()?;
    boot::IRQ_CONTROL.issue(line, slot)?;
    let handler = IrqHandler::at(CPtr(slot.index));
    let badge = 1usize.checked_shl(bit.into()).unwrap_or_default();
    let badged = environment
        .allocator
        .mint(notification, Rights::WRITE, badge)?;
    handler.set_notification(badged)?;
    environment.allocator.delete(badged)?;
    // It may have come before there was a notification.
    handler.ack()?;
    process.give_interrupt(environment, name, handler, bit.into())?;
    Ok(handler)
}

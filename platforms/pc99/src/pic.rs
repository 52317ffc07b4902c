//! The legacy interrupt controllers (Intel 8259A data sheet, order number 231468), which are disabled.

use arch_x86_64::trap::vectors;
use x86_64::instructions::port::Port;

/// Command port of the first and of the second controller; data is the next port.
const COMMAND: [u16; 2] = [0x20, 0xa0];

/// Masks all lines. The controllers get vectors of their own first, so that their spurious interrupts are not
/// mistaken for exceptions.
pub fn disable() {
    /// Edge triggered, cascaded, four initialisation words.
    const ICW1: u8 = 0x11;
    /// 8086 mode.
    const ICW4: u8 = 0x01;
    /// The second controller is connected to line 2 of the first.
    const ICW3: [u8; 2] = [1 << 2, 2];
    for (index, command) in COMMAND.into_iter().enumerate() {
        let vector = vectors::LEGACY + 8 * index as u8;
        // SAFETY: this is the only user of the controllers.
        unsafe {
            Port::new(command).write(ICW1);
            let mut data = Port::new(command + 1);
            data.write(vector);
            data.write(ICW3[index]);
            data.write(ICW4);
            data.write(0xff_u8);
        }
    }
}

//! The legacy interrupt controllers (Intel 8259A data sheet, order number 231468): switched off.

use arch_x86_64::trap::vectors;
use x86_64::instructions::port::Port;

/// Command port of the first and of the second controller; data is the next port.
const COMMAND: [u16; 2] = [0x20, 0xa0];

/// Masks all lines. The controllers are given vectors of their own first, lest a spurious interrupt of
/// theirs look like an exception.
pub fn disable() {
    /// Edge triggered, cascaded, four initialisation words.
    const ICW1: u8 = 0x11;
    /// 8086 mode.
    const ICW4: u8 = 0x01;
    /// The second controller hangs on line 2 of the first.
    const ICW3: [u8; 2] = [1 << 2, 2];
    for (index, command) in COMMAND.into_iter().enumerate() {
        let vector = vectors::LEGACY + 8 * index as u8;
        // SAFETY: nobody uses the controllers.
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

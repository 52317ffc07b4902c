//! x86-64.

use core::arch::naked_asm;
use core::ops::Range;

use abi::breakpoint::{DATA, INSTRUCTION, READ};
use userlib::Error;

/// The numbers of breakpoints for instructions.
pub const INSTRUCTION_NUMBERS: Range<usize> = 0..4;
/// The numbers of breakpoints for data.
pub const DATA_NUMBERS: Range<usize> = 0..4;
/// Bytes of an instruction of [`four`].
pub const INSTRUCTION_BYTES: usize = 1;
/// Whether a thread stops after an access to data, or before it.
pub const STOPS_BEHIND_ACCESS: bool = true;
/// Whether a thread stops behind the instruction of [`software`], or at it.
pub const STOPS_BEHIND_BREAK: bool = true;
/// Whether there are breakpoints for reads only.
pub const READS: bool = false;
/// Whether a thread that has stopped stops there again the next time.
pub const IS_PASSED: bool = true;
/// Addresses that are not users'.
pub const BEYOND: [usize; 2] = [1 << 63, 0x7fff_ffff_f000];
/// Breakpoints that are refused: number, address, kind, size, direction.
pub const REFUSED: &[([usize; 5], Error)] = &[
    (
        [4, 0x1000, INSTRUCTION, 0, READ],
        Error::Range {
            minimum: 0,
            maximum: 3,
        },
    ),
    ([0, 0x1000, DATA, 2, READ], Error::InvalidArgument(4)),
];

/// Four instructions and a return.
///
/// # Safety
/// No conditions.
#[unsafe(naked)]
pub unsafe extern "C" fn four() {
    naked_asm!("nop", "nop", "nop", "nop", "ret")
}

/// A software breakpoint.
///
/// # Safety
/// No conditions.
#[unsafe(naked)]
pub unsafe extern "C" fn software() {
    naked_asm!("int3", "ret")
}

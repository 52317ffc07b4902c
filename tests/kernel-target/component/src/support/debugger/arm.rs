//! Arm.

use core::arch::naked_asm;
use core::ops::Range;

use abi::breakpoint::{DATA, INSTRUCTION, READ, WRITE};
use userlib::Error;

/// The numbers of breakpoints for instructions.
pub const INSTRUCTION_NUMBERS: Range<usize> = 0..6;
/// The numbers of breakpoints for data.
pub const DATA_NUMBERS: Range<usize> = 6..10;
/// Bytes of an instruction of [`four`].
pub const INSTRUCTION_BYTES: usize = 4;
/// Whether a thread stops after an access to data, or before it.
pub const STOPS_BEHIND_ACCESS: bool = false;
/// Whether a thread stops behind the instruction of [`software`], or at it.
pub const STOPS_BEHIND_BREAK: bool = false;
/// Whether there are breakpoints for reads only.
pub const READS: bool = true;
/// Whether a thread that has stopped stops there again the next time: not with 32 bits in QEMU, which has no breakpoints
/// there that stop at all instructions but one.
pub const IS_PASSED: bool = cfg!(target_arch = "aarch64");
/// Addresses that are not users'.
pub const BEYOND: [usize; 2] = if cfg!(target_arch = "arm") {
    [0xe000_0000, 0xffff_f000]
} else {
    [1 << (usize::BITS - 1), 1usize.rotate_left(47)]
};
/// Breakpoints that are refused: number, address, kind, size, direction.
pub const REFUSED: &[([usize; 5], Error)] = &[
    ([6, 0x1000, INSTRUCTION, 0, READ], Error::InvalidArgument(2)),
    (
        [10, 0x1000, INSTRUCTION, 0, READ],
        Error::InvalidArgument(2),
    ),
    ([5, 0x1000, DATA, 2, WRITE], Error::InvalidArgument(2)),
    ([0, 0x1001, INSTRUCTION, 0, READ], Error::Alignment),
];

/// The instruction that returns.
#[cfg(target_arch = "arm")]
macro_rules! ret {
    () => {
        "bx lr"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! ret {
    () => {
        "ret"
    };
}

/// Four instructions and a return.
///
/// # Safety
/// No conditions.
#[unsafe(naked)]
pub unsafe extern "C" fn four() {
    naked_asm!("nop", "nop", "nop", "nop", ret!())
}

/// A software breakpoint.
///
/// # Safety
/// No conditions.
#[unsafe(naked)]
pub unsafe extern "C" fn software() {
    #[cfg(target_arch = "arm")]
    naked_asm!("bkpt #7", ret!());
    #[cfg(target_arch = "aarch64")]
    naked_asm!("brk #7", ret!());
}

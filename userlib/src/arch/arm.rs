//! Arm, 32-bit and 64-bit: the parts without instructions.

use super::MemoryAccess;
use crate::cap::Registers;
use abi::registers::{CAP, INFO, PC, SP, TLS_BASE};

/// Registers of a thread that starts at `entry` with two arguments.
pub fn initial_registers(
    entry: usize,
    stack: usize,
    ipc_buffer: usize,
    arguments: [usize; 2],
) -> Registers {
    let mut registers = Registers::default();
    registers.0[PC] = entry;
    registers.0[SP] = stack;
    registers.0[CAP] = arguments[0];
    registers.0[INFO] = arguments[1];
    registers.0[TLS_BASE] = ipc_buffer;
    registers
}

/// The initial stack pointer of a function with a stack that ends at `top`.
pub fn initial_stack(top: usize) -> usize {
    top & !15
}

/// The status is DFSR or IFSR in short-descriptor format (Arm ARM for ARMv7-A). Permission faults of sections
/// and pages are 13 and 15; bit 11 indicates a write.
#[cfg(target_arch = "arm")]
pub fn memory_access(status: usize) -> MemoryAccess {
    MemoryAccess {
        write: status & 1 << 11 != 0,
        forbidden: matches!(status & 0x40f, 0xd | 0xf),
    }
}

/// The status is ESR_EL1 (Arm ARM for ARMv8-A). Permission faults of all levels begin with 0b0011; bit 6
/// indicates a write.
#[cfg(target_arch = "aarch64")]
pub fn memory_access(status: usize) -> MemoryAccess {
    MemoryAccess {
        write: status & 1 << 6 != 0,
        forbidden: status & 0x3c == 0xc,
    }
}

/// There is only one kind of exception.
#[cfg(target_arch = "arm")]
pub fn exception(_: usize) -> &'static str {
    "undefined instruction"
}

/// The number is ESR_EL1, with the exception class in its upper bits.
#[cfg(target_arch = "aarch64")]
pub fn exception(number: usize) -> &'static str {
    match number >> 26 {
        0 => "undefined instruction",
        0x7 => "floating point, which it may not use",
        0x22 => "jump to an address that is not aligned",
        0x26 => "stack pointer that is not aligned",
        0x30..=0x35 | 0x3c => "breakpoint",
        _ => "exception",
    }
}

//! x86-64: the parts that the host uses, too.

use super::MemoryAccess;
use crate::cap::Registers;
use abi::registers::{CAP, PC, SP, TLS_BASE};

/// Second argument register of the C calling convention: rsi.
const ARGUMENT_1: usize = abi::registers::INFO;

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
    registers.0[ARGUMENT_1] = arguments[1];
    registers.0[TLS_BASE] = ipc_buffer;
    registers
}

/// The initial stack pointer of a function with a stack that ends at `top`: as after a call instruction.
pub fn initial_stack(top: usize) -> usize {
    (top & !15) - size_of::<usize>()
}

/// The status is the error code of a page fault (Intel SDM, volume 3, "Page-Fault Exceptions").
pub fn memory_access(status: usize) -> MemoryAccess {
    MemoryAccess {
        write: status & 2 != 0,
        forbidden: status & 1 != 0,
    }
}

/// The number is the vector (Intel SDM, volume 3, "Exception and Interrupt Vectors").
pub fn exception(number: usize) -> &'static str {
    match number {
        0 => "division by zero",
        1 | 3 => "breakpoint",
        6 => "undefined instruction",
        7 => "floating point, which it may not use",
        13 => "instruction or address that it may not use",
        16 | 19 => "floating-point exception",
        17 => "access that is not aligned",
        _ => "exception",
    }
}

//! Arm, 32-bit and 64-bit: what does not need its instructions.

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

/// The stack pointer at the start of a function whose stack ends at `top`.
pub fn initial_stack(top: usize) -> usize {
    top & !15
}

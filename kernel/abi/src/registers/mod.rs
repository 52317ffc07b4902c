//! The registers of a thread: their order in `TCB_ReadRegisters`, the roles that they play in system
//! calls, and the lists of them in fault messages.
//!
//! A register is named by its index in the *user context*, the order that `TCB_ReadRegisters` uses.
//! Index 0 is always the program counter, 1 the stack pointer and 2 the flags.

/// Registers in the order of the x86-64 ABI.
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;

/// Registers in the order of the 32-bit Arm ABI.
#[cfg(target_arch = "arm")]
#[path = "aarch32.rs"]
mod arch;

/// Registers in the order of the 64-bit Arm ABI.
#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod arch;

pub use arch::*;

/// The program counter.
pub const PC: usize = 0;
/// The stack pointer.
pub const SP: usize = 1;
/// The flags (x86: RFLAGS; Arm: CPSR, SPSR).
pub const FLAGS: usize = 2;
/// How many message words travel in registers.
pub const MESSAGE_REGISTERS: usize = MR.len();

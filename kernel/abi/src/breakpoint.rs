//! Hardware breakpoints, watchpoints and single stepping (option `hwdebug`): arguments of the methods
//! and reasons of the fault.

/// Stops at an access to data; also a reason.
pub const DATA: usize = 0;
/// Stops before an instruction is executed; also a reason.
pub const INSTRUCTION: usize = 1;
/// Reason: as many instructions as asked for have been executed.
pub const SINGLE_STEP: usize = 2;
/// Reason: a software breakpoint instruction.
pub const SOFTWARE: usize = 3;

/// At reads; also what breakpoints for instructions are set with.
pub const READ: usize = 0;
/// At writes.
pub const WRITE: usize = 1;
/// At both.
pub const READ_WRITE: usize = 2;

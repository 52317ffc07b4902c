//! Fault messages: labels and lengths. Register lists are in [`crate::registers`].

/// Message label of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum FaultLabel {
    /// A capability address did not resolve.
    CapFault = 1,
    /// A system call that does not exist.
    UnknownSyscall = 2,
    /// A processor exception.
    UserException = 3,
    /// A breakpoint, watchpoint or single step.
    DebugException = 4,
    /// The budget ran out.
    Timeout = 5,
    /// A memory access without mapping.
    VmFault = 6,
}

/// Words of a VM fault message: restart address, fault address, instruction fetch, status.
pub const VM_FAULT_LENGTH: usize = 4;
/// Words of a user exception message: the three registers of a reply, number, code.
pub const USER_EXCEPTION_LENGTH: usize = 5;
/// Words of a debug exception message: address, reason, what was accessed, number of the breakpoint.
pub const DEBUG_EXCEPTION_LENGTH: usize = 4;
/// Words of it where there is no breakpoint: after a single step, and at a software break.
pub const DEBUG_EXCEPTION_SHORT_LENGTH: usize = 2;
/// Words of a timeout message: badge and consumed microseconds (two words on 32-bit).
pub const TIMEOUT_LENGTH: usize = if crate::WORD_BITS == 64 { 2 } else { 3 };
/// Words of the longer timeout message of Escapement: a word of [`timeout_flags`] and the time, in
/// microseconds (two words on 32-bit), follow. It is sent for an idling scheduling context, and for one that was
/// yielded to with a timeout, which seL4 does not have.
pub const LONG_TIMEOUT_LENGTH: usize = if crate::WORD_BITS == 64 { 4 } else { 6 };

/// What the longer timeout message tells.
pub mod timeout_flags {
    /// The thread was waiting when its time was over.
    pub const BLOCKED: usize = 1;
    /// The instant that was given to `SchedContext_YieldToTimeout` has come; otherwise the budget is used up.
    pub const INSTANT: usize = 2;
}

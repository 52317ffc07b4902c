/// Names, by index.
pub const NAMES: [&str; COUNT] = [
    "pc", "sp", "cpsr", "r0", "r1", "r8", "r9", "r10", "r11", "r12", "r2", "r3", "r4", "r5", "r6",
    "r7", "r14", "tpidrurw", "tpidruro",
];
/// Number of registers in a user context.
pub const COUNT: usize = 19;
/// The first so many are the frame of `TCB_CopyRegisters`; the rest are its integer registers.
pub const FRAME_COUNT: usize = 10;
/// System-call number (r7).
pub const SYSCALL: usize = 15;
/// Capability in, badge out (r0).
pub const CAP: usize = 3;
/// Message information (r1).
pub const INFO: usize = 4;
/// The message words that travel in registers (r2 to r5).
pub const MR: [usize; 4] = [10, 11, 12, 13];
/// The reply capability (r6).
pub const REPLY: usize = 14;
/// Destination of NBSendRecv (r8).
pub const DESTINATION: usize = 5;
/// The thread-local storage base that `TCB_SetTLSBase` writes (TPIDRURW).
pub const TLS_BASE: usize = 17;
/// Registers of an UnknownSyscall message; the system-call number follows.
pub const UNKNOWN_SYSCALL: [usize; 12] = [3, 4, 10, 11, 12, 13, 14, 15, 0, 1, 16, 2];
/// Registers of a UserException message and of its reply.
pub const USER_EXCEPTION: [usize; 3] = [0, 1, 2];
/// Registers of the reply to a timeout.
pub const TIMEOUT_REPLY: [usize; 17] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
/// Bytes of the system-call instruction.
pub const SYSCALL_BYTES: usize = 4;

/// Names, by index.
pub const NAMES: [&str; COUNT] = [
    "rip", "rsp", "rflags", "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8", "r9", "r10",
    "r11", "r12", "r13", "r14", "r15", "fs_base", "gs_base",
];
/// Number of registers in a user context.
pub const COUNT: usize = 20;
/// The first so many are the frame of `TCB_CopyRegisters`; the rest are its integer registers.
pub const FRAME_COUNT: usize = 18;
/// System-call number (rdx).
pub const SYSCALL: usize = 6;
/// Capability in, badge out (rdi).
pub const CAP: usize = 8;
/// Message information (rsi).
pub const INFO: usize = 7;
/// The message words that travel in registers (r10, r8, r9, r15).
pub const MR: [usize; 4] = [12, 10, 11, 17];
/// The reply capability (r12).
pub const REPLY: usize = 14;
/// Destination of NBSendRecv (r13).
pub const DESTINATION: usize = 15;
/// The thread-local storage base (FS).
pub const TLS_BASE: usize = 18;
/// Registers of an UnknownSyscall message; the system-call number follows.
pub const UNKNOWN_SYSCALL: [usize; 18] =
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 0, 1, 2];
/// Registers of a UserException message and of its reply.
pub const USER_EXCEPTION: [usize; 3] = [0, 1, 2];
/// Registers of the reply to a timeout.
pub const TIMEOUT_REPLY: [usize; 19] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
];
/// Bytes of the system-call instruction.
pub const SYSCALL_BYTES: usize = 2;

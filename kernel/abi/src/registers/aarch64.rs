/// Names, by index.
pub const NAMES: [&str; COUNT] = [
    "pc",
    "sp",
    "spsr",
    "x0",
    "x1",
    "x2",
    "x3",
    "x4",
    "x5",
    "x6",
    "x7",
    "x8",
    "x16",
    "x17",
    "x18",
    "x29",
    "x30",
    "x9",
    "x10",
    "x11",
    "x12",
    "x13",
    "x14",
    "x15",
    "x19",
    "x20",
    "x21",
    "x22",
    "x23",
    "x24",
    "x25",
    "x26",
    "x27",
    "x28",
    "tpidr_el0",
    "tpidrro_el0",
];
/// Number of registers in a user context: pc, sp, spsr, x0 to x8, x16 to x18, x29, x30, x9 to x15,
/// x19 to x28, tpidr_el0, tpidrro_el0.
pub const COUNT: usize = 36;
/// The first so many are the frame of `TCB_CopyRegisters`; the rest are its integer registers.
pub const FRAME_COUNT: usize = 17;
/// System-call number (x7).
pub const SYSCALL: usize = 10;
/// Capability in, badge out (x0).
pub const CAP: usize = 3;
/// Message information (x1).
pub const INFO: usize = 4;
/// The message words that travel in registers (x2 to x5).
pub const MR: [usize; 4] = [5, 6, 7, 8];
/// The reply capability (x6).
pub const REPLY: usize = 9;
/// Destination of NBSendRecv (x8).
pub const DESTINATION: usize = 11;
/// The thread-local storage base that `TCB_SetTLSBase` writes (TPIDR_EL0).
pub const TLS_BASE: usize = 34;
/// Registers of an UnknownSyscall message; the system-call number follows.
pub const UNKNOWN_SYSCALL: [usize; 12] = [3, 4, 5, 6, 7, 8, 9, 10, 0, 1, 16, 2];
/// Registers of a UserException message and of its reply.
pub const USER_EXCEPTION: [usize; 3] = [0, 1, 2];
/// Registers of the reply to a timeout: all but the thread-local storage bases.
pub const TIMEOUT_REPLY: [usize; 34] = {
    let mut list = [0; 34];
    let mut index = 0;
    while index < list.len() {
        list[index] = index;
        index += 1;
    }
    list
};
/// Bytes of the system-call instruction.
pub const SYSCALL_BYTES: usize = 4;

//! Architectures. Each provides the same names; a target without one does not compile.
//!
//! | name | meaning |
//! |---|---|
//! | `syscall` | the system-call instruction |
//! | `ipc_buffer_address`, `set_ipc_buffer_address` | the TLS register of this thread |
//! | `relax` | a hint in waiting loops |
//! | `device_barrier` | the order of accesses to devices and memory |
//! | `Attributes`, `FrameSize`, `Table` | memory attributes, frame sizes, paging structures |
//! | `initial_registers`, `initial_stack` | registers of a thread at its start |
//! | `memory_access`, `exception` | meaning of the numbers in fault messages |
//! | `_root_start`, `_component_start` | macros: assembly of the two entry points |

/// The registers of a system call, by role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// In: the invoked capability. Out: the badge.
    pub cap: usize,
    /// The message information.
    pub info: usize,
    /// The first message words.
    pub words: [usize; abi::registers::MESSAGE_REGISTERS],
    /// In: the reply capability.
    pub reply: usize,
    /// In: the destination of the send phase of NBSendRecv.
    pub destination: usize,
}

/// A step of a delay loop: 256 instructions that do nothing, which an emulator that counts instructions executes at
/// hardly any cost.
#[inline(never)]
pub fn nops() {
    #[cfg(target_os = "none")]
    // SAFETY: they do nothing.
    unsafe {
        core::arch::asm!(
            ".rept 256",
            "nop",
            ".endr",
            options(nomem, nostack, preserves_flags)
        );
    }
}

/// Meaning of a memory fault's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    /// The access was a write.
    pub write: bool,
    /// The page is mapped, but without the permission.
    pub forbidden: bool,
}

#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
mod arm;
#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
pub use arm::*;

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(target_os = "none")]
pub use instructions::*;

#[cfg(all(target_os = "none", target_arch = "x86_64"))]
#[path = "x86_64_instructions.rs"]
mod instructions;
#[cfg(all(target_os = "none", target_arch = "arm"))]
#[path = "arm_instructions.rs"]
mod instructions;
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
#[path = "aarch64_instructions.rs"]
mod instructions;

#[cfg(not(target_os = "none"))]
mod host;
#[cfg(not(target_os = "none"))]
pub use host::*;

//! Build options that the numbers of the interface depend on.

/// The target is x86-64.
pub const X86_64: bool = cfg!(target_arch = "x86_64");
/// The target is a 32-bit Arm.
pub const AARCH32: bool = cfg!(target_arch = "arm");
/// The target is a 64-bit Arm.
pub const AARCH64: bool = cfg!(target_arch = "aarch64");
/// The target is any Arm.
pub const ARM: bool = AARCH32 || AARCH64;

/// x86: the ABI has I/O page tables and I/O spaces.
pub const IOMMU: bool = cfg!(feature = "iommu") && X86_64;
/// x86: the ABI has virtual processors and extended page tables.
pub const VTX: bool = cfg!(feature = "vtx") && X86_64;
/// The ABI has hardware breakpoints and single stepping.
pub const HARDWARE_DEBUG: bool = cfg!(feature = "hwdebug");
/// The ABI has several cores.
pub const SMP: bool = cfg!(feature = "smp");
/// Arm: threads can program the physical timer of their core.
pub const USER_TIMER: bool = cfg!(feature = "user-timer") && ARM;
/// AArch64: threads with a capability call the firmware.
pub const SMC: bool = cfg!(feature = "smc") && AARCH64;
/// The kernel writes trace events, and programs can mark points in the trace.
pub const TRACING: bool = cfg!(feature = "tracing");
/// Scheduling domains of a kernel with several.
pub const MOST_DOMAINS: usize = 16;
/// Turns of its domain schedule.
pub const MOST_TURNS: usize = 99;
/// Number of scheduling domains.
pub const DOMAINS: usize = if cfg!(feature = "domains") {
    MOST_DOMAINS
} else {
    1
};
/// Entries of the domain schedule; the last always stays an end marker.
pub const DOMAIN_SCHEDULE_LENGTH: usize = if DOMAINS > 1 { MOST_TURNS + 1 } else { 2 };
/// log2 of the slots of the initial thread's CNode, which has more if its image needs them.
pub const ROOT_CNODE_BITS: usize = if cfg!(feature = "large-root") { 17 } else { 12 };
/// Budget of the initial thread, in milliseconds.
pub const BOOT_THREAD_TIME_SLICE: u64 = 5;

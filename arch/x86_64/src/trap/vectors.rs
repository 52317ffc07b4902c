//! Interrupt vectors.
//!
//! | vectors | use |
//! |---|---|
//! | 0 to 31 | exceptions |
//! | 32 to 47 | the legacy interrupt controller, which is disabled |
//! | 48 to 155 | interrupt lines of users |
//! | 156 to 159 | the kernel: I/O memory management, timer, IPIs |
//! | 160 to 254 | software interrupts: unknown system calls |
//! | 255 | spurious interrupts of the local APIC |

/// Exceptions that are handled individually.
pub mod exception {
    /// Single step; hardware breakpoints.
    pub const DEBUG: u64 = 1;
    /// Breakpoint instruction: users may execute it.
    pub const BREAKPOINT: u64 = 3;
    /// General protection: also jumps to non-canonical addresses.
    pub const GENERAL_PROTECTION: u64 = 13;
    /// Page fault.
    pub const PAGE_FAULT: u64 = 14;
    /// Non-maskable interrupt: a hardware failure, a watchdog or a button.
    pub const NON_MASKABLE: u64 = 2;
    /// An exception while the processor delivers another one.
    pub const DOUBLE_FAULT: u64 = 8;
    /// A hardware failure.
    pub const MACHINE_CHECK: u64 = 18;
}

/// The first vector after the exceptions.
pub const FIRST_INTERRUPT: u64 = 32;
/// The first vector of the legacy interrupt controller, which masks all its lines.
pub const LEGACY: u8 = 32;
/// The vector of an interrupt line is this number plus its [`kernel::arch::Irq`].
pub const IRQ_BASE: u64 = 32;
/// The first vector for users.
pub const FIRST_USER: u64 = 48;
/// The last vector for users.
pub const LAST_USER: u64 = 155;
/// The kernel's timer.
pub const TIMER: u64 = 157;
/// The IPI, by which another core makes this one enter the kernel.
#[cfg(feature = "smp")]
pub const CORE: u64 = 158;
/// The first software interrupt.
pub const FIRST_SOFTWARE: u64 = 160;
/// The last software interrupt.
pub const LAST_SOFTWARE: u64 = 254;
/// Spurious interrupts: the low four bits must be set on old APICs.
pub const SPURIOUS: u64 = 255;

//! Marks: no-operation instructions with a number, by which benchmarks notify the emulator.
//!
//! The emulator's plugin `xtask/plugin` detects them; it must know the same instructions.

use core::arch::asm;

/// The end of a benchmark.
pub const DONE: u16 = 0;
/// Releases are counted from here on.
pub const WATCH: u16 = 1;
/// The high-priority thread runs.
pub const RELEASED: u16 = 2;
/// From here on, cache lines that the kernel accesses on this core are recorded.
pub const TOUCH: u16 = 3;
/// End of that record.
pub const TOUCHED: u16 = 4;
/// The end of a benchmark of cache lines.
pub const LINES: u16 = 5;

/// Executes a mark.
#[inline(always)]
pub fn mark<const NUMBER: u16>() {
    /// The number of a mark is added to this base.
    const FIRST: u16 = 0x450;
    // SAFETY: the instruction does nothing. The asm block may access memory, so the compiler does not move
    // it.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!(
            ".balign 8", ".byte 0x0f, 0x1f, 0x80", ".long {}",
            const FIRST + NUMBER, options(nostack, preserves_flags)
        );
        #[cfg(target_arch = "arm")]
        asm!(".inst 0xf55ff000 + {}", const FIRST + NUMBER, options(nostack, preserves_flags));
        #[cfg(target_arch = "aarch64")]
        asm!("movz xzr, #{}", const FIRST + NUMBER, options(nostack, preserves_flags));
    }
}

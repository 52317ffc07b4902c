//! What benchmarks tell the emulator: instructions that do nothing, by a number in them.
//!
//! The plugin that looks for them is `xtask/plugin`; it must know the same instructions.

use core::arch::asm;

/// The end of a benchmark.
pub const DONE: u16 = 0;
/// From now on releases count.
pub const WATCH: u16 = 1;
/// The urgent thread runs.
pub const RELEASED: u16 = 2;
/// From now on the cache lines count that the kernel touches on this core.
pub const TOUCH: u16 = 3;
/// Until now.
pub const TOUCHED: u16 = 4;
/// The end of a benchmark of cache lines.
pub const LINES: u16 = 5;

/// Says something to the emulator.
#[inline(always)]
pub fn mark<const NUMBER: u16>() {
    /// The number of a mark is added to this.
    const FIRST: u16 = 0x450;
    // SAFETY: the instruction does nothing. That it may touch memory keeps it in its place.
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

//! A floating-point register. The compiled program has no instruction that uses one.

use core::arch::asm;

/// Writes the register; returns what it held.
pub fn replace(value: u32) -> u32 {
    let old: u32;
    // SAFETY: no other instruction of the program uses the register.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("movd {0:e}, xmm7", "movd xmm7, {1:e}", out(reg) old, in(reg) value, options(nomem, nostack));
        #[cfg(target_arch = "aarch64")]
        asm!(
            ".arch_extension fp", "fmov {0:w}, s7", "fmov s7, {1:w}", ".arch_extension nofp",
            out(reg) old, in(reg) value, options(nomem, nostack)
        );
        #[cfg(target_arch = "arm")]
        asm!(
            ".fpu vfpv2", "vmov {0}, s7", "vmov s7, {1}",
            out(reg) old, in(reg) value, options(nomem, nostack)
        );
    }
    old
}

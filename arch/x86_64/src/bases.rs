//! The bases of the segments FS and GS, which user code uses for thread-local storage.
//!
//! Where the processor has the FSGSBASE instructions, users may use them too; the kernel therefore
//! reads the registers back whenever it takes a thread off the processor. In the kernel, GS is the
//! kernel's own and the user's lies in the MSR that `swapgs` exchanges (Intel SDM vol. 3, section
//! 5.8.8).

use core::arch::asm;

use x86_64::VirtAddr;
use x86_64::registers::control::{Cr4, Cr4Flags};
use x86_64::registers::model_specific::{FsBase, KernelGsBase};

/// Whether the instructions are enabled: CR4 never changes after boot.
fn has_instructions() -> bool {
    Cr4::read_raw() & Cr4Flags::FSGSBASE.bits() != 0
}

/// The base of FS.
pub fn read_fs() -> u64 {
    if !has_instructions() {
        return FsBase::read().as_u64();
    }
    let base;
    // SAFETY: only reads a register.
    unsafe { asm!("rdfsbase {}", out(reg) base, options(nomem, nostack, preserves_flags)) };
    base
}

/// Sets the base of FS, to a canonical address.
pub fn write_fs(base: u64) {
    if !has_instructions() {
        return FsBase::write(VirtAddr::new_truncate(base));
    }
    // SAFETY: the kernel does not use FS.
    unsafe { asm!("wrfsbase {}", in(reg) base, options(nomem, nostack, preserves_flags)) };
}

/// The user's base of GS.
pub fn read_user_gs() -> u64 {
    if !has_instructions() {
        return KernelGsBase::read().as_u64();
    }
    let base;
    // SAFETY: nothing uses GS while it is the user's, as interrupts are disabled.
    unsafe {
        asm!("swapgs", "rdgsbase {}", "swapgs", out(reg) base, options(nomem, nostack, preserves_flags));
    }
    base
}

/// Sets the user's base of GS, to a canonical address.
pub fn write_user_gs(base: u64) {
    if !has_instructions() {
        return KernelGsBase::write(VirtAddr::new_truncate(base));
    }
    // SAFETY: nothing uses GS while it is the user's, as interrupts are disabled.
    unsafe {
        asm!("swapgs", "wrgsbase {}", "swapgs", in(reg) base, options(nomem, nostack, preserves_flags));
    }
}

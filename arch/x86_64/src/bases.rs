//! The bases of the segments FS and GS, which user code uses for thread-local storage.
//!
//! If the processor has the FSGSBASE instructions, users may use them too; the kernel therefore reads the
//! registers back at each thread switch. In the kernel, GS has the kernel's base, and the user's base is in
//! the MSR that `swapgs` exchanges (Intel SDM vol. 3, section 6.8.8).
//!
//! Selectors have no meaning in 64-bit mode, but users can load the null selectors 0 to 3 and those of
//! their own descriptors, and read them back. To prevent information flow to the next thread, DS, ES, FS and
//! GS are set to null whenever the bases are switched. This takes four instructions; to test first whether
//! one is set would take eight. Loading FS or GS may clear its base (Intel SDM vol. 3, section 3.4.4), so it
//! is done between reading the old base and writing the new one.

use core::arch::asm;
use core::sync::atomic::{AtomicBool, Ordering};

use x86_64::VirtAddr;
use x86_64::registers::control::{Cr4, Cr4Flags};
use x86_64::registers::model_specific::{FsBase, KernelGsBase};

/// Whether the instructions are enabled.
static ENABLED: AtomicBool = AtomicBool::new(false);

/// Whether the instructions are enabled.
#[inline(always)]
pub fn has_instructions() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

/// Determines whether the instructions are enabled: CR4 does not change after boot.
pub fn init() {
    let enabled = Cr4::read_raw() & Cr4Flags::FSGSBASE.bits() != 0;
    ENABLED.store(enabled, Ordering::Relaxed);
}

/// Sets the users' selectors to null. The bases are lost.
pub fn clear_selectors() {
    // SAFETY: no code uses GS while it has the user's base, as interrupts are disabled; the kernel uses none
    // of the others.
    unsafe {
        asm!(
            "mov ds, {null:e}",
            "mov es, {null:e}",
            "mov fs, {null:e}",
            "swapgs",
            "mov gs, {null:e}",
            "swapgs",
            null = in(reg) 0,
            options(nomem, nostack, preserves_flags)
        );
    }
}

/// Loads the bases of FS and the user's GS, with null selectors, by the FSGSBASE instructions; returns the
/// previous ones.
#[inline(always)]
pub fn exchange((fs_base, gs_base): (u64, u64)) -> (u64, u64) {
    let (old_fs, old_gs);
    // SAFETY: no code uses GS while it has the user's base, as interrupts are disabled; the kernel does not
    // use FS. The bases are canonical: users cannot set others.
    unsafe {
        asm!(
            "mov ds, {null:e}",
            "mov es, {null:e}",
            "rdfsbase {old_fs}",
            "mov fs, {null:e}",
            "wrfsbase {fs_base}",
            "swapgs",
            "rdgsbase {old_gs}",
            "mov gs, {null:e}",
            "wrgsbase {gs_base}",
            "swapgs",
            null = in(reg) 0,
            fs_base = in(reg) fs_base,
            gs_base = in(reg) gs_base,
            old_fs = out(reg) old_fs,
            old_gs = out(reg) old_gs,
            options(nomem, nostack, preserves_flags)
        );
    }
    (old_fs, old_gs)
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
    // SAFETY: no code uses GS while it has the user's base, as interrupts are disabled.
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
    // SAFETY: no code uses GS while it has the user's base, as interrupts are disabled.
    unsafe {
        asm!("swapgs", "wrgsbase {}", "swapgs", in(reg) base, options(nomem, nostack, preserves_flags));
    }
}

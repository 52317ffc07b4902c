//! The timer's registers in AArch32 (DDI 0406, section B8.2).

use core::arch::asm;

use crate::user_timer::SavedTimer;

/// Ticks per second, as set by firmware (CNTFRQ).
pub(super) fn frequency() -> u64 {
    let frequency: usize;
    // SAFETY: reads a register.
    unsafe {
        asm!("mrc p15, 0, {}, c14, c0, 0", out(reg) frequency, options(nomem, nostack, preserves_flags));
    }
    frequency as u64
}

/// The virtual count (CNTVCT); the barrier prevents a speculative early read.
pub(super) fn count() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a register.
    unsafe {
        asm!("isb", "mrrc p15, 1, {}, {}, c14", out(reg) low, out(reg) high, options(nomem, nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// CNTV_CVAL.
pub(super) fn set_comparator(instant: u64) {
    let (low, high) = (instant as u32, (instant >> 32) as u32);
    // SAFETY: the timer belongs to the caller.
    unsafe {
        asm!("mcrr p15, 3, {}, {}, c14", in(reg) low, in(reg) high, options(nomem, nostack, preserves_flags));
    }
}

/// CNTV_CTL. After the barrier, the level of the interrupt line reflects the new value.
pub(super) fn set_control(bits: usize) {
    // SAFETY: the timer belongs to the caller.
    unsafe {
        asm!("mcr p15, 0, {}, c14, c3, 1", "isb", in(reg) bits, options(nomem, nostack, preserves_flags));
    }
}

/// CNTKCTL.
pub(super) fn set_access(bits: usize) {
    // SAFETY: only controls the access of user mode.
    unsafe {
        asm!("mcr p15, 0, {}, c14, c1, 0", in(reg) bits, options(nomem, nostack, preserves_flags));
    }
}

/// CNTP_CVAL and CNTP_CTL.
pub(super) fn physical() -> SavedTimer {
    let (low, high, control): (u32, u32, u32);
    // SAFETY: reads registers.
    unsafe {
        asm!(
            "mrrc p15, 2, {}, {}, c14",
            "mrc p15, 0, {}, c14, c2, 1",
            out(reg) low,
            out(reg) high,
            out(reg) control,
            options(nomem, nostack, preserves_flags)
        );
    }
    SavedTimer {
        comparator: u64::from(high) << 32 | u64::from(low),
        control: control.into(),
    }
}

/// Writes CNTP_CVAL and CNTP_CTL.
pub(super) fn set_physical(saved: SavedTimer) {
    // SAFETY: only users use this timer.
    unsafe {
        asm!(
            "mcrr p15, 2, {}, {}, c14",
            "mcr p15, 0, {}, c14, c2, 1",
            "isb",
            in(reg) saved.comparator as u32,
            in(reg) (saved.comparator >> 32) as u32,
            in(reg) saved.control as u32,
            options(nomem, nostack, preserves_flags)
        );
    }
}

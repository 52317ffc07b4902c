//! The timer's registers in AArch64.

use aarch64_cpu::asm::barrier::{SY, isb};
use aarch64_cpu::registers::{
    CNTFRQ_EL0, CNTKCTL_EL1, CNTP_CTL_EL0, CNTP_CVAL_EL0, CNTV_CTL_EL0, CNTV_CVAL_EL0, CNTVCT_EL0,
    Readable, Writeable,
};

use crate::user_timer::SavedTimer;

/// Ticks per second, as set by firmware.
pub(super) fn frequency() -> u64 {
    CNTFRQ_EL0.get()
}

/// The virtual count; the barrier prevents a speculative early read (DDI 0487, section D11.2.2).
pub(super) fn count() -> u64 {
    isb(SY);
    CNTVCT_EL0.get()
}

pub(super) fn set_comparator(instant: u64) {
    CNTV_CVAL_EL0.set(instant);
}

pub(super) fn set_control(bits: usize) {
    CNTV_CTL_EL0.set(bits as u64);
    // After the barrier, the level of the interrupt line reflects the new value.
    isb(SY);
}

pub(super) fn set_access(bits: usize) {
    CNTKCTL_EL1.set(bits as u64);
}

/// The physical timer.
pub(super) fn physical() -> SavedTimer {
    SavedTimer {
        comparator: CNTP_CVAL_EL0.get(),
        control: CNTP_CTL_EL0.get(),
    }
}

pub(super) fn set_physical(saved: SavedTimer) {
    CNTP_CVAL_EL0.set(saved.comparator);
    CNTP_CTL_EL0.set(saved.control);
    isb(SY);
}

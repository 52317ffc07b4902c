//! The CPU interface, which consists of system registers of the core (IHI 0069, section 12.2).

use core::arch::asm;

/// The priority mask that lets all priorities through.
const ALL_PRIORITIES: u64 = 0xff;
/// `ICC_SRE_EL1.SRE`: use the system registers instead of the memory-mapped interface.
const SYSTEM_REGISTERS: u64 = 1;
/// `ICC_IGRPEN1_EL1.Enable`.
const ENABLE: u64 = 1;
/// The interrupt number in `ICC_IAR1_EL1` and `ICC_HPPIR1_EL1`.
const NUMBER: u64 = 0xff_ffff;

macro_rules! read {
    ($register:literal) => {{
        let value: u64;
        // SAFETY: the register belongs to the interrupt controller's driver. Like device accesses, it is not
        // reordered with memory accesses.
        unsafe { asm!(concat!("mrs {}, ", $register), out(reg) value, options(nostack)) };
        value
    }};
}

macro_rules! write {
    ($register:literal, $value:expr) => {{
        let value: u64 = $value;
        // SAFETY: as for reading; later instructions see the effect because of the barrier.
        unsafe { asm!(concat!("msr ", $register, ", {}"), "isb", in(reg) value, options(nostack)) };
    }};
}

/// Enables interrupts of group 1. One write ends an interrupt: priority drop and deactivation.
pub(super) fn start() {
    // ICC_SRE_EL1, ICC_PMR_EL1, ICC_BPR1_EL1, ICC_CTLR_EL1, ICC_IGRPEN1_EL1
    write!("S3_0_C12_C12_5", SYSTEM_REGISTERS);
    write!("S3_0_C4_C6_0", ALL_PRIORITIES);
    write!("S3_0_C12_C12_3", 0);
    write!("S3_0_C12_C12_4", 0);
    write!("S3_0_C12_C12_7", ENABLE);
}

/// Takes the highest-priority pending interrupt (ICC_IAR1_EL1).
pub(super) fn acknowledge() -> u32 {
    let number = read!("S3_0_C12_C12_0") & NUMBER;
    // Section 4.1.1: devices see the acknowledgement before later accesses.
    // SAFETY: a barrier.
    unsafe { asm!("dsb sy", options(nostack)) };
    number as u32
}

/// Ends an interrupt that was taken (ICC_EOIR1_EL1).
pub(super) fn end(number: u32) {
    write!("S3_0_C12_C12_1", number.into());
}

/// The highest-priority pending interrupt (ICC_HPPIR1_EL1).
pub(super) fn highest_pending() -> u32 {
    (read!("S3_0_C12_C12_2") & NUMBER) as u32
}

/// Raises software-generated interrupt `number` on core `target` of the cluster of `affinity`
/// (ICC_SGI1R_EL1).
pub(super) fn send_signal(affinity: u64, number: usize, target: usize) {
    let (one, two, three) = (
        affinity >> 8 & 0xff,
        affinity >> 16 & 0xff,
        affinity >> 32 & 0xff,
    );
    let value = three << 48 | two << 32 | one << 16 | (number as u64) << 24 | 1 << target;
    // SAFETY: a barrier. The target core sees earlier writes when it takes the interrupt.
    unsafe { asm!("dsb ishst", options(nostack)) };
    write!("S3_0_C12_C11_5", value);
}

//! ARMv6.
//!
//! The core is an ARM1136 from revision r1 on, which has the thread-local registers of ARMv6K. The
//! floating-point unit VFP11 has half the registers of later ones. For the rare operations that it
//! leaves to software (ARM DDI 0274, section 6.3) a thread gets an undefined-instruction fault, unless
//! it selects the unit's RunFast mode.

pub(crate) mod breakpoints;
pub(super) mod cache;
mod cp15;

/// The high vectors (ARM DDI 0211, section 2.12.15).
pub(crate) const FIXED_VECTORS: Option<usize> = Some(0xffff_0000);
/// Outer non-cacheable: the outer cache is disabled.
pub(crate) const WALK: usize = 0;
pub(crate) const SHARED_PREDICTIONS: bool = true;

pub(crate) fn set_vectors(_vectors: usize) {
    /// SCTLR.V.
    const HIGH_VECTORS: usize = 1 << 13;
    // SAFETY: interrupts are masked, so no exception is taken before the vectors are mapped there.
    unsafe { cp15::set_control(cp15::control() | HIGH_VECTORS) };
}

pub(crate) fn data_barrier() {
    // SAFETY: a barrier only waits.
    unsafe { cp15::data_barrier(0) };
}

/// Discards prefetched instructions, so that they are fetched again.
pub(crate) fn instruction_barrier() {
    // SAFETY: as above.
    unsafe { cp15::instruction_barrier(0) };
}

/// A pending interrupt ends the wait although it is masked.
pub(crate) fn wait_for_interrupt() {
    data_barrier();
    // SAFETY: the instruction only waits.
    unsafe { cp15::wait_for_interrupt(0) };
}

/// The counters are accessible to the kernel only (ARM DDI 0211, section 3.3.33). The debug communication
/// channel is left as firmware configured it: the register that controls it (DSCR) is undefined if there
/// is no debug unit, as in QEMU, and its presence cannot be detected beforehand.
pub(crate) fn limit_users() {}

//! ARMv7-A.

pub(crate) mod breakpoints;
pub(super) mod cache;
mod cp15;
mod debug;
mod pmu;

use core::arch::asm;

pub(crate) const FIXED_VECTORS: Option<usize> = None;
/// Write-back, write-allocate (TTBR0 of cores with the Multiprocessing Extensions; ARM DDI 0406, section
/// B4.1.154); on several cores also shareable, so that walks are coherent with the caches of all.
pub(crate) const WALK: usize = if cfg!(feature = "smp") { 0x4a } else { 0x48 };
pub(crate) const SHARED_PREDICTIONS: bool = false;

pub(crate) fn set_vectors(vectors: usize) {
    // SAFETY: the vectors are code, aligned as the register requires.
    unsafe { cp15::set_vectors(vectors) };
}

pub(crate) fn data_barrier() {
    // SAFETY: a barrier only waits. The compiler moves no memory access across it.
    unsafe { asm!("dsb", options(nostack, preserves_flags)) };
}

pub(crate) fn instruction_barrier() {
    // SAFETY: as above.
    unsafe { asm!("isb", options(nostack, preserves_flags)) };
}

/// A pending interrupt ends the wait although it is masked (section B1.8.14).
pub(crate) fn wait_for_interrupt() {
    data_barrier();
    // SAFETY: the instruction only waits.
    unsafe { asm!("wfi", options(nostack, preserves_flags)) };
}

pub(crate) fn limit_users() {
    debug::keep_from_users();
    if cfg!(feature = "bench") {
        pmu::give_to_users();
    } else {
        pmu::keep_from_users();
    }
}

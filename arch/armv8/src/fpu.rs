//! The floating-point and vector registers. While the unit is disabled, instructions that need them trap (Arm
//! ARM, `CPACR_EL1`).

use core::arch::global_asm;

use crate::context::FpuContext;
use aarch64_cpu::asm::barrier::{SY, isb};
use aarch64_cpu::registers::{CPACR_EL1, Writeable};

global_asm!(
    ".arch_extension fp",
    ".arch_extension simd",
    ".global fpu_save, fpu_load",
    // Saves to the context at x0.
    "fpu_save:",
    "stp     q0, q1, [x0, #32 * 0]",
    "stp     q2, q3, [x0, #32 * 1]",
    "stp     q4, q5, [x0, #32 * 2]",
    "stp     q6, q7, [x0, #32 * 3]",
    "stp     q8, q9, [x0, #32 * 4]",
    "stp     q10, q11, [x0, #32 * 5]",
    "stp     q12, q13, [x0, #32 * 6]",
    "stp     q14, q15, [x0, #32 * 7]",
    "stp     q16, q17, [x0, #32 * 8]",
    "stp     q18, q19, [x0, #32 * 9]",
    "stp     q20, q21, [x0, #32 * 10]",
    "stp     q22, q23, [x0, #32 * 11]",
    "stp     q24, q25, [x0, #32 * 12]",
    "stp     q26, q27, [x0, #32 * 13]",
    "stp     q28, q29, [x0, #32 * 14]",
    "stp     q30, q31, [x0, #32 * 15]",
    "mrs     x1, fpsr",
    "mrs     x2, fpcr",
    "add     x0, x0, #512",
    "stp     x1, x2, [x0]",
    "ret",
    // Loads from the context at x0.
    "fpu_load:",
    "ldp     q0, q1, [x0, #32 * 0]",
    "ldp     q2, q3, [x0, #32 * 1]",
    "ldp     q4, q5, [x0, #32 * 2]",
    "ldp     q6, q7, [x0, #32 * 3]",
    "ldp     q8, q9, [x0, #32 * 4]",
    "ldp     q10, q11, [x0, #32 * 5]",
    "ldp     q12, q13, [x0, #32 * 6]",
    "ldp     q14, q15, [x0, #32 * 7]",
    "ldp     q16, q17, [x0, #32 * 8]",
    "ldp     q18, q19, [x0, #32 * 9]",
    "ldp     q20, q21, [x0, #32 * 10]",
    "ldp     q22, q23, [x0, #32 * 11]",
    "ldp     q24, q25, [x0, #32 * 12]",
    "ldp     q26, q27, [x0, #32 * 13]",
    "ldp     q28, q29, [x0, #32 * 14]",
    "ldp     q30, q31, [x0, #32 * 15]",
    "add     x0, x0, #512",
    "ldp     x1, x2, [x0]",
    "msr     fpsr, x1",
    "msr     fpcr, x2",
    "ret",
    ".arch_extension nosimd",
    ".arch_extension nofp",
);

unsafe extern "C" {
    /// The unit must be enabled.
    pub(crate) fn fpu_save(context: *mut FpuContext);
    /// The unit must be enabled.
    pub(crate) fn fpu_load(context: *const FpuContext);
}

/// Enables or disables the unit.
#[inline(always)]
pub(crate) fn set_enabled(enabled: bool) {
    CPACR_EL1.write(if enabled {
        CPACR_EL1::FPEN::TrapNothing
    } else {
        CPACR_EL1::FPEN::TrapEl0El1
    });
    isb(SY);
}

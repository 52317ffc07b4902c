//! The floating-point and vector registers, switched lazily: they belong to the thread that used them last,
//! the owner, until another thread uses them. The first instruction of any other thread that needs them
//! traps (Arm ARM, `CPACR_EL1`).

use core::arch::global_asm;

use aarch64_cpu::asm::barrier::{SY, isb};
use aarch64_cpu::registers::{CPACR_EL1, Writeable};
use kernel::Kernel;
use kernel::object::Thread;
use kernel::token::Ptr;

use crate::context::FpuContext;
use crate::{Armv8, Platform};

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
    fn fpu_save(context: *mut FpuContext);
    /// The unit must be enabled.
    fn fpu_load(context: *const FpuContext);
}

/// The unit of this core.
pub struct Fpu<P: Platform> {
    /// The thread to which the register contents belong.
    owner: Option<Ptr<Thread<Armv8<P>>>>,
    enabled: bool,
}

impl<P: Platform> Fpu<P> {
    /// Offset of the owner, for fast paths in assembly.
    pub(crate) const OWNER: usize = core::mem::offset_of!(Self, owner);
    /// Offset of the byte that says whether the unit is enabled.
    pub(crate) const ENABLED: usize = core::mem::offset_of!(Self, enabled);

    /// The unit, disabled and without an owner.
    pub(crate) fn start() -> Self {
        let mut fpu = Self {
            owner: None,
            enabled: true,
        };
        fpu.set_enabled(false);
        fpu
    }

    /// The thread to which the register contents belong.
    #[cfg(feature = "smp")]
    pub(crate) fn owner(&self) -> Option<Ptr<Thread<Armv8<P>>>> {
        self.owner
    }

    fn set_enabled(&mut self, enabled: bool) {
        if self.enabled != enabled {
            self.enabled = enabled;
            CPACR_EL1.write(if enabled {
                CPACR_EL1::FPEN::TrapNothing
            } else {
                CPACR_EL1::FPEN::TrapEl0El1
            });
            isb(SY);
        }
    }
}

/// Enables the unit if the next thread is its owner, and disables it otherwise.
pub(crate) fn switch_to<P: Platform>(kernel: &mut Kernel<Armv8<P>>, next: Ptr<Thread<Armv8<P>>>) {
    let fpu = &mut kernel.arch.fpu;
    fpu.set_enabled(Ptr::is_same(fpu.owner, Some(next)));
}

/// Handles a use of the disabled unit by the current thread. Makes the thread its owner, if it may use the
/// unit; returns whether to execute the instruction again.
pub(crate) fn acquire<P: Platform>(kernel: &mut Kernel<Armv8<P>>) -> bool {
    debug_assert!(kernel.holds_entry_lock());
    let Some(thread) = kernel.core.current else {
        return false;
    };
    if kernel[thread].fpu_disabled() || kernel.arch.fpu.owner == Some(thread) {
        return false;
    }
    write_back(kernel);
    kernel.arch.fpu.set_enabled(true);
    // SAFETY: the unit is enabled, and the context is the thread's own.
    unsafe { fpu_load(&raw const kernel[thread].context.fpu) };
    kernel.arch.fpu.owner = Some(thread);
    true
}

/// Writes the registers back to the context of a thread, if it is their owner.
pub(crate) fn release<P: Platform>(kernel: &mut Kernel<Armv8<P>>, thread: Ptr<Thread<Armv8<P>>>) {
    if kernel.arch.fpu.owner == Some(thread) {
        write_back(kernel);
        kernel.arch.fpu.set_enabled(false);
    }
}

/// Writes the registers back to the context of their owner.
#[cfg(feature = "smp")]
pub(crate) fn release_owner<P: Platform>(kernel: &mut Kernel<Armv8<P>>) {
    if let Some(owner) = kernel.arch.fpu.owner {
        release(kernel, owner);
    }
}

fn write_back<P: Platform>(kernel: &mut Kernel<Armv8<P>>) {
    if let Some(owner) = kernel.arch.fpu.owner.take() {
        kernel.arch.fpu.set_enabled(true);
        // SAFETY: the unit is enabled, and its registers belong to this thread.
        unsafe { fpu_save(&raw mut kernel[owner].context.fpu) };
    }
}

//! The floating-point and vector registers, switched lazily: they stay those of the thread that used
//! them last until another one wants them. The unit is off for everybody else, and the first
//! instruction that needs it is undefined (ARM DDI 0406, section B1.11).

use aarch32_cpu::asm::isb;
use aarch32_cpu::register::Cpacr;
use arch_arm::aarch32::FpuContext;
use kernel::Kernel;
use kernel::object::Thread;
use kernel::token::Ptr;

use crate::{Armv7, Platform};

core::arch::global_asm!(
    ".fpu neon",
    ".global fpu_set_enabled, fpu_save, fpu_load",
    // FPEXC.EN (section B4.1.57) to the bit in r0.
    "fpu_set_enabled:",
    "lsl     r0, r0, #30",
    "vmsr    fpexc, r0",
    "isb",
    "bx      lr",
    // To the context at r0.
    "fpu_save:",
    "vstmia  r0!, {{d0-d15}}",
    "vstmia  r0!, {{d16-d31}}",
    "vmrs    r1, fpscr",
    "str     r1, [r0]",
    "bx      lr",
    // From the context at r0.
    "fpu_load:",
    "vldmia  r0!, {{d0-d15}}",
    "vldmia  r0!, {{d16-d31}}",
    "ldr     r1, [r0]",
    "vmsr    fpscr, r1",
    "bx      lr",
);

unsafe extern "C" {
    safe fn fpu_set_enabled(enabled: bool);
    /// The unit must be enabled.
    fn fpu_save(context: *mut FpuContext);
    /// The unit must be enabled.
    fn fpu_load(context: *const FpuContext);
}

/// The unit of this core.
pub struct Fpu<P: Platform> {
    /// Whose registers it holds.
    owner: Option<Ptr<Thread<Armv7<P>>>>,
    enabled: bool,
}

impl<P: Platform> Fpu<P> {
    /// Makes the unit usable, for nobody yet.
    pub(crate) fn start() -> Self {
        /// Coprocessors 10 and 11, which the unit is, for users and kernel (section B4.1.40).
        const FULL_ACCESS: u32 = 0xf << 20;
        // SAFETY: kernel code does not use the unit.
        unsafe { Cpacr::write(Cpacr(Cpacr::read().0 | FULL_ACCESS)) };
        isb();
        fpu_set_enabled(false);
        Self {
            owner: None,
            enabled: false,
        }
    }

    fn set_enabled(&mut self, enabled: bool) {
        if self.enabled != enabled {
            self.enabled = enabled;
            fpu_set_enabled(enabled);
        }
    }
}

/// Leaves the unit on for the thread whose registers it holds, and off for others.
pub(crate) fn switch_to<P: Platform>(kernel: &mut Kernel<Armv7<P>>, next: Ptr<Thread<Armv7<P>>>) {
    let fpu = &mut kernel.arch.fpu;
    fpu.set_enabled(fpu.owner == Some(next));
}

/// An instruction was undefined: perhaps because the unit is off. Gives it to the current thread if
/// that may have it and has not; returns whether the instruction is worth another try.
pub(crate) fn acquire<P: Platform>(kernel: &mut Kernel<Armv7<P>>) -> bool {
    let Some(thread) = kernel.core.current else {
        return false;
    };
    if kernel[thread].fpu_disabled() || kernel.arch.fpu.owner == Some(thread) {
        return false;
    }
    write_back(kernel);
    kernel.arch.fpu.set_enabled(true);
    // SAFETY: the unit is on, and the context is the thread's own.
    unsafe { fpu_load(&raw const kernel[thread].context.fpu) };
    kernel.arch.fpu.owner = Some(thread);
    true
}

/// Writes the registers of a thread back to its context, if the unit holds them.
pub(crate) fn release<P: Platform>(kernel: &mut Kernel<Armv7<P>>, thread: Ptr<Thread<Armv7<P>>>) {
    if kernel.arch.fpu.owner == Some(thread) {
        write_back(kernel);
        kernel.arch.fpu.set_enabled(false);
    }
}

fn write_back<P: Platform>(kernel: &mut Kernel<Armv7<P>>) {
    if let Some(owner) = kernel.arch.fpu.owner.take() {
        kernel.arch.fpu.set_enabled(true);
        // SAFETY: the unit is on, and its registers belong to this thread.
        unsafe { fpu_save(&raw mut kernel[owner].context.fpu) };
    }
}

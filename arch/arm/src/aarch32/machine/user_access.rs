//! Users have no access to registers that are not switched with threads, since one thread could read what
//! another one wrote. The reset values of the control registers do not ensure this, and firmware may have
//! changed them.

use core::arch::asm;

use super::version;

/// Removes the access of users on this core.
pub(super) fn limit() {
    version::limit_users();
    let states: u32;
    // SAFETY: reads ID_PFR0, the instruction sets of the core (ARM DDI 0406, section B4.1.93; ARM
    // DDI 0211, section 3.3.5).
    unsafe {
        asm!("mrc p15, 0, {}, c0, c1, 0", out(reg) states, options(nomem, nostack, preserves_flags));
    }
    let has = |shift: u32| states >> shift & 0xf != 0;
    const JAZELLE: u32 = 8;
    const THUMB_EE: u32 = 12;
    if has(JAZELLE) {
        /// JOSCR.CD; with CV clear, no bytecode is executed (ARM DDI 0406, section A2.10.5).
        const CONFIGURATION_DISABLED: u32 = 1 << 0;
        // SAFETY: the register exists; the kernel does not use what it disables.
        unsafe {
            asm!("mcr p14, 7, {}, c1, c0, 0", in(reg) CONFIGURATION_DISABLED, options(nomem, nostack, preserves_flags));
        }
    }
    if has(THUMB_EE) {
        /// TEECR.XED: users can neither read nor write TEEHBR (ARM DDI 0406, section B4.1, TEECR).
        const ENVIRONMENT_DISABLED: u32 = 1 << 0;
        // SAFETY: as above.
        unsafe {
            asm!("mcr p14, 6, {}, c0, c0, 0", in(reg) ENVIRONMENT_DISABLED, options(nomem, nostack, preserves_flags));
        }
    }
}

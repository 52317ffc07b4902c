//! The debug communication channel, to which threads get no access.

use core::arch::asm;

/// Makes user accesses undefined (ARM DDI 0406, DBGDSCR.UDCCdis). Before version 7.1 of the debug
/// architecture, cores need not let the kernel write the register (section C6.4). The Cortex-A9, which has
/// version 7, does not: there the channel stays as firmware left it.
pub(crate) fn keep_from_users() {
    const VERSION_SHIFT: u32 = 16;
    const VERSION_MASK: u32 = 0xf;
    const VERSION_7_1: u32 = 5;
    const USERS_DISABLED: u32 = 1 << 12;
    let identification: u32;
    // SAFETY: reads DBGDIDR, which all versions have.
    unsafe {
        asm!("mrc p14, 0, {}, c0, c0, 0", out(reg) identification, options(nomem, nostack, preserves_flags));
    }
    if identification >> VERSION_SHIFT & VERSION_MASK < VERSION_7_1 {
        return;
    }
    let mut control: u32;
    // SAFETY: the register (DBGDSCRext) exists from this version on, and the kernel does not use the channel.
    unsafe {
        asm!("mrc p14, 0, {}, c0, c2, 2", out(reg) control, options(nomem, nostack, preserves_flags));
        control |= USERS_DISABLED;
        asm!("mcr p14, 0, {}, c0, c2, 2", in(reg) control, options(nomem, nostack, preserves_flags));
    }
}

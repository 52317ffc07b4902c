//! TLB invalidation, on all cores (Arm ARM, section D8.14).

use core::arch::asm;

use crate::spaces::Asid;

/// Invalidates the TLB entries of one page, or block, of an address space.
pub(crate) fn invalidate_page(asid: Asid, address: usize) {
    let page = (address >> 12) as u64 & 0xfff_ffff_ffff;
    let operand = u64::from(asid.number()) << 48 | page;
    // SAFETY: the TLB is refilled from the tables.
    unsafe {
        asm!("dsb ishst", "tlbi vae1is, {}", "dsb ish", "isb", in(reg) operand, options(nostack))
    };
}

/// Invalidates all TLB entries of an address space.
pub(crate) fn invalidate_space(asid: Asid) {
    let operand = u64::from(asid.number()) << 48;
    // SAFETY: as above.
    unsafe {
        asm!("dsb ishst", "tlbi aside1is, {}", "dsb ish", "isb", in(reg) operand, options(nostack))
    };
}

/// Invalidates all TLB entries.
pub(crate) fn invalidate_all() {
    // SAFETY: as above.
    unsafe {
        asm!(
            "dsb ishst",
            "tlbi vmalle1is",
            "dsb ish",
            "isb",
            options(nostack)
        )
    };
}

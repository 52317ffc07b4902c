//! Operations on the caches.
//!
//! *ARM1136JF-S and ARM1136J-S Technical Reference Manual* (ARM DDI 0211), chapter 7. Caches are virtually
//! indexed and physically tagged. A way of the i.MX31's caches is as large as a page, so that all mappings
//! of an address have the same index (section 6.9.1: no page colouring). Table walks and instruction
//! fetches do not look up the data cache.

/// Table walks read memory.
pub(crate) use super::super::cache::clean as clean_table;
use super::cp15;

/// For ranges longer than this, maintaining the whole cache is quicker than maintaining each line: it is
/// the size of the data cache. This bounds the time of an operation on a range of any length.
pub(crate) const WHOLE: usize = 16 * 1024;

/// Bytes of a cache line (section 7.2.1).
const LINE: usize = 32;

/// Bytes of a line of the data cache.
pub(crate) fn data_line() -> usize {
    LINE
}

/// Bytes of a line of the instruction cache.
pub(crate) fn instruction_line() -> usize {
    LINE
}

/// Cleans the data cache.
pub(crate) fn clean_all() {
    // SAFETY: cleaning changes no data that this core reads.
    unsafe { cp15::clean_all(0) };
}

/// Cleans and invalidates the data cache.
pub(crate) fn clean_invalidate_all() {
    // SAFETY: dirty lines are written back.
    unsafe { cp15::clean_invalidate_all(0) };
}

/// Invalidates the data cache.
///
/// # Safety
/// It has no dirty lines to lose.
pub(crate) unsafe fn invalidate_all() {
    // SAFETY: by contract.
    unsafe { cp15::invalidate_all(0) };
}

/// Invalidates the instruction cache and the branch predictions. Because of erratum 411920 of the
/// ARM1136, one operation may not be enough; four are, followed by eleven `nop` instructions.
pub(crate) fn invalidate_instructions() {
    for _ in 0..4 {
        // SAFETY: instructions are fetched again.
        unsafe { cp15::invalidate_instructions(0) };
    }
    // SAFETY: `nop` has no effect.
    unsafe {
        core::arch::asm!(
            ".rept 11",
            "nop",
            ".endr",
            options(nostack, preserves_flags)
        )
    };
    // SAFETY: branch predictions affect only speed.
    unsafe { cp15::invalidate_branch_predictor(0) };
}

//! Caches of the core.
//!
//! *ARM1136JF-S and ARM1136J-S Technical Reference Manual* (ARM DDI 0211), chapter 7. Caches are virtually
//! indexed and physically tagged. A way of the i.MX31's caches is as large as a page, so that all mappings
//! of an address have the same index (section 6.9.1: no page colouring). Table walks and instruction
//! fetches do not look up the data cache.

use core::ops::Range;

use aarch32_cpu::register::Sctlr;
use arch_arm::aarch32::{CacheOperation, lines};

use crate::cp15;

/// Bytes of a cache line (section 7.2.1).
const LINE: usize = 32;

/// For ranges longer than this, maintaining the whole cache is quicker than maintaining each line: it is
/// the size of the data cache. This bounds the time of an operation on a range of any length.
const WHOLE: usize = 16 * 1024;

/// Waits until all operations are complete.
pub(crate) fn data_barrier() {
    // SAFETY: a barrier only waits.
    unsafe { cp15::data_barrier(0) };
}

/// Discards prefetched instructions, so that they are fetched again.
pub(crate) fn instruction_barrier() {
    // SAFETY: as above.
    unsafe { cp15::instruction_barrier(0) };
}

/// Writes a range of addresses back to memory, where table walks read it.
pub(crate) fn clean(range: Range<usize>) {
    for line in lines(range, LINE) {
        // SAFETY: cleaning changes no data that this core reads.
        unsafe { cp15::clean_line(line) };
    }
    data_barrier();
}

/// Performs an operation that a user requested, on a mapped range of its addresses.
pub(crate) fn maintain(operation: CacheOperation, range: Range<usize>) {
    use CacheOperation::*;
    let whole = range.len() > WHOLE;
    // SAFETY: the memory belongs to the user that makes the request. Operations on the whole data cache
    // clean it before they invalidate. An invalidation of a long range may clean too, since a dirty line may
    // be written back at any time anyway.
    unsafe {
        match operation {
            Clean if whole => cp15::clean_all(0),
            Clean => lines(range, LINE).for_each(|line| cp15::clean_line(line)),
            Invalidate if !whole => {
                lines(range, LINE).for_each(|line| cp15::invalidate_line(line));
            }
            Invalidate | CleanInvalidate if whole => cp15::clean_invalidate_all(0),
            Invalidate | CleanInvalidate => {
                lines(range, LINE).for_each(|line| cp15::clean_invalidate_line(line));
            }
            Unify => unify(range, whole),
        }
    }
    data_barrier();
}

fn unify(range: Range<usize>, whole: bool) {
    if whole {
        // SAFETY: cleaning changes no data that this core reads.
        unsafe { cp15::clean_all(0) };
        data_barrier();
        invalidate_instructions();
    } else {
        clean(range.clone());
        for line in lines(range, LINE) {
            // SAFETY: instructions are fetched again.
            unsafe { cp15::invalidate_instruction_line(line) };
        }
    }
    // SAFETY: branch predictions affect only speed.
    unsafe { cp15::invalidate_branch_predictor(0) };
    data_barrier();
    instruction_barrier();
}

/// Cleans and invalidates the data cache, and invalidates the instruction cache, each if requested.
pub(crate) fn flush(data: bool, instructions: bool) {
    if data {
        // SAFETY: dirty lines are written back.
        unsafe { cp15::clean_invalidate_all(0) };
        data_barrier();
    }
    if instructions {
        invalidate_instructions();
    }
    instruction_barrier();
}

/// Enables caches and branch prediction. The data cache has undefined content after a reset.
///
/// # Safety
/// The data cache is disabled, so it has no dirty lines to lose.
pub(crate) unsafe fn enable() {
    // SAFETY: by contract.
    unsafe { cp15::invalidate_all(0) };
    invalidate_instructions();
    data_barrier();
    Sctlr::modify(|control| {
        control.set_c(true);
        control.set_i(true);
        control.set_z(true);
    });
    instruction_barrier();
}

/// Invalidates the instruction cache and the branch predictions. Because of erratum 411920 of the
/// ARM1136, one operation may not be enough; four are, followed by eleven `nop` instructions.
fn invalidate_instructions() {
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
    data_barrier();
}

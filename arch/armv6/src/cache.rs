//! Caches of the core.
//!
//! *ARM1136JF-S and ARM1136J-S Technical Reference Manual* (ARM DDI 0211), chapter 7. Caches are indexed
//! by virtual and tagged by physical addresses. A way of the i.MX31's caches is as large as a page, so
//! that an address has one place in them, whichever its mapping (section 6.9.1: no page colouring).
//! Table walks and instruction fetches do not look into the data cache.

use core::ops::Range;

use aarch32_cpu::register::Sctlr;
use arch_arm::aarch32::{CacheOperation, lines};

use crate::cp15;

/// Bytes of a cache line (section 7.2.1).
const LINE: usize = 32;

/// From so many bytes on, maintaining the whole cache is quicker than asking it for each line: it is
/// as large as the data cache. This bounds the time of an operation, however much memory a user names.
const WHOLE: usize = 16 * 1024;

/// Waits until all operations are complete.
pub(crate) fn data_barrier() {
    // SAFETY: waiting harms nobody.
    unsafe { cp15::data_barrier(0) };
}

/// Fetches anew what was fetched already.
pub(crate) fn instruction_barrier() {
    // SAFETY: as above.
    unsafe { cp15::instruction_barrier(0) };
}

/// Writes a range of addresses back to memory, where table walks see it.
pub(crate) fn clean(range: Range<usize>) {
    for line in lines(range, LINE) {
        // SAFETY: cleaning changes nothing that this core sees.
        unsafe { cp15::clean_line(line) };
    }
    data_barrier();
}

/// Performs an operation that a user asked for, on a range of its addresses, which are mapped.
pub(crate) fn maintain(operation: CacheOperation, range: Range<usize>) {
    use CacheOperation::*;
    let whole = range.len() > WHOLE;
    // SAFETY: the memory belongs to the user who asks; where the whole data cache is concerned, it is
    // cleaned first. Instead of invalidating much, all is cleaned too: a line that is newer than
    // memory may be written back at any time anyway.
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
        // SAFETY: cleaning changes nothing that this core sees.
        unsafe { cp15::clean_all(0) };
        data_barrier();
        invalidate_instructions();
    } else {
        clean(range.clone());
        for line in lines(range, LINE) {
            // SAFETY: instructions are fetched anew.
            unsafe { cp15::invalidate_instruction_line(line) };
        }
    }
    // SAFETY: predictions are about speed.
    unsafe { cp15::forget_branches(0) };
    data_barrier();
    instruction_barrier();
}

/// Cleans and invalidates the data cache, and invalidates the instruction cache, if asked to.
pub(crate) fn flush(data: bool, instructions: bool) {
    if data {
        // SAFETY: nothing is lost.
        unsafe { cp15::clean_invalidate_all(0) };
        data_barrier();
    }
    if instructions {
        invalidate_instructions();
    }
    instruction_barrier();
}

/// Switches caches and branch prediction on. The data cache holds garbage after a reset.
///
/// # Safety
/// The data cache is off, so it has nothing to lose.
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

/// Invalidates the instruction cache, with the branch predictions. Once may not be enough (erratum
/// 411920 of the ARM1136): four times are, with eleven instructions behind that do nothing.
fn invalidate_instructions() {
    for _ in 0..4 {
        // SAFETY: instructions are fetched anew.
        unsafe { cp15::invalidate_instructions(0) };
    }
    // SAFETY: these do nothing.
    unsafe {
        core::arch::asm!(
            ".rept 11",
            "nop",
            ".endr",
            options(nostack, preserves_flags)
        )
    };
    // SAFETY: predictions are about speed.
    unsafe { cp15::forget_branches(0) };
    data_barrier();
}

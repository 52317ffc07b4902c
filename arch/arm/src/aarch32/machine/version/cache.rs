//! Caches of the core: the operations, of those that the architecture version has.

use core::ops::Range;

use super::own::cache::{
    WHOLE, clean_all, clean_invalidate_all, clean_table, data_line, instruction_line,
    invalidate_all, invalidate_instructions,
};
use super::{data_barrier, instruction_barrier};
use crate::aarch32::cp15::control::{BRANCH_PREDICTION, DATA_CACHE, INSTRUCTION_CACHE};
use crate::aarch32::{CacheOperation, cp15, lines};

/// Writes a range of addresses back to memory.
pub(crate) fn clean(range: Range<usize>) {
    for line in lines(range, data_line()) {
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
            Clean if whole => clean_all(),
            Clean => lines(range, data_line()).for_each(|line| cp15::clean_line(line)),
            Invalidate if !whole => {
                lines(range, data_line()).for_each(|line| cp15::invalidate_line(line));
            }
            Invalidate | CleanInvalidate if whole => clean_invalidate_all(),
            Invalidate | CleanInvalidate => {
                lines(range, data_line()).for_each(|line| cp15::clean_invalidate_line(line));
            }
            Unify => unify(range, whole),
        }
    }
    data_barrier();
}

fn unify(range: Range<usize>, whole: bool) {
    if whole {
        clean_all();
        data_barrier();
        invalidate_instructions();
    } else {
        clean_table(range.clone());
        for line in lines(range, instruction_line()) {
            // SAFETY: instructions are fetched again.
            unsafe { cp15::invalidate_instruction_line(line) };
        }
        // SAFETY: branch predictions affect only speed.
        unsafe { cp15::invalidate_branch_predictor(0) };
    }
    data_barrier();
    instruction_barrier();
}

/// Cleans and invalidates the data cache, and invalidates the instruction cache, each if requested.
pub(crate) fn flush(data: bool, instructions: bool) {
    if data {
        clean_invalidate_all();
        data_barrier();
    }
    if instructions {
        invalidate_instructions();
    }
    data_barrier();
    instruction_barrier();
}

/// Enables caches and branch prediction. The data cache has undefined content after a reset.
///
/// # Safety
/// The data cache is disabled, so it has no dirty lines to lose.
pub(crate) unsafe fn enable() {
    // SAFETY: by contract.
    unsafe { invalidate_all() };
    data_barrier();
    invalidate_instructions();
    data_barrier();
    let enabled = DATA_CACHE | INSTRUCTION_CACHE | BRANCH_PREDICTION;
    // SAFETY: the caches have no content yet.
    unsafe { cp15::set_control(cp15::control() | enabled) };
    instruction_barrier();
}

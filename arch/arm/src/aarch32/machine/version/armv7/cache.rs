//! Operations on the caches.
//!
//! *ARM Architecture Reference Manual, ARMv7-A and ARMv7-R edition* (DDI 0406), section B2.2. ARMv7 data
//! caches behave as physically indexed and physically tagged. Instruction caches may be virtually indexed,
//! so they are maintained at the virtual addresses from which instructions are fetched. Outer caches stay
//! disabled.

use core::ops::Range;

use super::{cp15, data_barrier, instruction_barrier};
use crate::aarch32::lines;

/// For ranges longer than this, maintaining the whole cache is quicker than maintaining each line: it is
/// larger than the data cache of any Cortex-A9. This bounds the time of an operation on a range of any
/// length.
pub(crate) const WHOLE: usize = 64 * 1024;

/// Bytes of the smallest data cache line (section B4.1.42).
pub(crate) fn data_line() -> usize {
    4 << (cp15::cache_type() >> 16 & 0xf)
}

/// Bytes of the smallest instruction cache line.
pub(crate) fn instruction_line() -> usize {
    4 << (cp15::cache_type() & 0xf)
}

/// Makes writes to a range of addresses visible to instruction fetches and table walks.
pub(crate) fn clean_table(range: Range<usize>) {
    for address in lines(range, data_line()) {
        // SAFETY: cleaning changes no data that this core reads.
        unsafe { cp15::clean_line_to_unification(address) };
    }
    data_barrier();
}

/// Cleans the data cache.
pub(crate) fn clean_all() {
    // SAFETY: cleaning changes no data that this core reads.
    for_each_place(|place| unsafe { cp15::clean_place(place) });
}

/// Cleans and invalidates the data cache.
pub(crate) fn clean_invalidate_all() {
    // SAFETY: dirty lines are written back.
    for_each_place(|place| unsafe { cp15::clean_invalidate_place(place) });
}

/// Invalidates the data cache.
///
/// # Safety
/// It has no dirty lines to lose.
pub(crate) unsafe fn invalidate_all() {
    // SAFETY: by contract.
    for_each_place(|place| unsafe { cp15::invalidate_place(place) });
}

/// Invalidates the instruction cache and the branch predictions.
pub(crate) fn invalidate_instructions() {
    // SAFETY: instructions are fetched again; branch predictions affect only speed.
    unsafe {
        cp15::invalidate_instructions(0);
        cp15::invalidate_branch_predictor(0);
    }
}

/// Performs an action on each line of the data cache, by set and way (section B4.2.1).
fn for_each_place(action: impl Fn(usize)) {
    // SAFETY: selects the level 1 data cache, which the next register then describes.
    unsafe { cp15::select_cache(0) };
    instruction_barrier();
    let geometry = cp15::cache_geometry();
    let line_shift = (geometry & 7) + 4;
    let ways = (geometry >> 3 & 0x3ff) + 1;
    let sets = (geometry >> 13 & 0x7fff) + 1;
    let way_shift = usize::BITS - ways.next_power_of_two().ilog2();
    for set in 0..sets {
        for way in 0..ways {
            let way = (way).checked_shl(way_shift).unwrap_or(0);
            action(way | set << line_shift);
        }
    }
}

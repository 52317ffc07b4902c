//! Caches of the core.
//!
//! *ARM Architecture Reference Manual, ARMv7-A and ARMv7-R edition* (DDI 0406), section B2.2. ARMv7 data
//! caches behave as physically indexed and physically tagged. Instruction caches may be virtually indexed,
//! so they are maintained at the virtual addresses from which instructions are fetched. Outer caches stay
//! disabled.

use core::ops::Range;

use aarch32_cpu::asm::{dsb, isb};
use aarch32_cpu::register::{Ccsidr, Csselr, Ctr, Sctlr, SysRegRead, SysRegWrite};
use arch_arm::aarch32::{CacheOperation, lines};

use crate::cp15;

/// For ranges longer than this, maintaining the whole cache is quicker than maintaining each line: it is
/// larger than the data cache of any Cortex-A9. This bounds the time of an operation on a range of any
/// length.
const WHOLE: usize = 64 * 1024;

/// Bytes of the smallest data cache line (section B4.1.42).
fn data_line() -> usize {
    4 << (<Ctr as SysRegRead>::read_raw() >> 16 & 0xf)
}

/// Bytes of the smallest instruction cache line.
fn instruction_line() -> usize {
    4 << (<Ctr as SysRegRead>::read_raw() & 0xf)
}

/// Makes writes to a range of addresses visible to instruction fetches and table walks.
pub(crate) fn clean_to_unification(range: Range<usize>) {
    for address in lines(range, data_line()) {
        // SAFETY: cleaning changes no data that this core reads.
        unsafe { cp15::clean_line_to_unification(address) };
    }
    dsb();
}

/// Writes a range of addresses back to memory.
pub(crate) fn clean(range: Range<usize>) {
    for address in lines(range, data_line()) {
        // SAFETY: as above.
        unsafe { cp15::clean_line(address) };
    }
    dsb();
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
            Clean if whole => for_each_place(|place| cp15::clean_place(place)),
            Clean => lines(range, data_line()).for_each(|line| cp15::clean_line(line)),
            Invalidate if !whole => {
                lines(range, data_line()).for_each(|line| cp15::invalidate_line(line));
            }
            Invalidate | CleanInvalidate if whole => {
                for_each_place(|place| cp15::clean_invalidate_place(place));
            }
            Invalidate | CleanInvalidate => {
                lines(range, data_line()).for_each(|line| cp15::clean_invalidate_line(line));
            }
            Unify => unify(range, whole),
        }
    }
    dsb();
}

fn unify(range: Range<usize>, whole: bool) {
    // SAFETY: modified instructions are fetched again; dirty lines are written back.
    unsafe {
        if whole {
            for_each_place(|place| cp15::clean_place(place));
            dsb();
            cp15::invalidate_instructions(0);
        } else {
            clean_to_unification(range.clone());
            for line in lines(range, instruction_line()) {
                cp15::invalidate_instruction_line(line);
            }
        }
        cp15::invalidate_branch_predictor(0);
    }
    dsb();
    isb();
}

/// Cleans and invalidates the data cache, and invalidates the instruction cache, each if requested.
pub(crate) fn flush(data: bool, instructions: bool) {
    // SAFETY: dirty lines are written back.
    unsafe {
        if data {
            for_each_place(|place| cp15::clean_invalidate_place(place));
            dsb();
        }
        if instructions {
            cp15::invalidate_instructions(0);
            cp15::invalidate_branch_predictor(0);
        }
    }
    dsb();
    isb();
}

/// Enables caches and branch prediction. The data cache has undefined content after a reset.
///
/// # Safety
/// The data cache is disabled, so it has no dirty lines to lose.
pub(crate) unsafe fn enable() {
    // SAFETY: by contract.
    unsafe {
        for_each_place(|place| cp15::invalidate_place(place));
        dsb();
        cp15::invalidate_instructions(0);
        cp15::invalidate_branch_predictor(0);
    }
    dsb();
    Sctlr::modify(|control| {
        control.set_c(true);
        control.set_i(true);
        control.set_z(true);
    });
}

/// Performs an action on each line of the data cache, by set and way (section B4.2.1).
fn for_each_place(action: impl Fn(usize)) {
    // SAFETY: selects the level 1 data cache, which the next register then describes.
    unsafe { <Csselr as SysRegWrite>::write_raw(0) };
    isb();
    let geometry = Ccsidr::read();
    let line_shift = u32::from(geometry.line_size().value()) + 4;
    let sets = usize::from(geometry.num_sets().value()) + 1;
    let ways = usize::from(geometry.associativity().value()) + 1;
    let way_shift = usize::BITS - ways.next_power_of_two().ilog2();
    for set in 0..sets {
        for way in 0..ways {
            let way = (way).checked_shl(way_shift).unwrap_or(0);
            action(way | set << line_shift);
        }
    }
}

//! Caches of the core.
//!
//! *Arm Architecture Reference Manual for A-profile architecture* (DDI 0487), section D7.5. Data caches
//! behave as physically indexed and physically tagged. Instruction caches may be virtually indexed, so they
//! are maintained at the virtual addresses from which instructions are fetched.

use core::arch::asm;
use core::ops::Range;

use aarch64_cpu::asm::barrier::{ISH, SY, dsb, isb};
use aarch64_cpu::registers::{CCSIDR_EL1, CLIDR_EL1, CSSELR_EL1, Readable, Writeable};
use arch_arm::cache::CacheOperation;

/// For ranges longer than this, maintaining whole caches is quicker than maintaining each line. This bounds
/// the time of an operation on a range of any length.
const WHOLE: usize = 512 * 1024;

/// Bytes of the smallest data cache line and of the smallest instruction cache line (`CTR_EL0`).
fn line_sizes() -> (usize, usize) {
    let kind: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mrs {}, ctr_el0", out(reg) kind, options(nomem, nostack, preserves_flags)) };
    (4 << (kind >> 16 & 0xf), 4 << (kind & 0xf))
}

/// The cache lines that overlap a range, each by its first address.
fn lines(range: Range<usize>, size: usize) -> impl Iterator<Item = usize> {
    let count = (range.end - 1) / size - range.start / size + 1;
    let first = range.start & !(size - 1);
    (0..count).map(move |index| first + index * size)
}

macro_rules! operation {
    ($($(#[$doc:meta])* $name:ident: $instruction:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// An address operand is mapped; the operation must not discard data that compiled code relies on.
        unsafe fn $name(operand: usize) {
            // SAFETY: by contract.
            unsafe {
                asm!(concat!($instruction, ", {}"), in(reg) operand, options(nostack, preserves_flags));
            }
        }
    )*};
}

operation! {
    /// Cleans a line to memory.
    clean_line: "dc cvac";
    /// Cleans a line to the point of unification, where instruction fetches see it.
    clean_line_to_unification: "dc cvau";
    /// Invalidates a line.
    invalidate_line: "dc ivac";
    /// Cleans a line to memory and invalidates it.
    clean_invalidate_line: "dc civac";
    /// Invalidates a line of instruction caches.
    invalidate_instruction_line: "ic ivau";
    /// Cleans a line by set and way.
    clean_place: "dc csw";
    /// Cleans and invalidates a line by set and way.
    clean_invalidate_place: "dc cisw";
}

/// Writes a range of addresses back to memory.
pub(crate) fn clean(range: Range<usize>) {
    for address in lines(range, line_sizes().0) {
        // SAFETY: cleaning changes no data that this core reads.
        unsafe { clean_line(address) };
    }
    dsb(SY);
}

/// Makes instructions that were written to a range of addresses visible to all cores' instruction fetches, at all
/// virtual addresses: cleans the data to the point of unification, then invalidates the instruction caches
/// (sections B2.4 and D7.5), as a whole because a virtually indexed one may hold the lines under other addresses.
pub(crate) fn publish_instructions(range: Range<usize>) {
    // SAFETY: cleaning changes no data that a core reads.
    lines(range, line_sizes().0).for_each(|line| unsafe { clean_line_to_unification(line) });
    dsb(ISH);
    invalidate_instructions();
    dsb(ISH);
    isb(SY);
}

/// Performs an operation that a user requested, on a mapped range of its addresses; for invalidation the
/// mapping is writable.
#[cfg_attr(target_os = "none", optimize(size))]
pub(crate) fn maintain(operation: CacheOperation, range: Range<usize>) {
    use CacheOperation::*;
    let whole = range.len() > WHOLE;
    let data_lines = |range| lines(range, line_sizes().0);
    // SAFETY: the memory belongs to the user that makes the request. Operations on whole caches clean them
    // before they invalidate. An invalidation of a long range may clean too, since a dirty line may be
    // written back at any time anyway.
    unsafe {
        match operation {
            Clean if whole => for_each_place(|place| clean_place(place)),
            Clean => data_lines(range).for_each(|line| clean_line(line)),
            Invalidate if !whole => data_lines(range).for_each(|line| invalidate_line(line)),
            Invalidate | CleanInvalidate if whole => {
                for_each_place(|place| clean_invalidate_place(place));
            }
            Invalidate | CleanInvalidate => {
                data_lines(range).for_each(|line| clean_invalidate_line(line));
            }
            Unify => unify(range, whole),
        }
    }
    dsb(SY);
}

fn unify(range: Range<usize>, whole: bool) {
    // SAFETY: modified instructions are fetched again; dirty lines are written back.
    unsafe {
        if whole {
            for_each_place(|place| clean_place(place));
            dsb(ISH);
            invalidate_instructions();
        } else {
            let (data, instruction) = line_sizes();
            lines(range.clone(), data).for_each(|line| clean_line_to_unification(line));
            dsb(ISH);
            lines(range, instruction).for_each(|line| invalidate_instruction_line(line));
        }
    }
    dsb(ISH);
    isb(SY);
}

/// Invalidates the instruction caches of all cores.
fn invalidate_instructions() {
    // SAFETY: instruction caches have no dirty lines.
    unsafe { asm!("ic ialluis", options(nostack, preserves_flags)) };
}

/// Cleans and invalidates the data caches, and invalidates the instruction caches, each if requested.
pub(crate) fn flush(data: bool, instructions: bool) {
    if data {
        // SAFETY: dirty lines are written back.
        for_each_place(|place| unsafe { clean_invalidate_place(place) });
        dsb(SY);
    }
    if instructions {
        invalidate_instructions();
    }
    dsb(SY);
    isb(SY);
}

/// Performs an action on each line of the data caches up to the point of coherence, by level, set and way
/// (section D7.5.9.2).
fn for_each_place(action: impl Fn(usize)) {
    let levels = CLIDR_EL1.get();
    let coherence = levels >> 24 & 7;
    for level in 0..coherence {
        // 2 and more: the level has a data cache or a unified cache.
        if levels >> (3 * level) & 7 < 2 {
            continue;
        }
        CSSELR_EL1.set(level << 1);
        isb(SY);
        let geometry = CCSIDR_EL1.get() as usize;
        let line_shift = (geometry & 7) + 4;
        let ways = (geometry >> 3 & 0x3ff) + 1;
        let sets = (geometry >> 13 & 0x7fff) + 1;
        let way_shift = u32::BITS - ways.next_power_of_two().ilog2();
        for set in 0..sets {
            for way in 0..ways {
                let way = if ways == 1 { 0 } else { way << way_shift };
                action(way | set << line_shift | (level as usize) << 1);
            }
        }
    }
    dsb(SY);
}

//! The owning cores of objects.
//!
//! On multicore machines, endpoints, notifications and reply objects have an owning core: threads of this
//! core may use them in shared mode. It is the core of the threads that wait there, or of the thread that
//! received there last, so an object that is used on one core only is owned by it after the first use.
//! Using an object of another core needs exclusive mode (see [`crate::cores`]).
//!
//! Endpoints and reply objects have no room for a core number. But they hold a handle of a thread, and
//! threads are aligned to 1024 bytes or more, which leaves the low bits of the handle free.

use crate::config::CORES;

/// The core number that means no owning core: threads of several cores wait at the object. The largest for which threads
/// are sufficiently aligned.
pub const NO_CORE: u8 = if abi::WORD_BITS == 64 { 127 } else { 63 };

/// The position of the core number in a word with a handle of a thread; the four bits below have other uses.
pub const CORE_SHIFT: u32 = 4;
/// The mask of the core number; empty in single-core kernels.
pub const CORE_MASK: usize = if CORES > 1 {
    (NO_CORE as usize) << CORE_SHIFT
} else {
    0
};

const _: () = assert!(CORES <= NO_CORE as usize);
const _: () = assert!(CORE_MASK < 1 << abi::sizes::TCB_BITS);

/// A core number at its position in the word.
#[inline(always)]
pub const fn core_bits(core: u8) -> usize {
    (core as usize) << CORE_SHIFT & CORE_MASK
}

/// The core number in a word.
#[inline(always)]
pub(super) const fn core_in(word: usize) -> u8 {
    ((word & CORE_MASK) >> CORE_SHIFT) as u8
}

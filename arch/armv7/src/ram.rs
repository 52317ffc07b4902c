//! Finding out how much RAM there is.
//!
//! A kernel that is loaded as an ELF file is told nothing by its loader, so it tries: it writes a
//! different word to each mebibyte, the highest first, and sees up to where they are all still there.
//! Where there is no RAM the word is lost; where the RAM is seen a second time, the word was
//! overwritten by that of the lower place. It tries no further than the kernel's window and than the
//! platform says that RAM may go, so accesses past all memory, which may abort on real hardware, do not
//! happen there.

use core::ops::Range;

use kernel::arch::PhysAddr;

use crate::Platform;
use crate::kernel_space::Probe;

const STEP: usize = 1 << 20;

/// The end of RAM, which begins before `range` and ends in it. What is in the range is overwritten.
pub(crate) fn find_end<P: Platform>(range: Range<PhysAddr>) -> PhysAddr {
    let start = range.start.0.next_multiple_of(STEP);
    let steps = || (start..range.end.0).step_by(STEP);
    let probe = Probe::<P>::new();
    for address in steps().rev() {
        probe.write(PhysAddr(address), !address);
    }
    let end = steps().find(|&address| probe.read(PhysAddr(address)) != !address);
    PhysAddr(end.unwrap_or(range.end.0))
}

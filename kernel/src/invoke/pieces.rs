//! Operations on a range of addresses, piece by piece: the maintenance of caches.

use core::ops::Range;

use super::{Failure, Invocation};
use crate::Kernel;
use crate::arch::Arch;
use crate::object::Progress;

/// Does something to all of a range, a piece at a time, and stops between two pieces if something else
/// waits; when the caller asks again it goes on there. `size`: the bytes of a piece, a power of two, and
/// about how many instructions it takes.
///
/// # Errors
/// [`Failure::Preempted`].
pub fn in_pieces<A: Arch>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    range: Range<usize>,
    size: (usize, usize),
    mut action: impl FnMut(&mut Kernel<A>, Range<usize>),
) -> Result<(), Failure> {
    let (bytes, work) = size;
    let caller = invocation.caller;
    let mut start = match core::mem::take(&mut kernel[caller].progress) {
        Progress::Range { next } if range.contains(&next) => next,
        _ => range.start,
    };
    while start < range.end {
        let next = (start | (bytes - 1)).saturating_add(1).min(range.end);
        action(kernel, start..next);
        if next < range.end && kernel.should_preempt(work) {
            kernel[caller].progress = Progress::Range { next };
            return Err(Failure::Preempted);
        }
        start = next;
    }
    Ok(())
}

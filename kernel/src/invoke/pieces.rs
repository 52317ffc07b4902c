//! Preemptible operations on a range of addresses: cache maintenance.

use core::ops::Range;

use super::{Done, Failure, Invocation};
use crate::Kernel;
use crate::arch::Arch;
use crate::object::Progress;

/// Applies `action` to a range, piece by piece, with a preemption point between two pieces. When the caller
/// restarts its system call, the operation continues where it was preempted. `size`: the bytes of a piece, a
/// power of two, and the approximate number of instructions per piece.
///
/// # Errors
/// [`Failure::Preempted`].
pub fn in_pieces<A: Arch>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    range: Range<usize>,
    size: (usize, usize),
    mut action: impl FnMut(&mut Kernel<A>, Range<usize>),
) -> Done {
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

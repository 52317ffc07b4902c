//! Roots of address spaces: cache maintenance by address.

use core::ops::Range;

use kernel::ExclusiveKernel;
use kernel::arch::PhysAddr;
use kernel::invoke::{Answer, Error, Invocation, Outcome, allow, ensure};
use kernel::object::Progress;

use super::{ExecutionState, Machine};
use crate::cache::CacheOperation;
use crate::cap::{Format, Root};
use crate::platform::Platform;
use crate::spaces::AddressSpaces;

pub(super) fn invoke<V: ExecutionState, P: Platform>(
    kernel: &mut ExclusiveKernel<Machine<V, P>>,
    invocation: &Invocation<Machine<V, P>>,
    address: PhysAddr,
    asid: Option<<V::Format as Format>::Asid>,
) -> Outcome {
    let operation = V::root_operation(invocation.method).ok_or(Error::IllegalOperation)?;
    invocation.require(2, 0)?;
    let range = invocation.word(kernel, 0)..invocation.word(kernel, 1);
    ensure(!range.is_empty(), Error::InvalidArgument(1))?;
    allow(range.end <= V::USER_TOP)?;
    let asid = asid.ok_or(Error::InvalidCapability(0))?;
    let Some((bytes, writable)) = V::mapped_at(kernel, Root { address, asid }, range.start)? else {
        // It was perhaps mapped when the operation was preempted.
        kernel[invocation.caller].progress = Progress::None;
        return Ok(Answer::Nothing);
    };
    let last = range.start | (bytes - 1);
    ensure(range.end - 1 <= last, Error::range(range.start, last))?;
    maintain(kernel, invocation, asid, (operation, range), writable)
}

/// Performs a cache operation on addresses of an address space, with preemption points. `writable`: whether
/// users may write there, as invalidation changes the content of memory.
pub(super) fn maintain<V: ExecutionState, P: Platform>(
    kernel: &mut ExclusiveKernel<Machine<V, P>>,
    invocation: &Invocation<Machine<V, P>>,
    asid: <V::Format as Format>::Asid,
    (operation, range): (CacheOperation, Range<usize>),
    writable: bool,
) -> Outcome {
    /// The approximate number of instructions that the bytes between two preemption points take. It is rounded up, so that
    /// a preemption point follows each of these pieces.
    const WORK: usize = 1000;
    allow(writable || operation != CacheOperation::Invalidate)?;
    let size = (V::CACHE_PIECE, WORK);
    invocation.in_pieces(kernel, range, size, |kernel, piece| {
        let maintain = || V::maintain_cache(operation, piece);
        kernel.arch.spaces.inside(asid, maintain);
    })?;
    Ok(Answer::Nothing)
}

//! Cache maintenance on behalf of users.
//!
//! Operations use the user's own addresses, in the user's address space. So they reach virtually indexed
//! instruction caches at the addresses from which the user fetches, and RAM that the kernel does not map
//! can be maintained too.

use core::ops::Range;

use abi::Method;
use kernel::Kernel;
use kernel::invoke::{Error, Failure, Invocation, in_pieces};

use crate::aarch32::{Aarch32, Asid, CacheOperation};

/// The operation of a method of frames.
pub(super) fn of_page(method: Method) -> Option<CacheOperation> {
    Some(match method {
        Method::ArmPageCleanData => CacheOperation::Clean,
        Method::ArmPageInvalidateData => CacheOperation::Invalidate,
        Method::ArmPageCleanInvalidateData => CacheOperation::CleanInvalidate,
        Method::ArmPageUnifyInstruction => CacheOperation::Unify,
        _ => return None,
    })
}

/// The operation of a method of page directories.
pub(super) fn of_page_directory(method: Method) -> Option<CacheOperation> {
    Some(match method {
        Method::ArmPageDirectoryCleanData => CacheOperation::Clean,
        Method::ArmPageDirectoryInvalidateData => CacheOperation::Invalidate,
        Method::ArmPageDirectoryCleanInvalidateData => CacheOperation::CleanInvalidate,
        Method::ArmPageDirectoryUnifyInstruction => CacheOperation::Unify,
        _ => return None,
    })
}

/// Maintains a range of addresses, with preemption points. `writable` says whether users may write there.
///
/// # Errors
/// Invalidation changes the content of memory, so it needs a writable mapping.
pub(super) fn maintain<A: Aarch32>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    operation: CacheOperation,
    writable: bool,
    asid: Asid,
    range: Range<usize>,
) -> Result<(), Failure> {
    /// Bytes between two preemption points, and the approximate number of instructions that they take.
    const PIECE: (usize, usize) = (2048, 500);
    if operation == CacheOperation::Invalidate && !writable {
        return Err(Error::IllegalOperation.into());
    }
    in_pieces(kernel, invocation, range, PIECE, |kernel, piece| {
        let maintain = || A::maintain_cache(operation, piece);
        kernel.arch.spaces().inside(asid, maintain);
    })
}

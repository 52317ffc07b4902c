//! Cache maintenance on behalf of users.
//!
//! It is done at the user's own addresses, in the user's address space: then instruction caches that
//! are indexed by virtual addresses are reached where the user fetches, and RAM that the kernel does
//! not map can be maintained too.

use core::ops::Range;

use abi::Method;
use kernel::Kernel;
use kernel::invoke::{Error, Failure, Invocation, in_pieces};

use crate::aarch32::{Aarch32, Asid, CacheOperation};

/// The operation that a method of frames asks for.
pub(super) fn of_page(method: Method) -> Option<CacheOperation> {
    Some(match method {
        Method::ArmPageCleanData => CacheOperation::Clean,
        Method::ArmPageInvalidateData => CacheOperation::Invalidate,
        Method::ArmPageCleanInvalidateData => CacheOperation::CleanInvalidate,
        Method::ArmPageUnifyInstruction => CacheOperation::Unify,
        _ => return None,
    })
}

/// The operation that a method of page directories asks for.
pub(super) fn of_page_directory(method: Method) -> Option<CacheOperation> {
    Some(match method {
        Method::ArmPageDirectoryCleanData => CacheOperation::Clean,
        Method::ArmPageDirectoryInvalidateData => CacheOperation::Invalidate,
        Method::ArmPageDirectoryCleanInvalidateData => CacheOperation::CleanInvalidate,
        Method::ArmPageDirectoryUnifyInstruction => CacheOperation::Unify,
        _ => return None,
    })
}

/// Maintains a range of addresses, which may take long. `writable` says whether users may write there.
///
/// # Errors
/// Invalidation changes what memory holds, so it needs a mapping that may be written.
pub(super) fn maintain<A: Aarch32>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    operation: CacheOperation,
    writable: bool,
    asid: Asid,
    range: Range<usize>,
) -> Result<(), Failure> {
    /// Bytes between two preemption points, and about how many instructions they take.
    const PIECE: (usize, usize) = (2048, 500);
    if operation == CacheOperation::Invalidate && !writable {
        return Err(Error::IllegalOperation.into());
    }
    in_pieces(kernel, invocation, range, PIECE, |kernel, piece| {
        let maintain = || A::maintain_cache(operation, piece);
        kernel.arch.spaces().inside(asid, maintain);
    })
}

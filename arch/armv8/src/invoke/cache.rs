//! Cache maintenance on behalf of users.
//!
//! It is done at the user's own addresses, in the user's address space: then instruction caches that
//! are indexed by virtual addresses are reached where the user fetches, and RAM that the kernel does
//! not map can be maintained too.

use core::ops::Range;

use abi::Method;
use kernel::Kernel;
use kernel::invoke::{Error, Failure, Invocation, in_pieces};

use crate::cache::{self, CacheOperation};
use crate::paging::descriptor::Entry;
use crate::spaces::Asid;
use crate::{Armv8, Platform};

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

/// The operation that a method of address spaces asks for.
pub(super) fn of_vspace(method: Method) -> Option<CacheOperation> {
    Some(match method {
        Method::ArmVspaceCleanData => CacheOperation::Clean,
        Method::ArmVspaceInvalidateData => CacheOperation::Invalidate,
        Method::ArmVspaceCleanInvalidateData => CacheOperation::CleanInvalidate,
        Method::ArmVspaceUnifyInstruction => CacheOperation::Unify,
        _ => return None,
    })
}

/// Maintains a range of addresses, all of which `entry` maps, which may take long.
///
/// # Errors
/// Invalidation changes what memory holds, so it needs a mapping that may be written.
pub(super) fn maintain<P: Platform>(
    kernel: &mut Kernel<Armv8<P>>,
    invocation: &Invocation<Armv8<P>>,
    operation: CacheOperation,
    entry: Entry,
    asid: Asid,
    range: Range<usize>,
) -> Result<(), Failure> {
    /// Bytes between two preemption points, and about how many instructions they take.
    const PIECE: (usize, usize) = (4096, 500);
    if operation == CacheOperation::Invalidate && !entry.is_user_writable() {
        return Err(Error::IllegalOperation.into());
    }
    in_pieces(kernel, invocation, range, PIECE, |kernel, piece| {
        let maintain = || cache::maintain(operation, piece);
        kernel.arch.spaces.inside(asid, maintain);
    })
}

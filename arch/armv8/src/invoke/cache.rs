//! Cache maintenance on behalf of users.
//!
//! Operations use the user's own addresses, in the user's address space. So they reach virtually indexed
//! instruction caches at the addresses from which the user fetches, and RAM that the kernel does not map
//! can be maintained too.

use core::ops::Range;

use abi::Method;
use kernel::Kernel;
use kernel::invoke::{Error, Failure, Invocation, in_pieces};

use crate::cache::{self, CacheOperation};
use crate::paging::descriptor::Entry;
use crate::spaces::Asid;
use crate::{Armv8, Platform};

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

/// The operation of a method of address spaces.
pub(super) fn of_vspace(method: Method) -> Option<CacheOperation> {
    Some(match method {
        Method::ArmVspaceCleanData => CacheOperation::Clean,
        Method::ArmVspaceInvalidateData => CacheOperation::Invalidate,
        Method::ArmVspaceCleanInvalidateData => CacheOperation::CleanInvalidate,
        Method::ArmVspaceUnifyInstruction => CacheOperation::Unify,
        _ => return None,
    })
}

/// Maintains a range of addresses, all of which `entry` maps, with preemption points.
///
/// # Errors
/// Invalidation changes the content of memory, so it needs a writable mapping.
pub(super) fn maintain<P: Platform>(
    kernel: &mut Kernel<Armv8<P>>,
    invocation: &Invocation<Armv8<P>>,
    operation: CacheOperation,
    entry: Entry,
    asid: Asid,
    range: Range<usize>,
) -> Result<(), Failure> {
    /// Bytes between two preemption points, and the approximate number of instructions that they take.
    const PIECE: (usize, usize) = (4096, 500);
    if operation == CacheOperation::Invalidate && !entry.is_user_writable() {
        return Err(Error::IllegalOperation.into());
    }
    in_pieces(kernel, invocation, range, PIECE, |kernel, piece| {
        let maintain = || cache::maintain(operation, piece);
        kernel.arch.spaces.inside(asid, maintain);
    })
}

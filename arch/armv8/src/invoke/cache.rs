//! Cache maintenance on behalf of users.
//!
//! It is done at the user's own addresses, in the user's address space: then instruction caches that
//! are indexed by virtual addresses are reached where the user fetches, and RAM that the kernel does
//! not map can be maintained too.

use core::ops::Range;

use abi::Method;
use kernel::Kernel;
use kernel::invoke::Error;

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

/// Maintains a range of addresses, all of which `entry` maps.
///
/// # Errors
/// Invalidation changes what memory holds, so it needs a mapping that may be written.
pub(super) fn maintain<P: Platform>(
    kernel: &mut Kernel<Armv8<P>>,
    operation: CacheOperation,
    entry: Entry,
    asid: Asid,
    range: Range<usize>,
) -> Result<(), Error> {
    if operation == CacheOperation::Invalidate && !entry.is_user_writable() {
        return Err(Error::IllegalOperation);
    }
    let maintain = || cache::maintain(operation, range);
    kernel.arch.spaces.inside(asid, maintain);
    Ok(())
}

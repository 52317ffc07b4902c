//! Cache maintenance on behalf of users.
//!
//! Operations use the user's own addresses, in the user's address space. So they reach virtually indexed
//! instruction caches at the addresses from which the user fetches, and RAM that the kernel does not map
//! can be maintained too.

use abi::Method;

/// A cache operation on a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheOperation {
    /// Write dirty lines of the data cache back to memory.
    Clean,
    /// Invalidate lines of the data cache.
    Invalidate,
    /// Clean, then invalidate.
    CleanInvalidate,
    /// Make instruction fetches see data writes.
    Unify,
}

/// The operation of a method of frames.
pub fn of_page(method: Method) -> Option<CacheOperation> {
    Some(match method {
        Method::ArmPageCleanData => CacheOperation::Clean,
        Method::ArmPageInvalidateData => CacheOperation::Invalidate,
        Method::ArmPageCleanInvalidateData => CacheOperation::CleanInvalidate,
        Method::ArmPageUnifyInstruction => CacheOperation::Unify,
        _ => return None,
    })
}

//! Cache maintenance on behalf of users.
//!
//! Operations use the user's own addresses, in the user's address space. So they reach virtually indexed
//! instruction caches at the addresses from which the user fetches, and RAM that the kernel does not map
//! can be maintained too.

use core::ops::Range;

use abi::Method;
use kernel::Kernel;
use kernel::arch::Arch;
use kernel::invoke::{Error, Failure, Invocation};

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

/// Maintains a range of addresses, with preemption points every `bytes`. `writable` says whether users may
/// write there.
///
/// # Errors
/// Invalidation changes the content of memory, so it needs a writable mapping.
pub fn maintain<A: Arch>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    (operation, range): (CacheOperation, Range<usize>),
    writable: bool,
    bytes: usize,
    action: impl FnMut(&mut Kernel<A>, Range<usize>),
) -> Result<(), Failure> {
    /// The approximate number of instructions that the bytes between two preemption points take.
    const WORK: usize = 500;
    if operation == CacheOperation::Invalidate && !writable {
        return Err(Error::IllegalOperation.into());
    }
    invocation.in_pieces(kernel, range, (bytes, WORK), action)
}

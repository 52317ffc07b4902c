//! What one core requests of another.

use crate::arch::Arch;
use crate::object::Thread;
use crate::token::Ptr;

/// A remote call. Tags from 1 leave zero for a mailbox without a request, so that the kernels are no part of the image.
#[repr(usize)]
pub(crate) enum RemoteRequest<A: Arch> {
    /// To write back what methods of a thread can read and set.
    WriteBack(Ptr<Thread<A>>) = 1,
    /// To write back all that it holds of a thread, and to forget the thread.
    Release(Ptr<Thread<A>>) = 2,
    /// An operation of the architecture.
    Arch(A::Remote) = 3,
}

// SAFETY: a core in exclusive mode may use all handles; the other core carries out the request for it, while
// it waits.
unsafe impl<A: Arch> Send for RemoteRequest<A> {}

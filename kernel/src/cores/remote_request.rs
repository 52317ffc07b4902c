//! What one core requests of another.

use crate::arch::Arch;
use crate::object::Thread;
use crate::token::Ptr;

/// A remote call. Tags from 1 leave zero for an empty mailbox, so that the static kernels belong to `.bss`.
#[repr(usize)]
pub(crate) enum RemoteRequest<A: Arch> {
    /// Write back what invocations of a thread can read and set.
    WriteBack(Ptr<Thread<A>>) = 1,
    /// Write back all state of a thread, and forget the thread.
    Release(Ptr<Thread<A>>) = 2,
    /// An operation of the architecture.
    Arch(A::Remote) = 3,
}

// SAFETY: a core in exclusive mode may use all handles; the other core carries out the request for it, while
// it waits.
unsafe impl<A: Arch> Send for RemoteRequest<A> {}

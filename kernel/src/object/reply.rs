//! Reply objects: each tracks one caller and, with it, the way that a donated scheduling context takes
//! back.
//!
//! The reply objects of nested calls that run on one scheduling context form its *call stack*: the
//! top one belongs to the innermost call. Replying pops the stack and the context goes back to the
//! caller.

use super::{SchedContext, Thread};
use crate::arch::Arch;
use crate::token::Ptr;

/// What lies above a reply object in a call stack. Fast paths in assembly know how it is laid out.
#[repr(usize)]
pub enum Above<A: Arch> {
    /// It is in no stack.
    None,
    /// The reply object of the next inner call.
    Reply(Ptr<Reply<A>>),
    /// Nothing: it is the top of this context's stack.
    Context(Ptr<SchedContext<A>>),
    /// The same, and of the context no more than a limit may be used until the reply.
    Limited(Ptr<SchedContext<A>>),
}

impl<A: Arch> Clone for Above<A> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<A: Arch> Copy for Above<A> {}

/// A reply object.
#[repr(C)]
pub struct Reply<A: Arch> {
    /// The thread that waits: for a call, with this object at hand, or for a reply.
    pub thread: Option<Ptr<Thread<A>>>,
    /// The reply object of the next outer call.
    pub below: Option<Ptr<Reply<A>>>,
    /// What lies above.
    pub above: Above<A>,
}

impl<A: Arch> Reply<A> {
    /// A reply object as retype makes it.
    pub const fn new() -> Self {
        Self {
            thread: None,
            below: None,
            above: Above::None,
        }
    }
}

impl<A: Arch> Default for Reply<A> {
    fn default() -> Self {
        Self::new()
    }
}

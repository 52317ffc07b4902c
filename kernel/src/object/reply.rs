//! Reply objects: each tracks one caller and, with it, the way that a donated scheduling context takes
//! back.
//!
//! The reply objects of nested calls that run on one scheduling context form its *call stack*: the
//! top one belongs to the innermost call. Replying pops the stack and the context goes back to the
//! caller.

use super::owned::Owned;
use super::{SchedContext, Thread};
use crate::arch::Arch;
use crate::token::Ptr;

/// What lies above a reply object in a call stack. Fast paths in assembly know how it is laid out, so its
/// tags are written down.
#[repr(usize)]
pub enum Above<A: Arch> {
    /// It is in no stack.
    None = 0,
    /// The reply object of the next inner call.
    Reply(Ptr<Reply<A>>) = 1,
    /// Nothing: it is the top of this context's stack.
    Context(Ptr<SchedContext<A>>) = 2,
    /// The same, and of the context no more than a limit may be used until the reply.
    Limited(Ptr<SchedContext<A>>) = 3,
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
    /// Who waits, and the core that it belongs to.
    user: Owned<Thread<A>>,
    /// The reply object of the next outer call.
    pub below: Option<Ptr<Reply<A>>>,
    /// What lies above.
    pub above: Above<A>,
}

impl<A: Arch> Reply<A> {
    /// A reply object as retype makes it.
    pub const fn new() -> Self {
        Self {
            user: Owned::NONE,
            below: None,
            above: Above::None,
        }
    }

    /// The thread that waits: for a call, with this object at hand, or for a reply.
    #[inline(always)]
    pub const fn thread(&self) -> Option<Ptr<Thread<A>>> {
        self.user.get()
    }

    /// Changes who waits.
    #[inline(always)]
    pub fn set_thread(&mut self, thread: Option<Ptr<Thread<A>>>) {
        self.user.set(thread);
    }

    /// Nobody waits, and it is in no stack.
    pub fn clear(&mut self) {
        self.user.set(None);
        (self.below, self.above) = (None, Above::None);
    }

    /// The core that it belongs to.
    #[inline(always)]
    pub const fn core(&self) -> u8 {
        self.user.core()
    }

    /// It belongs to a core from now on.
    #[inline(always)]
    pub const fn set_core(&mut self, core: u8) {
        self.user.set_core(core);
    }
}

/// What fast paths in assembly know.
impl<A: Arch> Reply<A> {
    /// Offset of the word that holds the thread, and the core.
    pub const USER: usize = core::mem::offset_of!(Self, user);
}

impl<A: Arch> Default for Reply<A> {
    fn default() -> Self {
        Self::new()
    }
}

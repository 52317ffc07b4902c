//! Reply objects: each tracks one caller, and the return of its donated scheduling context.
//!
//! The reply objects of nested calls on one scheduling context form its *call chain*, in which the innermost
//! call is on top. A reply to it removes its reply object from the chain, and the context returns to the
//! caller.

use super::owned::{CORE_MASK, core_bits, core_in};
use super::{SchedContext, Thread};
use crate::arch::Arch;
use crate::token::Ptr;

/// The link of a reply object towards the innermost call of its call chain. Fast paths in assembly depend on
/// the layout, so the tags are explicit.
#[repr(usize)]
pub enum Above<A: Arch> {
    /// It is in no call chain, or cut off from its context.
    None = 0,
    /// The reply object of the next inner call.
    Reply(Ptr<Reply<A>>) = 1,
    /// It is the innermost of the call chain of this context.
    Context(Ptr<SchedContext<A>>) = 2,
    /// It is the innermost of the call chain of this context, which has a limit for the call.
    Limited(Ptr<SchedContext<A>>) = 3,
}

copyable!([A: Arch] Above<A>);

/// A reply object.
#[repr(C)]
pub struct Reply<A: Arch> {
    /// The waiting thread, and the owning core of the reply object; see `owned`.
    user: usize,
    /// The reply object of the next outer call.
    pub below: Option<Ptr<Reply<A>>>,
    /// The next inner call, or the context.
    pub above: Above<A>,
}

impl<A: Arch> Reply<A> {
    /// Offset of the word with the thread and the owning core, for fast paths in assembly.
    pub const USER: usize = core::mem::offset_of!(Self, user);

    /// A reply object as retype creates it.
    pub const fn new() -> Self {
        // Fast paths in assembly write both links at once.
        const {
            let below = core::mem::offset_of!(Self, below);
            assert!(core::mem::offset_of!(Self, above) == below + size_of::<usize>());
        }
        Self {
            user: 0,
            below: None,
            above: Above::None,
        }
    }

    /// The thread that is blocked with this object: on receive, or on the reply to its call.
    #[inline(always)]
    pub const fn thread(&self) -> Option<Ptr<Thread<A>>> {
        // SAFETY: only `set_thread` writes the handle.
        unsafe { Ptr::from_address(self.user & !CORE_MASK) }
    }

    /// Sets the thread that is blocked with this object.
    #[inline(always)]
    pub fn set_thread(&mut self, thread: Option<Ptr<Thread<A>>>) {
        self.user = thread.map_or(0, Ptr::address) | self.user & CORE_MASK;
    }

    /// Whether it is in no call chain: its call has donated no context, or was cut off from it.
    #[inline(always)]
    pub const fn is_in_no_call_chain(&self) -> bool {
        matches!((&self.below, &self.above), (None, Above::None))
    }

    /// Removes the thread and all links of the call chain.
    pub fn clear(&mut self) {
        self.set_thread(None);
        (self.below, self.above) = (None, Above::None);
    }

    /// The owning core.
    #[inline(always)]
    pub const fn core(&self) -> u8 {
        core_in(self.user)
    }

    /// Sets the owning core.
    #[inline(always)]
    pub const fn set_core(&mut self, core: u8) {
        self.user = self.user & !CORE_MASK | core_bits(core);
    }
}

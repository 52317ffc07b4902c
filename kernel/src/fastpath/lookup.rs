//! Finding capabilities in spaces of one level.

use abi::{MessageInfo, WORD_BITS};

use super::{Declined, Way, usual};
use crate::Kernel;
use crate::arch::Arch;
use crate::cap::{CNode, Cap, RawCap, Slot};
use crate::object::{Thread, ThreadSlot};
use crate::token::Ptr;

/// The slot at an address of all bits, if the way ends in this CNode; else one with a CNode.
///
/// A case of [`resolve`](crate::cap::resolve): no CNode consumes more bits than an address has, so there
/// are enough.
#[inline(always)]
fn slot_at<A: Arch>(cnode: &CNode<A>, address: usize) -> Way<Ptr<Slot<A>>> {
    let (guard, radix) = (cnode.guard, cnode.radix);
    let top = (address >> 1).wrapping_shr(!guard.size as u32);
    usual(top == guard.guard)?;
    let rest = address.wrapping_shl(guard.size as u32);
    Ok(cnode.slot(rest.wrapping_shr((WORD_BITS - radix) as u32)))
}

impl<A: Arch> Kernel<A> {
    /// The root of a thread's capability space.
    #[inline(always)]
    pub(super) fn space_of(&self, thread: Ptr<Thread<A>>) -> Way<CNode<A>> {
        let root = self[thread].slots[ThreadSlot::CSpace as usize].raw();
        Cap::decode_cnode(root).ok_or(Declined)
    }

    /// The capability at an address, packed: whoever looks for one kind unpacks that. If it is a CNode,
    /// it leads on.
    #[inline(always)]
    pub(super) fn find(&self, space: &CNode<A>, address: usize) -> Way<RawCap> {
        let slot = slot_at(space, address)?;
        Ok(self[slot].raw())
    }
}

/// Declines messages that carry capabilities.
#[inline(always)]
pub(super) fn require_plain(info: MessageInfo) -> Way<()> {
    usual(info.extra_caps() == 0)
}

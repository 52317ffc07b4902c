//! Capability lookup in capability spaces of one level.

use abi::MessageInfo;

use super::{Declined, Way, usual};
use crate::Kernel;
use crate::arch::Arch;
use crate::cap::{CNode, Cap, RawCap};
use crate::object::{Thread, ThreadSlot};
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// The root CNode of a thread's capability space.
    #[inline(always)]
    pub(super) fn space_of(&self, thread: Ptr<Thread<A>>) -> Way<CNode<A>> {
        let root = self[thread].slots[ThreadSlot::CSpace as usize].raw();
        Cap::decode_cnode(root).ok_or(Declined)
    }

    /// The capability at an address, packed; the caller decodes the kind that it expects. A CNode may mean
    /// that the lookup has another level, so callers do not accept it.
    #[inline(always)]
    pub(super) fn find(&self, space: &CNode<A>, address: usize) -> Way<RawCap> {
        let slot = space.slot_at(address).ok_or(Declined)?;
        Ok(self[slot].raw())
    }
}

/// Not eligible if the message has extra capabilities.
#[inline(always)]
pub(super) fn require_plain(info: MessageInfo) -> Way<()> {
    usual(info.extra_caps() == 0)
}

//! Capability lookup in capability spaces of one level.

use abi::MessageInfo;

use super::{Eligible, NotEligible, eligible};
use crate::Kernel;
use crate::arch::Arch;
use crate::cap::{CNode, Cap};
use crate::object::{Thread, ThreadSlot};
use crate::slot::RawCap;
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// The root CNode of a thread's capability space.
    #[inline(always)]
    pub(super) fn space_of(&self, thread: Ptr<Thread<A>>) -> Eligible<CNode<A>> {
        let root = self[thread].slots[ThreadSlot::CSpace as usize].raw();
        Cap::decode_cnode(root).ok_or(NotEligible)
    }

    /// The capability at an address, packed; the caller decodes the kind that it expects. A CNode may mean
    /// that the lookup has another level, so callers do not accept it.
    #[inline(always)]
    pub(super) fn find(&self, space: &CNode<A>, address: usize) -> Eligible<RawCap> {
        let slot = space.slot_at(address).ok_or(NotEligible)?;
        Ok(self[slot].raw())
    }
}

/// Not eligible if the message has extra capabilities.
#[inline(always)]
pub(super) fn require_plain(info: MessageInfo) -> Eligible<()> {
    eligible(info.extra_caps() == 0)
}

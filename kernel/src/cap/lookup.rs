//! Capability lookup: from addresses to slots (seL4 reference manual, section "Capability Address Lookup").

use abi::{LookupFailure, WORD_BITS};

use super::{CNode, Cap, Capabilities};
use crate::arch::Arch;
use crate::object::{Thread, ThreadSlot};
use crate::slot::{RawCap, Slot};
use crate::token::Ptr;

/// The end of a lookup: the slot reached, and the number of bits left when a capability other than a CNode ended it.
pub(crate) type Found<A> = Result<(Ptr<Slot<A>>, usize), LookupFailure>;

impl<A: Arch> Capabilities<A> {
    /// Continues a lookup for as long as slots hold CNodes, by at most `levels`, which it counts down; `None` if the
    /// lookup takes more.
    #[inline(always)]
    pub(crate) fn advance(&self, path: &mut Path<A>, levels: &mut usize) -> Option<Found<A>> {
        while *levels > 0 {
            *levels -= 1;
            if let Some(end) = path.end_of_level(self) {
                return Some(end);
            }
        }
        None
    }

    /// The slot at a capability address of a thread, which has a full word of bits. Bits left when a capability
    /// other than a CNode is reached are ignored. Has no preemption point: for tests and debugging.
    ///
    /// # Errors
    /// The lookup error if there is no such slot.
    pub fn lookup_cap(&self, root: Cap<A>, address: usize) -> Result<Ptr<Slot<A>>, LookupFailure> {
        let mut path = Path::whole(root, address)?;
        loop {
            if let Some(end) = path.end_of_level(self) {
                return end.map(|(slot, _)| slot);
            }
        }
    }

    /// The same, limited to a few levels, for decisions that only need a short lookup; `None` if it takes more.
    ///
    /// # Errors
    /// As for [`Capabilities::lookup_cap`].
    pub fn lookup_near(
        &self,
        root: Cap<A>,
        address: usize,
    ) -> Result<Option<Ptr<Slot<A>>>, LookupFailure> {
        /// Few capability spaces have more levels.
        const LEVELS: usize = 4;
        let mut path = Path::whole(root, address)?;
        let end = self.advance(&mut path, &mut { LEVELS }).transpose()?;
        Ok(end.map(|(slot, _)| slot))
    }

    /// The capability at an address of a thread, packed; null if there is none. For debug and benchmark calls.
    pub(crate) fn cap_at(&self, thread: Ptr<Thread<A>>, address: usize) -> RawCap {
        let slot = self.lookup_cap(self[thread].cap(ThreadSlot::CSpace), address);
        slot.map_or(RawCap::NULL, |slot| self[slot].raw())
    }
}

/// State of a lookup that descends through CNodes, one for each level. Each level consumes at least one bit, so the
/// lookup terminates in cyclic capability spaces, too.
pub(crate) struct Path<A: Arch> {
    /// The CNode reached so far.
    cnode: CNode<A>,
    bits_left: usize,
    /// The address bits that are left, at the top of the word.
    rest: usize,
}

impl<A: Arch> Path<A> {
    /// Begins to resolve the low `bits` bits of `address` at a CNode.
    #[inline(always)]
    pub(crate) const fn begin(cnode: CNode<A>, address: usize, bits: usize) -> Self {
        Self {
            cnode,
            bits_left: bits,
            rest: address.wrapping_shl((WORD_BITS - bits) as u32),
        }
    }

    /// The same for a full-width address, if the root is a CNode.
    fn whole(root: Cap<A>, address: usize) -> Result<Self, LookupFailure> {
        match root {
            Cap::CNode(cnode) => Ok(Self::begin(cnode, address, WORD_BITS)),
            _ => Err(LookupFailure::InvalidRoot),
        }
    }

    /// Resolves one level: the slot in the current CNode.
    #[inline(always)]
    fn step(&mut self) -> Result<Ptr<Slot<A>>, LookupFailure> {
        let CNode { radix, guard, .. } = self.cnode;
        // Long lookups usually have no guards.
        if guard.size | guard.guard != 0 {
            let found = (self.rest >> 1).wrapping_shr((WORD_BITS - 1 - guard.size) as u32);
            if guard.size > self.bits_left || found != guard.guard {
                return Err(LookupFailure::GuardMismatch {
                    bits_left: self.bits_left,
                    guard_found: guard.guard,
                    bits_found: guard.size,
                });
            }
            self.rest = self.rest.wrapping_shl(guard.size as u32);
        }
        let level = guard.size + radix;
        if level > self.bits_left {
            return Err(LookupFailure::DepthMismatch {
                bits_left: self.bits_left,
                bits_found: level,
            });
        }
        self.bits_left -= level;
        // A CNode has at least two slots.
        let index = self.rest.wrapping_shr((WORD_BITS - radix) as u32);
        self.rest = self.rest.wrapping_shl(radix as u32);
        Ok(self.cnode.slot(index))
    }

    /// Resolves one level. Returns the end of the lookup, or `None` if it continues in the next CNode.
    #[inline(always)]
    fn end_of_level(&mut self, capabilities: &Capabilities<A>) -> Option<Found<A>> {
        match self.step() {
            Ok(slot) if self.descends(capabilities, slot) => None,
            end => Some(end.map(|slot| (slot, self.bits_left))),
        }
    }

    /// The slot in the first CNode, if the lookup ends exactly there.
    #[inline(always)]
    pub(crate) fn only_level(mut self) -> Option<Ptr<Slot<A>>> {
        let slot = self.step().ok()?;
        (self.bits_left == 0).then_some(slot)
    }

    /// Whether the lookup continues through a slot; if so, descends to the CNode in it.
    #[inline(always)]
    fn descends(&mut self, capabilities: &Capabilities<A>, slot: Ptr<Slot<A>>) -> bool {
        match Cap::decode_cnode(capabilities[slot].raw()) {
            Some(next) if self.bits_left > 0 => {
                self.cnode = next;
                true
            }
            _ => false,
        }
    }
}

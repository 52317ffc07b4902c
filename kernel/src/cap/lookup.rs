//! Capability lookup: from addresses to slots (seL4 reference manual, section "Capability Address Lookup").

use abi::{LookupFailure, WORD_BITS};

use super::{CNode, Cap, Capabilities};
use crate::arch::Arch;
use crate::error::{Error, ensure};
use crate::object::{Thread, ThreadSlot};
use crate::slot::{RawCap, Slot};
use crate::token::Ptr;

/// One level of a capability lookup, as work before a preemption point, roughly in instructions.
pub(crate) const LEVEL: usize = 32;

impl<A: Arch> Capabilities<A> {
    /// Counts a lookup of one level. It is too short to count, except where each piece of work is followed by
    /// a preemption point.
    #[inline(always)]
    pub(crate) fn count_one_level(&self) {
        if A::WORK_PER_PREEMPTION_POINT <= LEVEL {
            self.count_levels(1);
        }
    }

    /// Counts the levels of a lookup.
    #[inline(always)]
    fn count_levels(&self, levels: usize) {
        self.levels.set(self.levels.get() + levels);
    }

    /// Resolves the low `bits` bits of `address`, starting at the CNode `root`, for as long as slots hold CNodes.
    ///
    /// Returns the slot reached and the number of bits left when a capability other than a CNode ended the
    /// lookup. Each level consumes at least one bit, so the lookup terminates in cyclic capability spaces, too.
    ///
    /// # Errors
    /// The lookup error if there is no such slot.
    pub fn resolve(
        &self,
        root: Cap<A>,
        address: usize,
        bits: usize,
    ) -> Result<(Ptr<Slot<A>>, usize), LookupFailure> {
        let mut path = Path::begin(root, address, bits)?;
        let mut levels = 0;
        let end = loop {
            levels += 1;
            match path.step() {
                Ok(slot) if path.descends(self, slot) => {}
                end => break end,
            }
        };
        // A lookup that fails has taken the same time.
        self.count_levels(levels);
        Ok((end?, path.bits_left))
    }

    /// The slot at a capability address of a thread, which has a full word of bits. Bits left when a capability
    /// other than a CNode is reached are ignored.
    ///
    /// # Errors
    /// The lookup error if there is no such slot.
    pub fn lookup_cap(&self, root: Cap<A>, address: usize) -> Result<Ptr<Slot<A>>, LookupFailure> {
        self.resolve(root, address, WORD_BITS).map(|(slot, _)| slot)
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
        let mut path = Path::begin(root, address, WORD_BITS)?;
        for level in 1..=LEVELS {
            let slot = path.step()?;
            if !path.descends(self, slot) {
                self.count_levels(level);
                return Ok(Some(slot));
            }
        }
        Ok(None)
    }

    /// The same, optimised for frequent lookups in capability spaces of one level.
    ///
    /// # Errors
    /// As for [`Capabilities::lookup_cap`].
    #[inline(always)]
    pub(crate) fn lookup_quickly(
        &self,
        root: RawCap,
        address: usize,
    ) -> Result<Ptr<Slot<A>>, LookupFailure> {
        if let Some(slot) = Cap::slot_of_only_level(root, address) {
            self.count_one_level();
            return Ok(slot);
        }
        self.lookup_cap(Cap::decode(root), address)
    }

    /// The capability at an address of a thread, packed; null if there is none. For debug and benchmark calls.
    pub(crate) fn cap_at(&self, thread: Ptr<Thread<A>>, address: usize) -> RawCap {
        let slot = self.lookup_cap(self[thread].cap(ThreadSlot::CSpace), address);
        slot.map_or(RawCap::NULL, |slot| self[slot].raw())
    }

    /// The slot that an argument (root, index, depth) names; it may be empty. `source` is reported in the error
    /// and tells which of two such arguments failed.
    ///
    /// # Errors
    /// [`Error::Range`] for an impossible depth, [`Error::Lookup`] if the lookup does not end exactly at a slot.
    pub fn lookup_slot(
        &self,
        root: Cap<A>,
        index: usize,
        depth: usize,
        source: bool,
    ) -> Result<Ptr<Slot<A>>, Error> {
        let failed = |failure| Error::Lookup { source, failure };
        if !matches!(root, Cap::CNode(_)) {
            return Err(failed(LookupFailure::InvalidRoot));
        }
        ensure((1..=WORD_BITS).contains(&depth), Error::range(1, WORD_BITS))?;
        match self.resolve(root, index, depth).map_err(failed)? {
            (slot, 0) => Ok(slot),
            (_, bits_left) => Err(failed(LookupFailure::DepthMismatch {
                bits_left,
                bits_found: 0,
            })),
        }
    }
}

/// State of a lookup that descends through CNodes.
struct Path<A: Arch> {
    /// The CNode reached so far.
    cnode: CNode<A>,
    bits_left: usize,
    /// The address bits that are left, at the top of the word.
    rest: usize,
}

impl<A: Arch> Path<A> {
    #[inline(always)]
    fn begin(root: Cap<A>, address: usize, bits: usize) -> Result<Self, LookupFailure> {
        let Cap::CNode(cnode) = root else {
            return Err(LookupFailure::InvalidRoot);
        };
        Ok(Self {
            cnode,
            bits_left: bits,
            rest: address.wrapping_shl((WORD_BITS - bits) as u32),
        })
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

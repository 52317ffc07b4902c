//! Capability lookup: from addresses to slots (seL4 reference manual, section "Capability Address Lookup").

use abi::{GuardData, LookupFailure, WORD_BITS};

use super::{CNode, Cap, Capabilities};
use crate::arch::Arch;
use crate::object::Thread;
use crate::slot::{RawCap, Slot};
use crate::token::Ptr;

/// The end of a lookup: the slot reached, and the number of bits left when a capability other than a CNode ended it.
pub(crate) type Found<A> = Result<(Ptr<Slot<A>>, usize), LookupFailure>;

impl<A: Arch> Capabilities<A> {
    /// Resolves one level. Returns the slot at which the lookup ends, or `None` if it continues in the next CNode.
    ///
    /// # Errors
    /// The lookup error if there is no such slot.
    #[inline(always)]
    pub(crate) fn descend(&self, path: &mut Path) -> Result<Option<Ptr<Slot<A>>>, LookupFailure> {
        let cnode = CNode::unpack(path.cnode);
        let slot = path.step(&cnode, path.cnode.guard())?;
        let next = self[slot].raw();
        if path.bits_left == 0 || !next.is_cnode() {
            return Ok(Some(slot));
        }
        path.cnode = next;
        Ok(None)
    }

    /// The slot at a capability address of a thread, which has a full word of bits. Bits left when a capability
    /// other than a CNode is reached are ignored. Has no preemption point: for tests and debugging.
    ///
    /// # Errors
    /// The lookup error if there is no such slot.
    pub fn lookup_cap(&self, root: Cap<A>, address: usize) -> Result<Ptr<Slot<A>>, LookupFailure> {
        self.lookup_from(root.pack(), address)
    }

    /// The same from a packed root.
    fn lookup_from(&self, root: RawCap, address: usize) -> Result<Ptr<Slot<A>>, LookupFailure> {
        let mut path = Path::begin(root, address, WORD_BITS)?;
        loop {
            if let Some(slot) = self.descend(&mut path)? {
                return Ok(slot);
            }
        }
    }

    /// The same, limited to a few levels, for decisions that only need a short lookup; `None` if it takes more.
    ///
    /// # Errors
    /// As for [`Capabilities::lookup_cap`].
    pub fn lookup_near(
        &self,
        root: RawCap,
        address: usize,
    ) -> Result<Option<Ptr<Slot<A>>>, LookupFailure> {
        /// Few capability spaces have more levels.
        const LEVELS: usize = 4;
        let mut path = Path::begin(root, address, WORD_BITS)?;
        for _ in 0..LEVELS {
            let end = self.descend(&mut path)?;
            if end.is_some() {
                return Ok(end);
            }
        }
        Ok(None)
    }

    /// The capability at an address of a thread, packed; null if there is none. For debug and benchmark calls.
    pub(crate) fn cap_at(&self, thread: Ptr<Thread<A>>, address: usize) -> RawCap {
        let slot = self.lookup_from(self[thread].root(), address);
        slot.map_or(RawCap::NULL, |slot| self[slot].raw())
    }
}

/// State of a lookup that descends through CNodes, one for each level. Each level consumes at least one bit, so the
/// lookup terminates in cyclic capability spaces, too.
pub(crate) struct Path {
    /// The CNode reached so far: packed, as each of its fields is needed once.
    cnode: RawCap,
    pub(crate) bits_left: usize,
    /// The address bits that are left, at the top of the word.
    rest: usize,
}

impl Path {
    /// Begins to resolve the low `bits` bits of `address`.
    ///
    /// # Errors
    /// The lookup error if the root is no CNode.
    #[inline(always)]
    pub(crate) fn begin(root: RawCap, address: usize, bits: usize) -> Result<Self, LookupFailure> {
        if !root.is_cnode() {
            return Err(LookupFailure::InvalidRoot);
        }
        Ok(Self {
            cnode: root,
            bits_left: bits,
            rest: address.wrapping_shl((WORD_BITS - bits) as u32),
        })
    }

    /// Resolves one level: the slot in this CNode, which has this guard.
    #[inline(always)]
    fn step<A: Arch>(
        &mut self,
        cnode: &CNode<A>,
        guard: Option<GuardData>,
    ) -> Result<Ptr<Slot<A>>, LookupFailure> {
        let radix = cnode.radix;
        let mut level = radix;
        if let Some(guard) = guard {
            let found = (self.rest >> 1).wrapping_shr((WORD_BITS - 1 - guard.size) as u32);
            if guard.size > self.bits_left || found != guard.guard {
                return Err(LookupFailure::GuardMismatch {
                    bits_left: self.bits_left,
                    guard_found: guard.guard,
                    bits_found: guard.size,
                });
            }
            self.rest = self.rest.wrapping_shl(guard.size as u32);
            level += guard.size;
        }
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
        Ok(cnode.slot(index))
    }
}

impl<A: Arch> CNode<A> {
    /// The slot that the low `bits` bits of `index` select, if the lookup ends exactly in this CNode.
    #[inline(always)]
    pub(crate) fn slot_of_only_level(&self, index: usize, bits: usize) -> Option<Ptr<Slot<A>>> {
        let mut path = Path {
            cnode: RawCap::NULL,
            bits_left: bits,
            rest: index.wrapping_shl((WORD_BITS - bits) as u32),
        };
        let slot = path.step(self, Some(self.guard)).ok()?;
        (path.bits_left == 0).then_some(slot)
    }
}

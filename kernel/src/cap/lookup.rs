//! From capability addresses to slots (seL4 reference manual, section "Capability Address Lookup").

use abi::{LookupFailure, WORD_BITS};

use super::{CNode, Cap, Slot};
use crate::Kernel;
use crate::arch::Arch;
use crate::invoke::Error;
use crate::token::Ptr;

/// A way through CNodes.
struct Way<A: Arch> {
    /// Where it has come to.
    cnode: CNode<A>,
    bits_left: usize,
    /// The bits that are left, at the top of the word.
    rest: usize,
}

impl<A: Arch> Way<A> {
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

    /// Goes through one CNode: to which of its slots.
    #[inline(always)]
    fn step(&mut self) -> Result<Ptr<Slot<A>>, LookupFailure> {
        let Self {
            cnode,
            bits_left,
            rest,
        } = self;
        let guard = cnode.guard;
        // Long ways have no guards.
        if guard.size | guard.guard != 0 {
            let found = (*rest >> 1).wrapping_shr((WORD_BITS - 1 - guard.size) as u32);
            if guard.size > *bits_left || found != guard.guard {
                return Err(LookupFailure::GuardMismatch {
                    bits_left: *bits_left,
                    guard_found: guard.guard,
                    bits_found: guard.size,
                });
            }
            *rest = rest.wrapping_shl(guard.size as u32);
        }
        let level = guard.size + cnode.radix;
        if level > *bits_left {
            return Err(LookupFailure::DepthMismatch {
                bits_left: *bits_left,
                bits_found: level,
            });
        }
        *bits_left -= level;
        // A table has two slots at least.
        let slot = cnode.slot(rest.wrapping_shr((WORD_BITS - cnode.radix) as u32));
        *rest = rest.wrapping_shl(cnode.radix as u32);
        Ok(slot)
    }

    /// Whether it leads on through a slot; then it is there.
    #[inline(always)]
    fn goes_on(&mut self, kernel: &Kernel<A>, slot: Ptr<Slot<A>>) -> bool {
        match Cap::decode_cnode(kernel[slot].raw()) {
            Some(next) if self.bits_left > 0 => {
                self.cnode = next;
                true
            }
            _ => false,
        }
    }
}

/// Resolves the low `bits` bits of `address` from the CNode `root` as far as CNodes lead.
///
/// Returns the slot reached and how many bits were left when something other than a CNode stopped the
/// way. Each level consumes at least one bit, so cyclic capability spaces end too.
///
/// # Errors
/// Why there is no such slot.
pub fn resolve<A: Arch>(
    kernel: &Kernel<A>,
    root: Cap<A>,
    address: usize,
    bits: usize,
) -> Result<(Ptr<Slot<A>>, usize), LookupFailure> {
    let mut way = Way::begin(root, address, bits)?;
    let mut levels = 0;
    let end = loop {
        levels += 1;
        match way.step() {
            Ok(slot) if way.goes_on(kernel, slot) => {}
            end => break end,
        }
    };
    // A way that leads nowhere is as long.
    kernel.core.count_levels(levels);
    Ok((end?, way.bits_left))
}

/// The slot that a thread means by a capability address: all bits of the word; what is left over when
/// a capability other than a CNode is reached does not matter.
///
/// # Errors
/// Why there is no such slot.
pub fn lookup_cap<A: Arch>(
    kernel: &Kernel<A>,
    root: Cap<A>,
    address: usize,
) -> Result<Ptr<Slot<A>>, LookupFailure> {
    resolve(kernel, root, address, WORD_BITS).map(|(slot, _)| slot)
}

/// The same for who only wants to know whether it is near: nothing if it is not.
///
/// # Errors
/// As for [`lookup_cap`].
#[cfg(feature = "smp")]
pub(crate) fn lookup_near<A: Arch>(
    kernel: &Kernel<A>,
    root: Cap<A>,
    address: usize,
) -> Result<Option<Ptr<Slot<A>>>, LookupFailure> {
    /// Few spaces have more levels.
    const LEVELS: usize = 4;
    let mut way = Way::begin(root, address, WORD_BITS)?;
    for level in 1..=LEVELS {
        let slot = way.step()?;
        if !way.goes_on(kernel, slot) {
            kernel.core.count_levels(level);
            return Ok(Some(slot));
        }
    }
    Ok(None)
}

/// The same for who looks often, and mostly in spaces of one level.
///
/// # Errors
/// As for [`lookup_cap`].
#[inline(always)]
pub(crate) fn lookup_quickly<A: Arch>(
    kernel: &Kernel<A>,
    root: Cap<A>,
    address: usize,
) -> Result<Ptr<Slot<A>>, LookupFailure> {
    if let Cap::CNode(cnode) = root
        && let Some(slot) = only_level(kernel, &cnode, address)
    {
        kernel.core.count_one_level();
        return Ok(slot);
    }
    lookup_cap(kernel, root, address)
}

/// The slot at an address of all bits, if the way ends in this CNode, as it nearly always does.
#[inline(always)]
pub(crate) fn only_level<A: Arch>(
    kernel: &Kernel<A>,
    cnode: &CNode<A>,
    address: usize,
) -> Option<Ptr<Slot<A>>> {
    let slot = cnode.slot_at(address)?;
    let leads_on = cnode.is_split() && Cap::<A>::is_cnode(kernel[slot].raw());
    (!leads_on).then_some(slot)
}

/// The slot that an argument (root, index, depth) names; it may be empty. `source` tells which of two
/// such arguments failed.
///
/// # Errors
/// [`Error::Range`] for an impossible depth, [`Error::Lookup`] where the way does not end exactly
/// at a slot.
pub fn lookup_slot<A: Arch>(
    kernel: &Kernel<A>,
    root: Cap<A>,
    index: usize,
    depth: usize,
    source: bool,
) -> Result<Ptr<Slot<A>>, Error> {
    if !matches!(root, Cap::CNode(_)) {
        return Err(Error::Lookup {
            source,
            failure: LookupFailure::InvalidRoot,
        });
    }
    if !(1..=WORD_BITS).contains(&depth) {
        return Err(Error::Range {
            minimum: 1,
            maximum: WORD_BITS,
        });
    }
    match resolve(kernel, root, index, depth) {
        Ok((slot, 0)) => Ok(slot),
        Ok((_, bits_left)) => {
            let failure = LookupFailure::DepthMismatch {
                bits_left,
                bits_found: 0,
            };
            Err(Error::Lookup { source, failure })
        }
        Err(failure) => Err(Error::Lookup { source, failure }),
    }
}

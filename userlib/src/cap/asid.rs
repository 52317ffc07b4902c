//! Address space identifiers: a VSpace needs one before mappings can be made in it.

use super::arch::labels;
use super::{Capability, Slot, Untyped, VSpace, capability};
use crate::Result;
use crate::invoke::perform;

capability! {
    /// The right to create ASID pools.
    AsidControl
}

capability! {
    /// A set of address space identifiers.
    AsidPool
}

impl AsidControl {
    /// Converts `memory`, an untyped of [`abi::sizes::ASID_POOL_BITS`], into a pool with a capability in
    /// `destination`.
    pub fn make_pool(self, memory: Untyped, destination: Slot) -> Result {
        perform(
            self.0,
            labels::MAKE_POOL,
            &[destination.index, destination.depth],
            &[memory.cptr(), destination.root.cptr()],
        )
    }
}

impl AsidPool {
    /// Assigns an identifier to an address space.
    pub fn assign(self, vspace: VSpace) -> Result {
        perform(self.0, labels::ASSIGN, &[], &[vspace.cptr()])
    }
}

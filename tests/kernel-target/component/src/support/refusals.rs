//! Errors that several tests expect.

use super::Test;
use abi::WORD_BITS;
use userlib::cap::{CNode, Endpoint, Slot};
use userlib::{CPtr, Error, LookupFailure, Result};

/// The error when the root of a destination is not a CNode.
pub const INVALID_ROOT: Result = Err(Error::FailedLookup {
    source: false,
    failure: LookupFailure::InvalidRoot,
});

/// The error when a number is out of range.
pub const fn range(minimum: usize, maximum: usize) -> Result {
    Err(Error::Range { minimum, maximum })
}

impl Test {
    /// A slot that cannot be found, because its root is an endpoint.
    pub fn nowhere(&mut self) -> Result<Slot> {
        let endpoint: Endpoint = self.create()?;
        Ok(Slot {
            root: CNode(endpoint.0),
            index: 0,
            depth: 0,
        })
    }

    /// Destinations of a new capability, and the answer to each: several that are refused, and an empty slot.
    pub fn destinations(&mut self) -> Result<[(Slot, Result); 6]> {
        let empty = self.empty_slot()?;
        let endpoint: Endpoint = self.create()?;
        let at = |root, depth| Slot {
            root,
            depth,
            ..empty
        };
        Ok([
            (at(CNode(endpoint.0), WORD_BITS), INVALID_ROOT),
            (at(CNode(CPtr::NULL), 0), INVALID_ROOT),
            (at(empty.root, 0), range(1, WORD_BITS)),
            (at(empty.root, WORD_BITS + 1), range(1, WORD_BITS)),
            (self.slot(endpoint), Err(Error::DeleteFirst)),
            (empty, Ok(())),
        ])
    }
}

//! Errors that several tests expect.

use super::Test;
use userlib::cap::{CNode, Endpoint, Slot};
use userlib::{Error, LookupFailure, Result};

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
}

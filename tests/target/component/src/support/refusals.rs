//! What the kernel refuses, and what it answers then.

use super::Test;
use userlib::cap::{CNode, Endpoint, Slot};
use userlib::{Error, LookupFailure, Result};

/// The answer where the root of a destination is no CNode.
pub const INVALID_ROOT: Result = Err(Error::FailedLookup {
    source: false,
    failure: LookupFailure::InvalidRoot,
});

/// The answer where a number is not in its range.
pub const fn range(minimum: usize, maximum: usize) -> Result {
    Err(Error::Range { minimum, maximum })
}

impl Test {
    /// A slot that cannot be found, since its root is an endpoint.
    pub fn nowhere(&mut self) -> Result<Slot> {
        let endpoint: Endpoint = self.create()?;
        Ok(Slot {
            root: CNode(endpoint.0),
            index: 0,
            depth: 0,
        })
    }
}

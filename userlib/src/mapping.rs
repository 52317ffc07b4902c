//! Address spaces: mapping frames, with the paging structures that they need.

use crate::allocator::Allocator;
use crate::cap::{Attributes, Capability, Frame, PageTable, Table, VSpace};
use crate::{Error, Result};
use abi::{LookupFailure, Rights};

/// The deepest walk that a mapping can need new structures for.
const LEVELS: usize = 4;

impl VSpace {
    /// Maps a frame; makes the paging structures that are missing.
    pub fn map<const REGIONS: usize>(
        self,
        allocator: &mut Allocator<REGIONS>,
        frame: Frame,
        address: usize,
        rights: Rights,
        attributes: Attributes,
    ) -> Result {
        for _ in 0..LEVELS {
            match frame.map(self, address, rights, attributes) {
                Err(Error::FailedLookup {
                    failure: LookupFailure::MissingCapability { bits_left },
                    ..
                }) => {
                    let kind = Table::missing(bits_left).ok_or(Error::IllegalOperation)?;
                    self.add_table(allocator, kind, address)?;
                }
                result => return result,
            }
        }
        Err(Error::IllegalOperation)
    }

    /// Makes a paging structure and puts it where `address` needs it.
    pub fn add_table<const REGIONS: usize>(
        self,
        allocator: &mut Allocator<REGIONS>,
        kind: Table,
        address: usize,
    ) -> Result<PageTable> {
        let table = allocator.create_any(kind.object_type(), 0, kind.size_bits())?;
        let table = PageTable::at(table);
        table.map(kind, self, address, Attributes::NORMAL)?;
        Ok(table)
    }
}

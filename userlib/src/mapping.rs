//! Address spaces: mapping frames, including the paging structures that this needs.

use crate::allocator::Allocator;
use crate::cap::{Attributes, Capability, Frame, PageTable, Table, VSpace};
use crate::{Error, Result};
use abi::{LookupFailure, Rights};

/// The most paging structures that a mapping can lack.
const LEVELS: usize = 4;

impl VSpace {
    /// Maps a frame and creates missing paging structures.
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

    /// Creates a paging structure and maps it for `address`.
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

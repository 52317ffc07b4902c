//! An untyped, and a place for what is made of it.

use super::Test;
use abi::ObjectType;
use userlib::cap::{CNode, SlotRange, Untyped};
use userlib::{CPtr, Capability, Result};

/// log2 of the slots of [`Place::table`].
pub const RADIX: usize = 4;

/// An untyped of some size, and a table for what is made of it.
pub struct Place {
    /// The untyped.
    pub untyped: Untyped,
    /// The table.
    pub table: CNode,
}

impl Place {
    /// An untyped of 2^`size_bits` bytes, and a table.
    pub fn new(test: &mut Test, size_bits: usize) -> Result<Self> {
        // The large one last: what alignment skips is lost.
        let table = test.create_sized(RADIX)?;
        let untyped = test.create_sized(size_bits)?;
        Ok(Self { untyped, table })
    }

    /// The slots of the table from `offset` on.
    pub fn range(&self, offset: usize) -> SlotRange {
        SlotRange {
            root: self.table,
            index: 0,
            depth: 0,
            offset,
        }
    }

    /// Makes objects of this type.
    pub fn make(&self, object: ObjectType, argument: usize, offset: usize, count: usize) -> Result {
        self.untyped
            .retype(object, argument, self.range(offset), count)
    }

    /// Moves what is in the table to an own slot.
    pub fn take<T: Capability>(&self, test: &mut Test, index: usize) -> Result<T> {
        let slot = test.empty_slot()?;
        slot.move_from(self.table.slot_of_table(index, RADIX))?;
        Ok(T::at(CPtr(slot.index)))
    }

    /// Deletes what is in the table.
    pub fn delete(&self, index: usize) -> Result {
        self.table.slot_of_table(index, RADIX).delete()
    }
}

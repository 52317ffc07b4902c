//! An untyped, and slots for the objects made from it.

use super::Test;
use abi::ObjectType;
use userlib::cap::{CNode, SlotRange, Untyped};
use userlib::{CPtr, Capability, Result};

/// log2 of the slots of [`Place::table`].
pub const RADIX: usize = 4;

/// An untyped, and a table for the objects made from it.
pub struct Place {
    /// The untyped.
    pub untyped: Untyped,
    /// The table.
    pub table: CNode,
}

impl Place {
    /// An untyped of 2^`size_bits` bytes, and a table.
    pub fn new(test: &mut Test, size_bits: usize) -> Result<Self> {
        // The large one comes last, because memory skipped for its alignment is lost.
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

    /// Makes objects of this type, in the table.
    pub fn make(&self, object: ObjectType, argument: usize, offset: usize, count: usize) -> Result {
        self.untyped
            .retype(object, argument, self.range(offset), count)
    }

    /// Moves a capability from the table to a slot of the test.
    pub fn take<T: Capability>(&self, test: &mut Test, index: usize) -> Result<T> {
        let slot = test.empty_slot()?;
        slot.move_from(self.table.slot_of_table(index, RADIX))?;
        Ok(T::at(CPtr(slot.index)))
    }

    /// Deletes a capability in the table.
    pub fn delete(&self, index: usize) -> Result {
        self.table.slot_of_table(index, RADIX).delete()
    }
}

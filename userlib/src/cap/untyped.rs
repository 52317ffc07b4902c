//! Untyped memory: what objects are made of.

use super::{CNode, Capability, Object, Slot, capability};
use crate::Result;
use crate::invoke::{label, perform};
use abi::ObjectType;

capability! {
    /// Memory that is not yet an object. Its size argument is log2 of the bytes.
    Untyped = (Untyped, bits -> bits)
}

/// Consecutive slots for new objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRange {
    /// The CNode where the lookup of the table starts.
    pub root: CNode,
    /// Address of the table from there.
    pub index: usize,
    /// How many bits of the address count; 0 when `root` is the table itself.
    pub depth: usize,
    /// The first slot in the table.
    pub offset: usize,
}

impl Untyped {
    /// Makes `count` objects; their capabilities go to consecutive slots.
    pub fn retype(
        self,
        object: ObjectType,
        size_argument: usize,
        destination: SlotRange,
        count: usize,
    ) -> Result {
        self.retype_number(object.number(), size_argument, destination, count)
    }

    /// The same with any number for the type.
    pub fn retype_number(
        self,
        object: usize,
        size_argument: usize,
        destination: SlotRange,
        count: usize,
    ) -> Result {
        perform(
            self.0,
            label!(UntypedRetype),
            &[
                object,
                size_argument,
                destination.index,
                destination.depth,
                destination.offset,
                count,
            ],
            &[destination.root.cptr()],
        )
    }

    /// Makes one object in slot `destination` of a CNode that is the root of its CSpace.
    pub fn make<T: Object>(self, size_argument: usize, destination: Slot) -> Result {
        let range = SlotRange {
            root: destination.root,
            index: 0,
            depth: 0,
            offset: destination.index,
        };
        self.retype(T::TYPE, size_argument, range, 1)
    }
}

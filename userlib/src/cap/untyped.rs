//! Untyped memory, from which objects are created.

use super::{CNode, Capability, Object, Slot, capability};
use crate::Result;
use crate::invoke::{label, perform};
use abi::ObjectType;

capability! {
    /// Memory in which objects can be created. Its size argument is log2 of the size in bytes.
    Untyped = (Untyped, bits -> bits)
}

/// Contiguous slots for new objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRange {
    /// The CNode in which the lookup of the destination CNode starts.
    pub root: CNode,
    /// Address of the destination CNode, relative to `root`.
    pub index: usize,
    /// How many bits of the address are used; 0 if `root` is the destination itself.
    pub depth: usize,
    /// The first slot in the destination CNode.
    pub offset: usize,
}

impl Untyped {
    /// Creates `count` objects and puts their capabilities into consecutive slots.
    pub fn retype(
        self,
        object: ObjectType,
        size_argument: usize,
        destination: SlotRange,
        count: usize,
    ) -> Result {
        self.retype_number(object.number(), size_argument, destination, count)
    }

    /// The same with an arbitrary number for the type.
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

    /// Creates one object, with its capability in slot `destination` of a CNode that is the root of its
    /// CSpace.
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

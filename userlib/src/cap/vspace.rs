//! Address spaces and frames: the part common to all architectures.

use super::{CPtr, Capability, FixedObject, Object, arch, capability};
use crate::Result;
use crate::invoke::{invoke, perform};
use abi::{ObjectType, Rights};

use arch::{Attributes, FrameSize, Table};

capability! {
    /// The root of an address space.
    VSpace
}

capability! {
    /// Mappable memory. As an object of fixed size: a frame of the smallest size.
    Frame
}

/// Frames of the smallest size in consecutive slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    first: usize,
    count: usize,
}

impl Frames {
    /// No frames.
    pub const NONE: Self = Self { first: 0, count: 0 };

    /// So many frames from `first` on.
    pub const fn at(first: CPtr, count: usize) -> Self {
        let first = first.0;
        Self { first, count }
    }

    /// How many there are.
    pub const fn len(self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The one at `index`.
    pub fn get(self, index: usize) -> Option<Frame> {
        (index < self.count).then(|| Frame(CPtr(self.first + index)))
    }

    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = Frame> {
        (self.first..self.first + self.count).map(|slot| Frame(CPtr(slot)))
    }
}

capability! {
    /// A paging structure of any level; [`Table`] is its kind.
    PageTable
}

impl Object for VSpace {
    const TYPE: ObjectType = arch::VSPACE_TYPE;
    fn size_bits(_: usize) -> usize {
        abi::sizes::VSPACE_BITS
    }
}

impl FixedObject for VSpace {}

impl Object for Frame {
    const TYPE: ObjectType = FrameSize::SMALLEST.object_type();
    fn size_bits(_: usize) -> usize {
        FrameSize::SMALLEST.bits()
    }
}

impl FixedObject for Frame {}

impl Frame {
    /// Maps this frame, or changes rights and attributes of its mapping.
    pub fn map(
        self,
        vspace: VSpace,
        address: usize,
        rights: Rights,
        attributes: Attributes,
    ) -> Result {
        perform(
            self.0,
            arch::labels::FRAME_MAP,
            &[address, rights.word(), attributes.0],
            &[vspace.cptr()],
        )
    }

    /// Unmaps this frame.
    pub fn unmap(self) -> Result {
        perform(self.0, arch::labels::FRAME_UNMAP, &[], &[])
    }

    /// The physical address.
    pub fn physical_address(self) -> Result<usize> {
        let answer = invoke(self.0, arch::labels::FRAME_GET_ADDRESS, &[], &[])?;
        Ok(answer.word(0))
    }
}

impl PageTable {
    /// Maps this structure, of kind `kind`, for `address`.
    pub fn map(
        self,
        kind: Table,
        vspace: VSpace,
        address: usize,
        attributes: Attributes,
    ) -> Result {
        perform(
            self.0,
            kind.map_label(),
            &[address, attributes.0],
            &[vspace.cptr()],
        )
    }

    /// Unmaps this structure, of kind `kind`.
    pub fn unmap(self, kind: Table) -> Result {
        perform(self.0, kind.unmap_label(), &[], &[])
    }
}

//! Address spaces and frames: the part common to all architectures.

use super::{Capability, FixedObject, Object, arch, capability};
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

//! Address spaces and frames: what is the same on all architectures.

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
    /// Memory that can be mapped. As an object of fixed size: the smallest page.
    Frame
}

capability! {
    /// A paging structure of any level; [`Table`] says which.
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
    /// Maps this frame, or changes rights and attributes where it is mapped already.
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
    /// Puts this structure, which is a `kind`, where `address` needs it.
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

    /// Takes this structure, which is a `kind`, away.
    pub fn unmap(self, kind: Table) -> Result {
        perform(self.0, kind.unmap_label(), &[], &[])
    }
}

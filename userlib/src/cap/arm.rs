//! Arm: paging, cache maintenance, interrupt sources.

use super::{Capability, Frame, IrqControl, Line, Slot, VSpace};
use crate::Result;
use crate::invoke::{label, optional_label, perform};
use abi::ObjectType;

pub(crate) mod labels {
    use crate::invoke::label;
    pub const FRAME_MAP: usize = label!(ArmPageMap);
    pub const FRAME_UNMAP: usize = label!(ArmPageUnmap);
    pub const FRAME_GET_ADDRESS: usize = label!(ArmPageGetAddress);
    pub const MAKE_POOL: usize = label!(ArmAsidControlMakePool);
    pub const ASSIGN: usize = label!(ArmAsidPoolAssign);
}

#[cfg(target_arch = "arm")]
pub(crate) const VSPACE_TYPE: ObjectType = ObjectType::ArmPageDirectory;
#[cfg(target_arch = "aarch64")]
pub(crate) const VSPACE_TYPE: ObjectType = ObjectType::ArmVspace;

/// Memory attributes of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes(pub usize);

impl Attributes {
    /// Normal memory: cacheable, parity checked.
    pub const NORMAL: Self = Self(3);
    /// Normal memory without execute permission.
    pub const NO_EXECUTE: Self = Self(7);
    /// Without execute permission and not cacheable: device memory for the frames of devices, and otherwise normal
    /// memory, whose accesses the processor may reorder.
    pub const DEVICE: Self = Self(4);
}

/// Sizes of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameSize {
    /// 4 KiB.
    Small,
    /// 64 KiB; 2 MiB on 64-bit cores.
    Large,
    /// 1 MiB.
    #[cfg(target_arch = "arm")]
    Section,
    /// 16 MiB.
    #[cfg(target_arch = "arm")]
    SuperSection,
    /// 1 GiB.
    #[cfg(target_arch = "aarch64")]
    Huge,
}

#[cfg(target_arch = "arm")]
impl FrameSize {
    /// All sizes in ascending order.
    pub const ALL: &[Self] = &[Self::Small, Self::Large, Self::Section, Self::SuperSection];

    /// log2 of the size in bytes.
    pub const fn bits(self) -> usize {
        match self {
            Self::Small => 12,
            Self::Large => 16,
            Self::Section => 20,
            Self::SuperSection => 24,
        }
    }

    /// The object type for `Untyped_Retype`.
    pub const fn object_type(self) -> ObjectType {
        match self {
            Self::Small => ObjectType::ArmSmallPage,
            Self::Large => ObjectType::ArmLargePage,
            Self::Section => ObjectType::ArmSection,
            Self::SuperSection => ObjectType::ArmSuperSection,
        }
    }
}

#[cfg(target_arch = "aarch64")]
impl FrameSize {
    /// All sizes in ascending order.
    pub const ALL: &[Self] = &[Self::Small, Self::Large, Self::Huge];

    /// log2 of the size in bytes.
    pub const fn bits(self) -> usize {
        match self {
            Self::Small => 12,
            Self::Large => 21,
            Self::Huge => 30,
        }
    }

    /// The object type for `Untyped_Retype`.
    pub const fn object_type(self) -> ObjectType {
        match self {
            Self::Small => ObjectType::ArmSmallPage,
            Self::Large => ObjectType::ArmLargePage,
            Self::Huge => ObjectType::ArmHugePage,
        }
    }
}

impl FrameSize {
    /// The smallest size.
    pub const SMALLEST: Self = Self::Small;
}

/// Kinds of paging structures below the root: only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Spans 1 MiB; on 64-bit cores the span depends on its level.
    PageTable,
}

impl Table {
    /// The kind that is missing if a mapping fails with so many address bits left.
    pub const fn missing(_bits_left: usize) -> Option<Self> {
        Some(Self::PageTable)
    }

    /// log2 of the structure's size in bytes.
    pub const fn size_bits(self) -> usize {
        abi::sizes::PAGE_TABLE_BITS
    }

    /// The object type for `Untyped_Retype`.
    pub const fn object_type(self) -> ObjectType {
        ObjectType::ArmPageTable
    }

    pub(crate) const fn map_label(self) -> usize {
        label!(ArmPageTableMap)
    }

    pub(crate) const fn unmap_label(self) -> usize {
        label!(ArmPageTableUnmap)
    }
}

/// Cache maintenance operations on an address range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheOperation {
    /// Write back dirty lines.
    CleanData,
    /// Discard lines.
    InvalidateData,
    /// Write back and discard lines.
    CleanInvalidateData,
    /// Make written instructions visible to instruction fetches.
    UnifyInstruction,
}

impl Frame {
    /// Cache maintenance of the bytes `start..end` of this mapped frame.
    pub fn cache(self, operation: CacheOperation, start: usize, end: usize) -> Result {
        let label = match operation {
            CacheOperation::CleanData => label!(ArmPageCleanData),
            CacheOperation::InvalidateData => label!(ArmPageInvalidateData),
            CacheOperation::CleanInvalidateData => label!(ArmPageCleanInvalidateData),
            CacheOperation::UnifyInstruction => label!(ArmPageUnifyInstruction),
        };
        perform(self.0, label, &[start, end], &[])
    }
}

#[cfg(target_arch = "arm")]
mod vspace_labels {
    use crate::invoke::label;
    pub const CLEAN: usize = label!(ArmPageDirectoryCleanData);
    pub const INVALIDATE: usize = label!(ArmPageDirectoryInvalidateData);
    pub const CLEAN_INVALIDATE: usize = label!(ArmPageDirectoryCleanInvalidateData);
    pub const UNIFY: usize = label!(ArmPageDirectoryUnifyInstruction);
}

#[cfg(target_arch = "aarch64")]
mod vspace_labels {
    use crate::invoke::label;
    pub const CLEAN: usize = label!(ArmVspaceCleanData);
    pub const INVALIDATE: usize = label!(ArmVspaceInvalidateData);
    pub const CLEAN_INVALIDATE: usize = label!(ArmVspaceCleanInvalidateData);
    pub const UNIFY: usize = label!(ArmVspaceUnifyInstruction);
}

impl VSpace {
    /// Cache maintenance of the addresses `start..end`, which must be in one page.
    pub fn cache(self, operation: CacheOperation, start: usize, end: usize) -> Result {
        let label = match operation {
            CacheOperation::CleanData => vspace_labels::CLEAN,
            CacheOperation::InvalidateData => vspace_labels::INVALIDATE,
            CacheOperation::CleanInvalidateData => vspace_labels::CLEAN_INVALIDATE,
            CacheOperation::UnifyInstruction => vspace_labels::UNIFY,
        };
        perform(self.0, label, &[start, end], &[])
    }
}

/// The lines of which each core has its own come first (GIC architecture specification, IHI 0048B, section
/// 2.2.1).
const PRIVATE_LINES: usize = 32;

impl IrqControl {
    /// Issues the handler of a line into `destination`.
    pub fn issue(self, line: Line, destination: Slot) -> Result {
        // Not every controller has trigger modes; the others begin with levels.
        if line.core > 0 && line.number < PRIVATE_LINES {
            self.get_with_trigger_core(line.number, line.edge, line.core, destination)
        } else if line.edge {
            self.get_with_trigger(line.number, true, destination)
        } else {
            self.get(line.number, destination)
        }
    }

    /// Issues the handler of interrupt `irq` into `destination` and sets its trigger mode.
    pub fn get_with_trigger(self, irq: usize, edge: bool, destination: Slot) -> Result {
        perform(
            self.0,
            label!(ArmIrqIssueIrqHandlerTrigger),
            &[irq, edge as usize, destination.index, destination.depth],
            &[destination.root.cptr()],
        )
    }

    /// Issues a capability to send software-generated interrupt `irq` to core `target` into `destination`;
    /// only in kernels for one core.
    pub fn issue_sgi_signal(self, irq: usize, target: usize, destination: Slot) -> Result {
        perform(
            self.0,
            optional_label!(ArmIrqIssueSgiSignal),
            &[irq, target, destination.index, destination.depth],
            &[destination.root.cptr()],
        )
    }

    /// Issues the handler of interrupt `irq` on core `target` into `destination`; only in kernels for several
    /// cores.
    pub fn get_with_trigger_core(
        self,
        irq: usize,
        edge: bool,
        target: usize,
        destination: Slot,
    ) -> Result {
        perform(
            self.0,
            optional_label!(ArmIrqIssueIrqHandlerTriggerCore),
            &[
                irq,
                edge as usize,
                destination.index,
                destination.depth,
                target,
            ],
            &[destination.root.cptr()],
        )
    }
}

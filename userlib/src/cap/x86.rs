//! x86-64: paging, I/O ports, interrupt sources.

use super::{Capability, IrqControl, Line, Slot, capability};
use crate::Result;
use crate::invoke::{invoke, label, perform};
use abi::ObjectType;

pub(crate) mod labels {
    use crate::invoke::label;
    pub const FRAME_MAP: usize = label!(X86PageMap);
    pub const FRAME_UNMAP: usize = label!(X86PageUnmap);
    pub const FRAME_GET_ADDRESS: usize = label!(X86PageGetAddress);
    pub const MAKE_POOL: usize = label!(X86AsidControlMakePool);
    pub const ASSIGN: usize = label!(X86AsidPoolAssign);
}

pub(crate) const VSPACE_TYPE: ObjectType = ObjectType::X86Pml4;

/// Memory type of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes(pub usize);

impl Attributes {
    /// Normal memory: write-back.
    pub const NORMAL: Self = Self(0);
    /// Normal memory. (The kernel's x86 mappings are always executable.)
    pub const NO_EXECUTE: Self = Self::NORMAL;
    /// Device memory: uncacheable.
    pub const DEVICE: Self = Self(3);
    /// Write-through.
    pub const WRITE_THROUGH: Self = Self(1);
    /// Write combining: frame buffers.
    pub const WRITE_COMBINING: Self = Self(4);
}

/// Sizes of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameSize {
    /// 4 KiB.
    Small,
    /// 2 MiB.
    Large,
    /// 1 GiB.
    Huge,
}

impl FrameSize {
    /// The smallest size.
    pub const SMALLEST: Self = Self::Small;
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
            Self::Small => ObjectType::X86Page4K,
            Self::Large => ObjectType::X86LargePage,
            Self::Huge => ObjectType::X86HugePage,
        }
    }
}

/// Kinds of paging structures below the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Spans 512 GiB.
    Pdpt,
    /// Spans 1 GiB.
    PageDirectory,
    /// Spans 2 MiB.
    PageTable,
}

impl Table {
    /// The kind that is missing if a mapping fails with so many address bits left.
    pub const fn missing(bits_left: usize) -> Option<Self> {
        match bits_left {
            39 => Some(Self::Pdpt),
            30 => Some(Self::PageDirectory),
            21 => Some(Self::PageTable),
            _ => None,
        }
    }

    /// log2 of the structure's size in bytes.
    pub const fn size_bits(self) -> usize {
        abi::sizes::PAGE_TABLE_BITS
    }

    /// The object type for `Untyped_Retype`.
    pub const fn object_type(self) -> ObjectType {
        match self {
            Self::Pdpt => ObjectType::X86Pdpt,
            Self::PageDirectory => ObjectType::X86PageDirectory,
            Self::PageTable => ObjectType::X86PageTable,
        }
    }

    pub(crate) const fn map_label(self) -> usize {
        match self {
            Self::Pdpt => label!(X86PdptMap),
            Self::PageDirectory => label!(X86PageDirectoryMap),
            Self::PageTable => label!(X86PageTableMap),
        }
    }

    pub(crate) const fn unmap_label(self) -> usize {
        match self {
            Self::Pdpt => label!(X86PdptUnmap),
            Self::PageDirectory => label!(X86PageDirectoryUnmap),
            Self::PageTable => label!(X86PageTableUnmap),
        }
    }
}

capability! {
    /// The right to issue I/O port capabilities.
    IoPortControl
}

capability! {
    /// A range of I/O ports.
    IoPort
}

impl IoPortControl {
    /// Issues a capability to ports `first..=last` into `destination`.
    pub fn issue(self, first: u16, last: u16, destination: Slot) -> Result {
        perform(
            self.0,
            label!(X86IoPortControlIssue),
            &[
                first as usize,
                last as usize,
                destination.index,
                destination.depth,
            ],
            &[destination.root.cptr()],
        )
    }
}

/// Declares the accessors of one width.
macro_rules! port_access {
    ($in:ident, $in_label:ident, $out:ident, $out_label:ident, $type:ty) => {
        /// Reads a port.
        pub fn $in(self, port: u16) -> Result<$type> {
            let answer = invoke(self.0, label!($in_label), &[port as usize], &[])?;
            Ok(answer.word(0) as $type)
        }

        /// Writes a port.
        pub fn $out(self, port: u16, value: $type) -> Result {
            let words = [port as usize, value as usize];
            perform(self.0, label!($out_label), &words, &[])
        }
    };
}

impl IoPort {
    port_access!(in8, X86IoPortIn8, out8, X86IoPortOut8, u8);
    port_access!(in16, X86IoPortIn16, out16, X86IoPortOut16, u16);
    port_access!(in32, X86IoPortIn32, out32, X86IoPortOut32, u32);
}

/// An input of an I/O APIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoApicPin {
    /// Number of the I/O APIC.
    pub io_apic: usize,
    /// Number of the input.
    pub pin: usize,
    /// Level triggered instead of edge triggered.
    pub level: bool,
    /// Active low.
    pub active_low: bool,
}

/// A function of a PCI device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciFunction {
    /// Bus.
    pub bus: usize,
    /// Device.
    pub device: usize,
    /// Function.
    pub function: usize,
}

impl IrqControl {
    /// Issues the handler of a line into `destination`.
    pub fn issue(self, line: Line, destination: Slot) -> Result {
        let source = IoApicPin {
            io_apic: 0,
            pin: line.pin,
            level: !line.edge,
            active_low: false,
        };
        self.get_io_apic(source, line.number, destination)
    }

    /// Issues the handler of an I/O APIC input, delivered as `vector` (0 to 107), into `destination`.
    pub fn get_io_apic(self, source: IoApicPin, vector: usize, destination: Slot) -> Result {
        perform(
            self.0,
            label!(X86IrqIssueIrqHandlerIoapic),
            &[
                destination.index,
                destination.depth,
                source.io_apic,
                source.pin,
                source.level as usize,
                source.active_low as usize,
                vector,
            ],
            &[destination.root.cptr()],
        )
    }

    /// Issues the handler of message-signalled interrupt `vector` (0 to 107) into `destination`.
    pub fn get_msi(
        self,
        source: PciFunction,
        handle: usize,
        vector: usize,
        destination: Slot,
    ) -> Result {
        perform(
            self.0,
            label!(X86IrqIssueIrqHandlerMsi),
            &[
                destination.index,
                destination.depth,
                source.bus,
                source.device,
                source.function,
                handle,
                vector,
            ],
            &[destination.root.cptr()],
        )
    }
}

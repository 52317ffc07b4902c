//! Capabilities of the 32-bit architecture.

use abi::{ObjectType, Rights};
use kernel::arch::{ArchCap, Frame, PhysAddr};
use kernel::cap::RawCap;

use super::asid::Asid;
use super::cap_layout;
use super::descriptor::{DIRECTORY_BITS, TABLE_BITS};

/// The sizes of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameSize {
    /// 4 KiB.
    SmallPage,
    /// 64 KiB.
    LargePage,
    /// 1 MiB.
    Section,
    /// 16 MiB.
    Supersection,
}

impl FrameSize {
    /// The size of frames of an object type.
    pub const fn of(kind: ObjectType) -> Option<Self> {
        Some(match kind {
            ObjectType::ArmSmallPage => Self::SmallPage,
            ObjectType::ArmLargePage => Self::LargePage,
            ObjectType::ArmSection => Self::Section,
            ObjectType::ArmSuperSection => Self::Supersection,
            _ => return None,
        })
    }

    /// log2 of the size in bytes.
    pub const fn bits(self) -> usize {
        match self {
            Self::SmallPage => 12,
            Self::LargePage => 16,
            Self::Section => 20,
            Self::Supersection => 24,
        }
    }

    /// The size in bytes.
    pub const fn bytes(self) -> usize {
        1 << self.bits()
    }
}

/// The place of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The address space.
    pub asid: Asid,
    /// The address in it.
    pub address: usize,
}

/// A capability to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameCap {
    /// Physical address.
    pub address: PhysAddr,
    /// Its size.
    pub size: FrameSize,
    /// Whether it is device memory, which the kernel does not access.
    pub device: bool,
    /// The rights that mappings may have: [`Rights::READ`] and [`Rights::WRITE`].
    pub rights: Rights,
    /// The mapping made by this capability; the frame may have been unmapped since.
    pub mapping: Option<Mapping>,
}

impl FrameCap {
    /// A capability to a new frame.
    pub const fn new(address: PhysAddr, size: FrameSize, device: bool) -> Self {
        Self {
            address,
            size,
            device,
            rights: Rights::READ_WRITE,
            mapping: None,
        }
    }
}

/// A capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Memory that users can map.
    Frame(FrameCap),
    /// A page table.
    PageTable {
        /// Physical address.
        address: PhysAddr,
        /// The place at which it is mapped.
        mapping: Option<Mapping>,
    },
    /// The root of an address space.
    PageDirectory {
        /// Physical address.
        address: PhysAddr,
        /// The identifier that was assigned to it.
        asid: Option<Asid>,
    },
    /// The right to make ASID pools.
    AsidControl,
    /// The right to assign identifiers to address spaces.
    AsidPool {
        /// Its number.
        pool: usize,
        /// Physical address.
        address: PhysAddr,
    },
    /// The right to raise one software-generated interrupt on one core.
    SgiSignal {
        /// Number of the interrupt.
        number: usize,
        /// The core.
        target: usize,
    },
}

impl Capability {
    /// The address space of a packed capability, if it is one with an identifier. Decodes no other kinds.
    #[inline(always)]
    pub fn space(raw: RawCap) -> Option<(Asid, PhysAddr)> {
        cap_layout::decode_space(raw)
    }
}

impl From<FrameCap> for Frame {
    #[inline(always)]
    fn from(cap: FrameCap) -> Self {
        Self {
            address: cap.address,
            bits: cap.size.bits(),
            device: cap.device,
            rights: cap.rights,
        }
    }
}

impl ArchCap for Capability {
    #[inline(always)]
    fn encode(self) -> RawCap {
        cap_layout::encode(self)
    }

    #[inline(always)]
    fn decode(raw: RawCap) -> Self {
        cap_layout::decode(raw)
    }

    #[inline]
    fn memory(self) -> Option<(PhysAddr, usize)> {
        match self {
            Self::Frame(frame) => Some((frame.address, frame.size.bits())),
            Self::PageTable { address, .. } => Some((address, TABLE_BITS)),
            Self::PageDirectory { address, .. } => Some((address, DIRECTORY_BITS)),
            Self::AsidPool { address, .. } => Some((address, abi::sizes::ASID_POOL_BITS)),
            Self::AsidControl | Self::SgiSignal { .. } => None,
        }
    }

    fn same_region(self, other: Self) -> bool {
        match (self, other) {
            (Self::Frame(outer), Self::Frame(inner)) => {
                outer.address <= inner.address
                    && inner.address.0 - outer.address.0 + inner.size.bytes() <= outer.size.bytes()
            }
            _ => self.same_object(other),
        }
    }

    fn same_object(self, other: Self) -> bool {
        match (self, other) {
            (Self::Frame(one), Self::Frame(two)) => {
                (one.address, one.size) == (two.address, two.size)
            }
            (Self::PageTable { address: one, .. }, Self::PageTable { address: two, .. })
            | (
                Self::PageDirectory { address: one, .. },
                Self::PageDirectory { address: two, .. },
            )
            | (Self::AsidPool { address: one, .. }, Self::AsidPool { address: two, .. }) => {
                one == two
            }
            _ => self == other,
        }
    }

    fn is_issued_from_irq_control(self) -> bool {
        matches!(self, Self::SgiSignal { .. })
    }

    fn frame(self) -> Option<Frame> {
        match self {
            Self::Frame(frame) => Some(frame.into()),
            _ => None,
        }
    }

    #[inline(always)]
    fn packed_frame(raw: RawCap) -> Option<Frame> {
        cap_layout::decode_frame(raw).map(Frame::from)
    }

    fn is_address_space(self) -> bool {
        matches!(self, Self::PageDirectory { asid: Some(_), .. })
    }

    fn mask_rights(self, rights: Rights) -> Self {
        match self {
            Self::Frame(frame) => Self::Frame(FrameCap {
                rights: frame.rights.intersection(rights),
                ..frame
            }),
            _ => self,
        }
    }
}

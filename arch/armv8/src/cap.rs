//! Capabilities of the 64-bit architecture.

use abi::sizes::ASID_POOL_BITS;
use abi::{ObjectType, Rights};
use kernel::arch::{ArchCap, Frame, PhysAddr};
use kernel::cap::{Field, RawCap};

use crate::paging::descriptor::Level;
use crate::paging::table::TABLE_BITS;
use crate::spaces::Asid;

/// The sizes of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameSize {
    /// 4 KiB.
    SmallPage,
    /// 2 MiB.
    LargePage,
    /// 1 GiB.
    HugePage,
}

impl FrameSize {
    /// The size of frames of an object type.
    pub(crate) const fn of(kind: ObjectType) -> Option<Self> {
        Some(match kind {
            ObjectType::ArmSmallPage => Self::SmallPage,
            ObjectType::ArmLargePage => Self::LargePage,
            ObjectType::ArmHugePage => Self::HugePage,
            _ => return None,
        })
    }

    /// The level of tables with entries that map frames of this size.
    pub(crate) const fn level(self) -> Level {
        match self {
            Self::SmallPage => Level::Pages,
            Self::LargePage => Level::Large,
            Self::HugePage => Level::Huge,
        }
    }

    /// log2 of the size in bytes.
    pub(crate) const fn bits(self) -> usize {
        self.level().bits()
    }

    /// The size in bytes.
    pub(crate) const fn bytes(self) -> usize {
        self.level().bytes()
    }
}

/// The place of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The address space.
    pub(crate) asid: Asid,
    /// The address in it.
    pub(crate) address: usize,
}

/// A capability to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameCap {
    pub(crate) address: PhysAddr,
    pub(crate) size: FrameSize,
    /// Whether it is device memory, which the kernel does not access.
    pub(crate) device: bool,
    /// The rights that mappings may have: [`Rights::READ`] and [`Rights::WRITE`].
    pub(crate) rights: Rights,
    /// The mapping made by this capability; the frame may have been unmapped since.
    pub(crate) mapping: Option<Mapping>,
}

impl FrameCap {
    /// A capability to a new frame.
    pub(crate) const fn new(address: PhysAddr, size: FrameSize, device: bool) -> Self {
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
    /// A table of any level below the root.
    PageTable {
        /// Physical address.
        address: PhysAddr,
        /// The place at which it is mapped.
        mapping: Option<Mapping>,
    },
    /// The root of an address space.
    VSpace {
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
    /// The kind of packed capabilities to roots; the address is in the remaining bits of the first word.
    pub(crate) const ROOT_KIND: usize = layout::VSPACE as usize;

    /// The address space of a packed capability, if it is one with an identifier. Decodes no other kinds.
    #[inline(always)]
    pub(crate) fn space(raw: RawCap) -> Option<(Asid, PhysAddr)> {
        layout::decode_space(raw)
    }
}

impl ArchCap for Capability {
    #[inline(always)]
    fn encode(self) -> RawCap {
        layout::encode(self)
    }

    #[inline(always)]
    fn decode(raw: RawCap) -> Self {
        layout::decode(raw)
    }

    #[inline]
    fn memory(self) -> Option<(PhysAddr, usize)> {
        match self {
            Self::Frame(frame) => Some((frame.address, frame.size.bits())),
            Self::PageTable { address, .. } | Self::VSpace { address, .. } => {
                Some((address, TABLE_BITS))
            }
            Self::AsidPool { address, .. } => Some((address, ASID_POOL_BITS)),
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
            | (Self::VSpace { address: one, .. }, Self::VSpace { address: two, .. })
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
            Self::Frame(FrameCap {
                address,
                size,
                device,
                rights,
                ..
            }) => Some(Frame {
                address,
                bits: size.bits(),
                device,
                rights,
            }),
            _ => None,
        }
    }

    fn is_address_space(self) -> bool {
        matches!(self, Self::VSpace { asid: Some(_), .. })
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

/// The layout of capabilities in two 64-bit words. The tags are the numbers that `DebugCapIdentify` shows.
/// Addresses have 48 bits and identifiers 16, so a mapping fills word 1.
mod layout {
    use super::*;

    const FRAME: u8 = 1;
    const PAGE_TABLE: u8 = 3;
    pub(super) const VSPACE: u8 = 9;
    const ASID_CONTROL: u8 = 11;
    const ASID_POOL: u8 = 13;
    const SGI_SIGNAL: u8 = 27;

    /// Physical address of a page.
    const ADDRESS: Field = Field::aligned(0, 12, 36, 12);
    const SIZE: Field = Field::number(0, 5, 2);
    const RIGHTS: Field = Field::number(0, 7, 2);
    const DEVICE: Field = Field::number(0, 9, 1);
    const VIRTUAL_ADDRESS: Field = Field::number(1, 0, 48);
    const ASID: Field = Field::number(1, 48, 16);
    const POOL: Field = Field::number(1, 0, 7);
    const SIGNAL_NUMBER: Field = Field::number(1, 0, 4);
    const SIGNAL_TARGET: Field = Field::number(1, 4, 8);

    #[inline(always)]
    pub(super) fn encode(cap: Capability) -> RawCap {
        match cap {
            Capability::Frame(frame) => with_mapping(RawCap::new(FRAME), frame.mapping)
                .with(ADDRESS, frame.address.0)
                .with(SIZE, frame.size as usize)
                .with(RIGHTS, frame.rights.word() & Rights::READ_WRITE.word())
                .with(DEVICE, frame.device.into()),
            Capability::PageTable { address, mapping } => {
                with_mapping(RawCap::new(PAGE_TABLE), mapping).with(ADDRESS, address.0)
            }
            Capability::VSpace { address, asid } => RawCap::new(VSPACE)
                .with(ADDRESS, address.0)
                .with(ASID, number(asid)),
            Capability::AsidControl => RawCap::new(ASID_CONTROL),
            Capability::AsidPool { pool, address } => RawCap::new(ASID_POOL)
                .with(POOL, pool)
                .with(ADDRESS, address.0),
            Capability::SgiSignal { number, target } => RawCap::new(SGI_SIGNAL)
                .with(SIGNAL_NUMBER, number)
                .with(SIGNAL_TARGET, target),
        }
    }

    fn number(asid: Option<Asid>) -> usize {
        asid.map_or(0, |asid| asid.number().into())
    }

    fn with_mapping(raw: RawCap, mapping: Option<Mapping>) -> RawCap {
        match mapping {
            Some(Mapping { asid, address }) => raw
                .with(ASID, number(Some(asid)))
                .with(VIRTUAL_ADDRESS, address),
            None => raw,
        }
    }

    #[inline(always)]
    pub(super) fn decode_space(raw: RawCap) -> Option<(Asid, PhysAddr)> {
        let asid = Asid::from_number(raw.get(ASID) as u16)?;
        (raw.tag() == VSPACE).then(|| (asid, PhysAddr(raw.get(ADDRESS))))
    }

    #[inline(always)]
    pub(super) fn decode(raw: RawCap) -> Capability {
        let address = PhysAddr(raw.get(ADDRESS));
        let asid = Asid::from_number(raw.get(ASID) as u16);
        let mapping = asid.map(|asid| Mapping {
            asid,
            address: raw.get(VIRTUAL_ADDRESS),
        });
        match raw.tag() {
            FRAME => Capability::Frame(FrameCap {
                address,
                size: match raw.get(SIZE) {
                    0 => FrameSize::SmallPage,
                    1 => FrameSize::LargePage,
                    _ => FrameSize::HugePage,
                },
                device: raw.get(DEVICE) != 0,
                rights: Rights::from_word(raw.get(RIGHTS)),
                mapping,
            }),
            PAGE_TABLE => Capability::PageTable { address, mapping },
            VSPACE => Capability::VSpace { address, asid },
            ASID_CONTROL => Capability::AsidControl,
            ASID_POOL => Capability::AsidPool {
                pool: raw.get(POOL),
                address,
            },
            // SGI_SIGNAL: there are no others. A panic here would have to be compiled into each place that
            // tests for one kind.
            _ => Capability::SgiSignal {
                number: raw.get(SIGNAL_NUMBER),
                target: raw.get(SIGNAL_TARGET),
            },
        }
    }
}

//! Capabilities of the 64-bit architecture.

use abi::{ObjectType, Rights};
use arch_arm::cap::{self, Format, Size};
use kernel::arch::PhysAddr;
use kernel::cap::{Field, RawCap};

use crate::paging::descriptor::Level;
use crate::paging::table::TABLE_BITS;
use crate::spaces::Asid;

/// A capability.
pub type Capability = cap::Capability<Words64>;
/// A capability to a frame.
pub type FrameCap = cap::FrameCap<Words64>;
/// The place of a mapping.
pub type Mapping = cap::Mapping<Words64>;

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
    /// The level of tables with entries that map frames of this size.
    pub(crate) const fn level(self) -> Level {
        match self {
            Self::SmallPage => Level::Pages,
            Self::LargePage => Level::Large,
            Self::HugePage => Level::Huge,
        }
    }
}

impl Size for FrameSize {
    fn of(kind: ObjectType) -> Option<Self> {
        Some(match kind {
            ObjectType::ArmSmallPage => Self::SmallPage,
            ObjectType::ArmLargePage => Self::LargePage,
            ObjectType::ArmHugePage => Self::HugePage,
            _ => return None,
        })
    }

    fn bits(self) -> usize {
        self.level().bits()
    }
}

/// The kind of packed capabilities to roots; the address is in the remaining bits of the first word.
pub(crate) const ROOT_KIND: usize = layout::VSPACE as usize;

/// The format of two 64-bit words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words64 {}

impl Format for Words64 {
    type Size = FrameSize;
    type Asid = Asid;

    const ROOT: (ObjectType, usize) = (ObjectType::ArmVspace, TABLE_BITS);
    const TABLE_BITS: usize = TABLE_BITS;

    #[inline(always)]
    fn encode(cap: Capability) -> RawCap {
        layout::encode(cap)
    }

    #[inline(always)]
    fn decode(raw: RawCap) -> Capability {
        layout::decode(raw)
    }

    #[inline(always)]
    fn decode_frame(raw: RawCap) -> Option<FrameCap> {
        // All tags of the architecture are odd.
        if raw.tag() & 1 == 0 {
            return None;
        }
        match layout::decode(raw) {
            Capability::Frame(frame) => Some(frame),
            _ => None,
        }
    }

    #[inline(always)]
    fn decode_space(raw: RawCap) -> Option<(Asid, PhysAddr)> {
        layout::decode_space(raw)
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
    const SMC: u8 = 25;
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
    const BADGE: Field = Field::number(1, 0, 64);

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
            Capability::Smc { badge } => RawCap::new(SMC).with(BADGE, badge),
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
            SMC => Capability::Smc {
                badge: raw.get(BADGE),
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

//! Capabilities of the 32-bit architecture.

use abi::ObjectType;
use kernel::arch::PhysAddr;
use kernel::cap::RawCap;

use super::asid::Asid;
use super::cap_layout;
use super::descriptor::{DIRECTORY_BITS, TABLE_BITS};
use crate::cap::{self, Format, Size};

/// A capability.
pub type Capability = cap::Capability<Words32>;
/// A capability to a frame.
pub type FrameCap = cap::FrameCap<Words32>;
/// The place of a mapping.
pub type Mapping = cap::Mapping<Words32>;

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

impl Size for FrameSize {
    fn of(kind: ObjectType) -> Option<Self> {
        Some(match kind {
            ObjectType::ArmSmallPage => Self::SmallPage,
            ObjectType::ArmLargePage => Self::LargePage,
            ObjectType::ArmSection => Self::Section,
            ObjectType::ArmSuperSection => Self::Supersection,
            _ => return None,
        })
    }

    fn bits(self) -> usize {
        match self {
            Self::SmallPage => 12,
            Self::LargePage => 16,
            Self::Section => 20,
            Self::Supersection => 24,
        }
    }
}

/// The format of two 32-bit words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words32 {}

impl Format for Words32 {
    type Size = FrameSize;
    type Asid = Asid;

    const ROOT: (ObjectType, usize) = (ObjectType::ArmPageDirectory, DIRECTORY_BITS);
    const TABLE_BITS: usize = TABLE_BITS;

    #[inline(always)]
    fn encode(cap: Capability) -> RawCap {
        cap_layout::encode(cap)
    }

    #[inline(always)]
    fn decode(raw: RawCap) -> Capability {
        cap_layout::decode(raw)
    }

    #[inline(always)]
    fn decode_frame(raw: RawCap) -> Option<FrameCap> {
        cap_layout::decode_frame(raw)
    }

    #[inline(always)]
    fn decode_space(raw: RawCap) -> Option<(Asid, PhysAddr)> {
        cap_layout::decode_space(raw)
    }
}

//! Capabilities of the host architecture: the minimum that threads need.

use abi::Rights;
use abi::sizes::{ASID_POOL_BITS, VSPACE_BITS};
use kernel::arch::{ArchCap, Frame, PhysAddr};
use kernel::cap::{Field, RawCap};
use kernel::error::Error;

/// A capability that only this architecture defines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HostCap {
    /// The root of an address space. Nothing is ever mapped in it.
    AddressSpace {
        /// The object.
        address: PhysAddr,
        /// Whether it has an ASID, so that threads can use it.
        assigned: bool,
    },
    /// A frame of memory; IPC buffers need frames.
    Frame(Frame),
    /// The right to make ASID pools. There is only one pool, so this capability has no use.
    AsidControl,
    /// An ASID pool, which never runs out of ASIDs.
    AsidPool(PhysAddr),
}

mod tag {
    pub const FRAME: u8 = 1;
    pub const ADDRESS_SPACE: u8 = 3;
    pub const ASID_CONTROL: u8 = 5;
    pub const ASID_POOL: u8 = 7;
}

const BITS: Field = Field::number(0, 5, 6);
const RIGHTS: Field = Field::number(0, 11, 4);
const FLAG: Field = Field::number(0, 15, 1);
const ADDRESS: Field = Field::number(1, 0, usize::BITS as u8);

impl HostCap {
    /// The object's start and end addresses, if it has memory.
    fn extent(self) -> Option<(usize, usize)> {
        let (start, bits) = self.memory()?;
        Some((start.0, start.0 + (1 << bits)))
    }
}

impl ArchCap for HostCap {
    fn encode(self) -> RawCap {
        match self {
            Self::AddressSpace { address, assigned } => RawCap::new(tag::ADDRESS_SPACE)
                .with(ADDRESS, address.0)
                .with(FLAG, assigned.into()),
            Self::Frame(frame) => RawCap::new(tag::FRAME)
                .with(ADDRESS, frame.address.0)
                .with(BITS, frame.bits)
                .with(RIGHTS, frame.rights.word())
                .with(FLAG, frame.device.into()),
            Self::AsidControl => RawCap::new(tag::ASID_CONTROL),
            Self::AsidPool(address) => RawCap::new(tag::ASID_POOL).with(ADDRESS, address.0),
        }
    }

    fn decode(raw: RawCap) -> Self {
        let address = PhysAddr(raw.get(ADDRESS));
        match raw.tag() {
            tag::FRAME => Self::Frame(Frame {
                address,
                bits: raw.get(BITS),
                device: raw.get(FLAG) != 0,
                rights: Rights::from_word(raw.get(RIGHTS)),
            }),
            tag::ADDRESS_SPACE => Self::AddressSpace {
                address,
                assigned: raw.get(FLAG) != 0,
            },
            tag::ASID_CONTROL => Self::AsidControl,
            tag::ASID_POOL => Self::AsidPool(address),
            other => panic!("there is no capability with tag {other}"),
        }
    }

    fn memory(self) -> Option<(PhysAddr, usize)> {
        match self {
            Self::AddressSpace { address, .. } => Some((address, VSPACE_BITS)),
            Self::Frame(frame) => Some((frame.address, frame.bits)),
            Self::AsidPool(address) => Some((address, ASID_POOL_BITS)),
            Self::AsidControl => None,
        }
    }

    fn same_region(self, other: Self) -> bool {
        match (self, other) {
            (Self::Frame(_), Self::Frame(_)) => match (self.extent(), other.extent()) {
                (Some(outer), Some(inner)) => outer.0 <= inner.0 && inner.1 <= outer.1,
                _ => false,
            },
            _ => self.same_object(other),
        }
    }

    fn same_object(self, other: Self) -> bool {
        core::mem::discriminant(&self) == core::mem::discriminant(&other)
            && self.extent() == other.extent()
    }

    fn frame(self) -> Option<Frame> {
        match self {
            Self::Frame(frame) => Some(frame),
            _ => None,
        }
    }

    fn is_address_space(self) -> bool {
        matches!(self, Self::AddressSpace { assigned: true, .. })
    }

    fn derive(self) -> Result<Option<Self>, Error> {
        match self {
            Self::AddressSpace {
                assigned: false, ..
            } => Err(Error::IllegalOperation),
            other => Ok(Some(other)),
        }
    }

    fn mask_rights(self, rights: Rights) -> Self {
        match self {
            Self::Frame(frame) => Self::Frame(Frame {
                rights: frame.rights.intersection(rights),
                ..frame
            }),
            other => other,
        }
    }
}

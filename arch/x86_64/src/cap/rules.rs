//! The rules of derivation (seL4 reference manual, section "Capability Derivation Tree").

use abi::Rights;
use abi::sizes::ASID_POOL_BITS;
use kernel::arch::{ArchCap, Frame, PhysAddr};
use kernel::cap::RawCap;
use kernel::invoke::Error;

use super::{Cap, FrameCap, PortsCap, layout};

const TABLE_BITS: usize = 12;

impl Cap {
    /// The decoded capability, if it is one of the architecture.
    #[inline(always)]
    pub fn of(raw: RawCap) -> Option<Self> {
        (raw.tag() & 1 == 1).then(|| layout::decode(raw))
    }
}

impl ArchCap for Cap {
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
            Self::Frame(frame) => Some((frame.address, frame.level.bits())),
            Self::Table(table) => Some((table.address, TABLE_BITS)),
            Self::Root(root) => Some((root.address, TABLE_BITS)),
            Self::AsidPool(pool) => Some((pool.address, ASID_POOL_BITS)),
            Self::Inert(inert) => Some((inert.address, inert.kind.bits())),
            Self::AsidControl | Self::PortControl | Self::Ports(_) => None,
        }
    }

    fn same_region(self, other: Self) -> bool {
        match (self, other) {
            (Self::Frame(outer), Self::Frame(inner)) => {
                let outer_last = outer.address.0 + ((1 << outer.level.bits()) - 1);
                let inner_last = inner.address.0 + ((1 << inner.level.bits()) - 1);
                outer.address <= inner.address && inner_last <= outer_last
            }
            (Self::PortControl, Self::PortControl | Self::Ports(_)) => true,
            (Self::Ports(outer), Self::Ports(inner)) => {
                outer.first <= inner.first && inner.last <= outer.last
            }
            _ => self.same_object(other),
        }
    }

    fn same_object(self, other: Self) -> bool {
        match (self, other) {
            (Self::Frame(a), Self::Frame(b)) => (a.address, a.level) == (b.address, b.level),
            (Self::Table(a), Self::Table(b)) => (a.address, a.level) == (b.address, b.level),
            (Self::Root(a), Self::Root(b)) => a.address == b.address,
            (Self::AsidPool(a), Self::AsidPool(b)) => a.address == b.address,
            (Self::Ports(a), Self::Ports(b)) => a == b,
            (Self::Inert(a), Self::Inert(b)) => a == b,
            (Self::AsidControl, Self::AsidControl) | (Self::PortControl, Self::PortControl) => true,
            _ => false,
        }
    }

    fn is_issued_from(self, parent: Self) -> bool {
        matches!((self, parent), (Self::Ports(_), Self::PortControl))
    }

    fn frame(self) -> Option<Frame> {
        match self {
            Self::Frame(frame) => Some(Frame {
                address: frame.address,
                bits: frame.level.bits(),
                device: frame.device,
                rights: frame.rights,
            }),
            _ => None,
        }
    }

    fn is_address_space(self) -> bool {
        matches!(self, Self::Root(root) if root.asid.is_some())
    }

    fn derive(self) -> Result<Option<Self>, Error> {
        match self {
            Self::Frame(frame) => Ok(Some(Self::Frame(FrameCap {
                mapping: None,
                ..frame
            }))),
            Self::Table(table) if table.mapping.is_none() => Err(Error::IllegalOperation),
            Self::Root(root) if root.asid.is_none() => Err(Error::IllegalOperation),
            Self::PortControl => Ok(None),
            other => Ok(Some(other)),
        }
    }

    fn mask_rights(self, rights: Rights) -> Self {
        match self {
            Self::Frame(frame) => Self::Frame(FrameCap {
                rights: frame.rights.intersection(rights),
                ..frame
            }),
            other => other,
        }
    }
}

impl PortsCap {
    /// Whether an access of some bytes stays within the ports.
    pub fn contains(self, port: u16, bytes: u16) -> bool {
        match port.checked_add(bytes - 1) {
            Some(last) => self.first <= port && last <= self.last,
            None => false,
        }
    }
}

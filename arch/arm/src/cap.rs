//! Capabilities of the Arm architectures.

use core::fmt::Debug;

use abi::sizes::ASID_POOL_BITS;
use abi::{LookupFailure, ObjectType, Rights};
use kernel::arch::{ArchCap, Frame, PhysAddr};
use kernel::cap::RawCap;
use kernel::invoke::{Error, ensure};

/// The sizes of frames.
pub trait Size: Copy + Debug + Eq + 'static {
    /// The size of frames of an object type.
    fn of(kind: ObjectType) -> Option<Self>;

    /// log2 of the size in bytes.
    fn bits(self) -> usize;

    /// The size in bytes.
    fn bytes(self) -> usize {
        1 << self.bits()
    }
}

/// What depends on the word size: frames, tables, and the layout of capabilities in two words.
pub trait Format: Copy + Debug + Eq + 'static {
    /// The sizes of frames.
    type Size: Size;
    /// The identifier of an address space.
    type Asid: Copy + Debug + Eq + 'static;

    /// The object type of roots, and log2 of their size.
    const ROOT: (ObjectType, usize);
    /// log2 of the size of page tables.
    const TABLE_BITS: usize;

    /// Packs a capability.
    fn encode(cap: Capability<Self>) -> RawCap;

    /// Unpacks a capability.
    fn decode(raw: RawCap) -> Capability<Self>;

    /// The frame of a packed capability, of any kind.
    fn decode_frame(raw: RawCap) -> Option<FrameCap<Self>>;

    /// The address space of a packed capability, if it is one with an identifier. Decodes no other kinds.
    fn decode_space(raw: RawCap) -> Option<(Self::Asid, PhysAddr)>;
}

/// The place of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping<F: Format> {
    /// The address space.
    pub asid: F::Asid,
    /// The address in it.
    pub address: usize,
}

/// A capability to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameCap<F: Format> {
    /// Physical address.
    pub address: PhysAddr,
    /// Its size.
    pub size: F::Size,
    /// Whether it is device memory, which the kernel does not access.
    pub device: bool,
    /// The rights that mappings may have: [`Rights::READ`] and [`Rights::WRITE`].
    pub rights: Rights,
    /// The mapping made by this capability; the frame may have been unmapped since.
    pub mapping: Option<Mapping<F>>,
}

impl<F: Format> FrameCap<F> {
    /// A capability to a new frame.
    pub const fn new(address: PhysAddr, size: F::Size, device: bool) -> Self {
        Self {
            address,
            size,
            device,
            rights: Rights::READ_WRITE,
            mapping: None,
        }
    }

    /// Checks that the frame can be mapped at an address: below `top`, or where its mapping is.
    ///
    /// # Errors
    /// Those of the ABI.
    #[inline(always)]
    pub fn check_place(&self, root: &Root<F>, address: usize, top: usize) -> Result<(), Error> {
        let fits = match self.mapping {
            Some(mapping) => {
                ensure(mapping.asid == root.asid, Error::InvalidCapability(1))?;
                mapping.address == address
            }
            None => {
                let end = address.checked_add(self.size.bytes());
                end.is_some_and(|end| end <= top)
            }
        };
        ensure(fits, Error::InvalidArgument(0))
    }
}

impl<F: Format> From<FrameCap<F>> for Frame {
    #[inline(always)]
    fn from(cap: FrameCap<F>) -> Self {
        Self {
            address: cap.address,
            bits: cap.size.bits(),
            device: cap.device,
            rights: cap.rights,
        }
    }
}

/// A capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability<F: Format> {
    /// Memory that users can map.
    Frame(FrameCap<F>),
    /// A page table; in the 64-bit architecture, of any level below the root.
    PageTable {
        /// Physical address.
        address: PhysAddr,
        /// The place at which it is mapped.
        mapping: Option<Mapping<F>>,
    },
    /// The root of an address space.
    VSpace {
        /// Physical address.
        address: PhysAddr,
        /// The identifier that was assigned to it.
        asid: Option<F::Asid>,
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
    /// AArch64: the right to call the firmware.
    Smc {
        /// The only function that may be called; 0 for all.
        badge: usize,
    },
}

impl<F: Format> Capability<F> {
    /// Makes the capability to a new object.
    #[inline(always)]
    pub fn create(kind: ObjectType, address: PhysAddr, device: bool) -> Self {
        match kind {
            ObjectType::ArmPageTable => Self::PageTable {
                address,
                mapping: None,
            },
            kind if kind == F::ROOT.0 => Self::VSpace {
                address,
                asid: None,
            },
            kind => match F::Size::of(kind) {
                Some(size) => Self::Frame(FrameCap::new(address, size, device)),
                None => unreachable!("the kernel passes only object types of the architecture"),
            },
        }
    }

    /// log2 of the size of an object of one of the architecture's types; none for other types.
    pub fn object_bits(kind: ObjectType) -> Option<usize> {
        match kind {
            ObjectType::ArmPageTable => Some(F::TABLE_BITS),
            kind if kind == F::ROOT.0 => Some(F::ROOT.1),
            kind => F::Size::of(kind).map(F::Size::bits),
        }
    }
}

impl<F: Format> ArchCap for Capability<F> {
    #[inline(always)]
    fn encode(self) -> RawCap {
        F::encode(self)
    }

    #[inline(always)]
    fn decode(raw: RawCap) -> Self {
        F::decode(raw)
    }

    #[inline]
    fn memory(self) -> Option<(PhysAddr, usize)> {
        match self {
            Self::Frame(frame) => Some((frame.address, frame.size.bits())),
            Self::PageTable { address, .. } => Some((address, F::TABLE_BITS)),
            Self::VSpace { address, .. } => Some((address, F::ROOT.1)),
            Self::AsidPool { address, .. } => Some((address, ASID_POOL_BITS)),
            Self::AsidControl | Self::SgiSignal { .. } | Self::Smc { .. } => None,
        }
    }

    fn same_region(self, other: Self) -> bool {
        match (self, other) {
            (Self::Frame(outer), Self::Frame(inner)) => {
                outer.address <= inner.address
                    && inner.address.0 - outer.address.0 + inner.size.bytes() <= outer.size.bytes()
            }
            (Self::Smc { badge: 0 }, Self::Smc { .. }) => true,
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

    /// A capability with a badge is the parent of its copies.
    fn is_issued_from(self, parent: Self) -> bool {
        matches!((self, parent), (Self::Smc { badge }, Self::Smc { badge: of_all }) if badge != of_all)
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
        F::decode_frame(raw).map(Frame::from)
    }

    fn is_address_space(self) -> bool {
        matches!(self, Self::VSpace { asid: Some(_), .. })
    }

    fn derive(self) -> Result<Option<Self>, Error> {
        match self {
            Self::PageTable { mapping: None, .. } | Self::VSpace { asid: None, .. } => {
                Err(Error::IllegalOperation)
            }
            Self::Frame(frame) => Ok(Some(Self::Frame(FrameCap {
                mapping: None,
                ..frame
            }))),
            cap => Ok(Some(cap)),
        }
    }

    /// The badge of a firmware-call capability is set once, on a copy, like that of an endpoint.
    fn update_data(self, moved: bool, data: usize) -> Option<Self> {
        match self {
            Self::Smc { badge: 0 } if !moved => Some(Self::Smc { badge: data }),
            Self::Smc { .. } => None,
            cap => Some(cap),
        }
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

/// The lookup error for a root that is not, or no longer, the root of an address space.
pub const INVALID_ROOT: Error = Error::lookup(LookupFailure::InvalidRoot);

/// An address space as its capability states it.
#[derive(Clone, Copy, Debug)]
pub struct Root<F: Format> {
    /// Physical address.
    pub address: PhysAddr,
    /// The identifier that was assigned to it.
    pub asid: F::Asid,
}

impl<F: Format> Root<F> {
    /// The address space of a packed capability, which is argument `number` of an invocation.
    ///
    /// # Errors
    /// The capability is not one to a root with an identifier.
    #[inline(always)]
    pub fn from_cap(cap: RawCap, number: usize) -> Result<Self, Error> {
        match F::decode_space(cap) {
            Some((asid, address)) => Ok(Self { address, asid }),
            None => Err(Error::InvalidCapability(number)),
        }
    }
}

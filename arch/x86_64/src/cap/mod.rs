//! Capabilities that only this architecture has.

mod layout;
mod rules;

use abi::{ObjectType, Rights};
use kernel::arch::PhysAddr;

use crate::paging::Level;
use crate::space::{Asid, AsidPool};

/// A place in an address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The address space.
    pub asid: Asid,
    /// The address in it.
    pub address: usize,
}

/// A frame of memory, or of device registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameCap {
    /// Physical address.
    pub address: PhysAddr,
    /// The level at which one entry maps it.
    pub level: Level,
    /// Whether it is device memory.
    pub device: bool,
    /// The rights to read and write.
    pub rights: Rights,
    /// The mapping made by this capability.
    pub mapping: Option<Mapping>,
}

/// A paging structure below the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableCap {
    /// Physical address.
    pub address: PhysAddr,
    /// Its level.
    pub level: Level,
    /// The place at which it is mapped.
    pub mapping: Option<Mapping>,
}

/// The root of an address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootCap {
    /// Physical address.
    pub address: PhysAddr,
    /// Its identifier.
    pub asid: Option<Asid>,
}

/// A pool of identifiers for address spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolCap {
    /// Physical address of its [`AsidPool`].
    pub address: PhysAddr,
    /// Its index in the table of pools.
    pub index: usize,
}

/// I/O ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortsCap {
    /// The first port.
    pub first: u16,
    /// The last port.
    pub last: u16,
}

/// An object that the ABI defines and this kernel does not support yet: it has memory and no methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InertCap {
    /// Physical address.
    pub address: PhysAddr,
    /// Its kind.
    pub kind: InertKind,
}

/// The kinds of [`InertCap`], with their tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum InertKind {
    /// Page table of a device address space.
    IoPageTable = 17,
    /// Virtual processor.
    Vcpu = 21,
    /// First-level table of a guest address space.
    EptTable = 23,
    /// Second-level table.
    EptDirectory = 25,
    /// Third-level table.
    EptPointers = 27,
    /// Root.
    EptRoot = 29,
}

impl InertKind {
    const fn bits(self) -> usize {
        match self {
            Self::Vcpu => 14,
            _ => 12,
        }
    }
}

/// A capability of this architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cap {
    /// A frame.
    Frame(FrameCap),
    /// A paging structure below the root.
    Table(TableCap),
    /// The root of an address space.
    Root(RootCap),
    /// The right to make ASID pools.
    AsidControl,
    /// An ASID pool.
    AsidPool(PoolCap),
    /// The right to issue I/O ports.
    PortControl,
    /// I/O ports.
    Ports(PortsCap),
    /// An object without methods.
    Inert(InertCap),
}

/// The meaning of an object type of this architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Frame(Level),
    Table(Level),
    Root,
    Inert(InertKind),
}

impl Kind {
    const fn of(object: ObjectType) -> Option<Self> {
        Some(match object {
            ObjectType::X86Page4K => Self::Frame(Level::Table),
            ObjectType::X86LargePage => Self::Frame(Level::Directory),
            ObjectType::X86HugePage => Self::Frame(Level::Pointers),
            ObjectType::X86PageTable => Self::Table(Level::Table),
            ObjectType::X86PageDirectory => Self::Table(Level::Directory),
            ObjectType::X86Pdpt => Self::Table(Level::Pointers),
            ObjectType::X86Pml4 => Self::Root,
            ObjectType::X86IoPageTable => Self::Inert(InertKind::IoPageTable),
            ObjectType::X86Vcpu => Self::Inert(InertKind::Vcpu),
            ObjectType::X86EptPml4 => Self::Inert(InertKind::EptRoot),
            ObjectType::X86EptPdpt => Self::Inert(InertKind::EptPointers),
            ObjectType::X86EptPd => Self::Inert(InertKind::EptDirectory),
            ObjectType::X86EptPt => Self::Inert(InertKind::EptTable),
            _ => return None,
        })
    }
}

/// log2 of the size of an object of one of this architecture's types.
pub const fn object_bits(object: ObjectType) -> Option<usize> {
    Some(match Kind::of(object) {
        Some(Kind::Frame(level)) => level.bits(),
        Some(Kind::Table(_) | Kind::Root) => 12,
        Some(Kind::Inert(kind)) => kind.bits(),
        None => return None,
    })
}

/// Whether objects of this type are frames.
pub const fn is_frame(object: ObjectType) -> bool {
    matches!(Kind::of(object), Some(Kind::Frame(_)))
}

/// The first capability to a new object.
///
/// # Panics
/// For an object type of the portable kernel.
#[inline(always)]
pub fn create(object: ObjectType, address: PhysAddr, device: bool) -> Cap {
    match Kind::of(object) {
        Some(Kind::Frame(level)) => Cap::Frame(FrameCap {
            address,
            level,
            device,
            rights: Rights::READ_WRITE,
            mapping: None,
        }),
        Some(Kind::Table(level)) => Cap::Table(TableCap {
            address,
            level,
            mapping: None,
        }),
        Some(Kind::Root) => Cap::Root(RootCap {
            address,
            asid: None,
        }),
        Some(Kind::Inert(kind)) => Cap::Inert(InertCap { address, kind }),
        None => unreachable!("not an object of this architecture"),
    }
}

const _: () = assert!(size_of::<AsidPool>() == 1 << abi::sizes::ASID_POOL_BITS);

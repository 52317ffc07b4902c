//! Mapping of frames in an address space: the place of their descriptors, and checks of its content.

use core::ops::Range;

use abi::{LookupFailure, Rights};
use kernel::arch::PhysAddr;
use kernel::invoke::Error;

use super::Aarch32;
use super::cap::{FrameCap, FrameSize};
use super::descriptor::{
    Access, Attributes, FirstKind, FirstLevel, Memory, REPEATED, SECTION_BITS, SecondKind,
    SecondLevel,
};
use super::table::{Directory, Table, directory_index, table_index};

/// The attribute bits of mapping requests.
pub(super) mod vm_attributes {
    /// Memory may be cached.
    pub const CACHEABLE: usize = 1;
    /// Memory has parity.
    pub const PARITY: usize = 2;
    /// No instruction may be fetched.
    pub const EXECUTE_NEVER: usize = 4;
}

/// The attributes of descriptors for a user's mapping request.
pub(super) fn attributes(frame: &FrameCap, rights: Rights, attributes: usize) -> Attributes {
    let has = |bit| attributes & bit != 0;
    let rights = frame.rights.intersection(rights);
    Attributes {
        memory: match (has(vm_attributes::CACHEABLE), frame.device) {
            (true, _) => Memory::Cached,
            (false, false) => Memory::Uncached,
            (false, true) => Memory::Device,
        },
        access: match (
            rights.contains(Rights::READ),
            rights.contains(Rights::WRITE),
        ) {
            (true, true) => Access::UserWrite,
            (true, false) => Access::UserRead,
            (false, _) => Access::Kernel,
        },
        executable: !has(vm_attributes::EXECUTE_NEVER),
        global: false,
        parity: has(vm_attributes::PARITY),
    }
}

/// The lookup error for an address without a table.
pub(super) const MISSING_TABLE: Error = Error::lookup(LookupFailure::MissingCapability {
    bits_left: SECTION_BITS,
});

/// The place of the descriptors of a frame of a certain size at a certain address.
pub(super) enum Place<A> {
    /// In a table.
    Pages(Table<A>, Range<usize>),
    /// In the directory.
    Sections(Directory<A>, Range<usize>),
}

impl<A: Aarch32> Place<A> {
    /// The place of the descriptors; none if a page needs a table that is missing. The address is a multiple
    /// of the size.
    #[inline(always)]
    pub(super) fn find(directory: Directory<A>, size: FrameSize, address: usize) -> Option<Self> {
        let first = directory_index(address);
        let page = table_index(address);
        let table = || match directory.get(first).kind() {
            // SAFETY: a mapped table is removed from the directory before its memory is reused.
            FirstKind::Table(table) => Some(unsafe { Table::at(table) }),
            _ => None,
        };
        Some(match size {
            FrameSize::SmallPage => Self::Pages(table()?, page..page + 1),
            FrameSize::LargePage => Self::Pages(table()?, page..page + REPEATED),
            FrameSize::Section => Self::Sections(directory, first..first + 1),
            FrameSize::Supersection => Self::Sections(directory, first..first + REPEATED),
        })
    }

    /// Whether a frame of this size is mapped there already; none if there is another mapping.
    #[inline(always)]
    pub(super) fn occupied(&self, size: FrameSize) -> Option<bool> {
        let mut occupied = false;
        let mut look = |found: Option<Found>| match found {
            Some(found) if !found.is_frame(size) => None,
            found => {
                occupied |= found.is_some();
                Some(())
            }
        };
        match self {
            Self::Pages(table, range) => range
                .clone()
                .try_for_each(|index| look(Found::page(table.get(index))))?,
            Self::Sections(directory, range) => range
                .clone()
                .try_for_each(|index| look(Found::section(directory.get(index))))?,
        }
        Some(occupied)
    }

    /// Whether all entries map this frame.
    pub(super) fn holds(&self, frame: &FrameCap) -> bool {
        let is_frame = |found| found == Some(Found::Frame(frame.size, frame.address));
        match self {
            Self::Pages(table, range) => range
                .clone()
                .all(|index| is_frame(Found::page(table.get(index)))),
            Self::Sections(directory, range) => range
                .clone()
                .all(|index| is_frame(Found::section(directory.get(index)))),
        }
    }

    /// Whether users may write to the memory mapped there.
    pub(super) fn is_user_writable(&self) -> bool {
        match self {
            Self::Pages(table, range) => table.get(range.start).is_user_writable(),
            Self::Sections(directory, range) => directory.get(range.start).is_user_writable(),
        }
    }

    /// Maps the frame.
    #[inline(always)]
    pub(super) fn map(&self, frame: &FrameCap, attributes: Attributes) {
        match self {
            Self::Pages(table, range) => {
                let descriptor = match frame.size {
                    FrameSize::SmallPage => SecondLevel::small(frame.address, attributes),
                    _ => SecondLevel::large(frame.address, attributes),
                };
                table.fill(range.clone(), |_| descriptor);
            }
            Self::Sections(directory, range) => {
                let descriptor = match frame.size {
                    FrameSize::Section => FirstLevel::section(frame.address, attributes),
                    _ => FirstLevel::supersection(frame.address, attributes),
                };
                directory.fill(range.clone(), |_| descriptor);
            }
        }
    }

    /// Removes the mapping.
    pub(super) fn unmap(&self) {
        match self {
            Self::Pages(table, range) => table.fill(range.clone(), |_| SecondLevel::FAULT),
            Self::Sections(directory, range) => {
                directory.fill(range.clone(), |_| FirstLevel::FAULT)
            }
        }
    }
}

/// The content of a descriptor that maps something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A table.
    Table,
    /// A frame, or one of the entries that repeat it.
    Frame(FrameSize, PhysAddr),
}

impl Found {
    fn page(descriptor: SecondLevel) -> Option<Self> {
        match descriptor.kind() {
            SecondKind::Fault => None,
            SecondKind::Small(address) => Some(Self::Frame(FrameSize::SmallPage, address)),
            SecondKind::Large(address) => Some(Self::Frame(FrameSize::LargePage, address)),
        }
    }

    fn section(descriptor: FirstLevel) -> Option<Self> {
        match descriptor.kind() {
            FirstKind::Fault => None,
            FirstKind::Table(_) => Some(Self::Table),
            FirstKind::Section(address) => Some(Self::Frame(FrameSize::Section, address)),
            FirstKind::Supersection(address) => Some(Self::Frame(FrameSize::Supersection, address)),
        }
    }

    fn is_frame(self, size: FrameSize) -> bool {
        matches!(self, Self::Frame(found, _) if found == size)
    }

    /// The frame that is mapped at an address: its size, and whether users may write to it.
    pub(super) fn at<A: Aarch32>(
        directory: Directory<A>,
        address: usize,
    ) -> Option<(FrameSize, bool)> {
        let entry = directory.get(directory_index(address));
        let (found, writable) = match entry.kind() {
            FirstKind::Table(table) => {
                // SAFETY: as in `Place::find`.
                let table = unsafe { Table::<A>::at(table) };
                let page = table.get(table_index(address));
                (Self::page(page), page.is_user_writable())
            }
            _ => (Self::section(entry), entry.is_user_writable()),
        };
        match found? {
            Self::Frame(size, _) => Some((size, writable)),
            Self::Table => None,
        }
    }
}

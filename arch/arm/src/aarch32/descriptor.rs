//! Short descriptors: the entries of the tables of an address space.
//!
//! *ARM Architecture Reference Manual, ARMv7-A and ARMv7-R edition* (DDI 0406), section B3.5. A
//! directory of 4096 first-level descriptors covers the address space, 1 MiB each; a table of 256
//! second-level descriptors covers 1 MiB. TEX remap and the access flag are off (sections B3.7.1 and
//! B3.8), so all bits have the meaning that ARMv6 gave them.

use kernel::arch::PhysAddr;
use tock_registers::fields::FieldValue;
use tock_registers::{LocalRegisterCopy, register_bitfields};

/// log2 of the size of a directory.
pub const DIRECTORY_BITS: usize = 14;
/// log2 of the size of a table.
pub const TABLE_BITS: usize = 10;
/// Entries of a directory.
pub const DIRECTORY_ENTRIES: usize = 1 << (DIRECTORY_BITS - 2);
/// Entries of a table.
pub const TABLE_ENTRIES: usize = 1 << (TABLE_BITS - 2);
/// log2 of the bytes that one table entry covers.
pub const SMALL_PAGE_BITS: usize = 12;
/// log2 of the bytes that one directory entry covers.
pub const SECTION_BITS: usize = 20;
/// Number of equal entries that describe one large page in a table, or one supersection in a directory.
pub const REPEATED: usize = 16;

register_bitfields! { u32,
    FIRST_LEVEL [
        /// Bits 31 to 20 of a section's address.
        SECTION OFFSET(20) NUMBITS(12) [],
        /// Bits 31 to 24 of a supersection's address.
        SUPERSECTION OFFSET(24) NUMBITS(8) [],
        /// Bits 31 to 10 of a table's address.
        TABLE OFFSET(10) NUMBITS(22) [],
        /// A section of 16 MiB, repeated in 16 entries.
        SUPER OFFSET(18) NUMBITS(1) [],
        /// TLB entries are tagged with the address space.
        NOT_GLOBAL OFFSET(17) NUMBITS(1) [],
        /// The caches of all cores are coherent for it.
        SHAREABLE OFFSET(16) NUMBITS(1) [],
        /// With AP: read-only.
        AP2 OFFSET(15) NUMBITS(1) [],
        /// With C and B: memory type (table B3-10).
        TEX OFFSET(12) NUMBITS(3) [],
        /// Access permissions (table B3-8).
        AP OFFSET(10) NUMBITS(2) [],
        /// Memory has parity.
        PARITY OFFSET(9) NUMBITS(1) [],
        /// No instruction may be fetched.
        EXECUTE_NEVER OFFSET(4) NUMBITS(1) [],
        C OFFSET(3) NUMBITS(1) [],
        B OFFSET(2) NUMBITS(1) [],
        /// The kind of the entry.
        KIND OFFSET(0) NUMBITS(2) [
            Fault = 0,
            Table = 1,
            Section = 2
        ]
    ],
    SECOND_LEVEL [
        /// Bits 31 to 12 of a small page's address.
        SMALL_PAGE OFFSET(12) NUMBITS(20) [],
        /// Bits 31 to 16 of a large page's address.
        LARGE_PAGE OFFSET(16) NUMBITS(16) [],
        /// Large page: no instruction may be fetched.
        LARGE_EXECUTE_NEVER OFFSET(15) NUMBITS(1) [],
        /// Large page: with C and B: memory type.
        LARGE_TEX OFFSET(12) NUMBITS(3) [],
        /// TLB entries are tagged with the address space.
        NOT_GLOBAL OFFSET(11) NUMBITS(1) [],
        /// The caches of all cores are coherent for it.
        SHAREABLE OFFSET(10) NUMBITS(1) [],
        /// With AP: read-only.
        AP2 OFFSET(9) NUMBITS(1) [],
        /// Small page: with C and B: memory type.
        SMALL_TEX OFFSET(6) NUMBITS(3) [],
        /// Access permissions.
        AP OFFSET(4) NUMBITS(2) [],
        C OFFSET(3) NUMBITS(1) [],
        B OFFSET(2) NUMBITS(1) [],
        /// The kind of the entry.
        KIND OFFSET(1) NUMBITS(1) [
            Large = 0,
            Small = 1
        ],
        /// Small page: no instruction may be fetched. Large page: always set.
        SMALL_EXECUTE_NEVER OFFSET(0) NUMBITS(1) []
    ]
}

/// The type of a region of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// RAM, write-back cached, allocated on reads and writes.
    Cached,
    /// RAM, not cached.
    Uncached,
    /// Device registers.
    Device,
}

impl Memory {
    /// The bits TEX, C and B (table B3-10).
    const fn bits(self) -> (u32, u32, u32) {
        match self {
            Self::Cached => (1, 1, 1),
            Self::Uncached => (1, 0, 0),
            Self::Device => (0, 0, 1),
        }
    }

    /// Whether the caches of all cores are kept coherent for it. On one core this is not needed, and some
    /// cores do not cache shareable memory; uncached memory is always coherent (section A3.5.5).
    fn is_shareable(self) -> bool {
        cfg!(feature = "smp") && self == Self::Cached
    }
}

/// Access permissions. The kernel may read all mapped memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Kernel: read. Users: none.
    KernelRead,
    /// Kernel: read and write. Users: none.
    Kernel,
    /// Users: read. Kernel: read and write.
    UserRead,
    /// Users and kernel: read and write.
    UserWrite,
}

impl Access {
    /// The bits AP\[2\] and AP\[1:0\] (table B3-8).
    const fn bits(self) -> (u32, u32) {
        match self {
            Self::KernelRead => (1, 1),
            Self::Kernel => (0, 1),
            Self::UserRead => (0, 2),
            Self::UserWrite => (0, 3),
        }
    }
}

/// All properties of a mapping except the addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// The memory type.
    pub memory: Memory,
    /// Access permissions.
    pub access: Access,
    /// Whether instructions may be fetched.
    pub executable: bool,
    /// Whether the mapping is the same in all address spaces.
    pub global: bool,
    /// Whether the memory has parity.
    pub parity: bool,
}

/// The content of a first-level descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstKind {
    /// Nothing is mapped.
    Fault,
    /// A page table.
    Table(PhysAddr),
    /// A section of 1 MiB.
    Section(PhysAddr),
    /// One of 16 equal entries of a supersection of 16 MiB.
    Supersection(PhysAddr),
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct FirstLevel(u32);

impl FirstLevel {
    /// Nothing is mapped.
    pub const FAULT: Self = Self(0);

    /// A reference to a page table.
    pub const fn table(table: PhysAddr, parity: bool) -> Self {
        let parity = parity as u32;
        Self(table.0 as u32 | FIRST_LEVEL::KIND::Table.value | parity << FIRST_LEVEL::PARITY.shift)
    }

    /// A section of one mebibyte.
    pub fn section(address: PhysAddr, attributes: Attributes) -> Self {
        Self(address.0 as u32 | Self::attributes(attributes).value)
    }

    /// One of the 16 entries of a supersection.
    pub fn supersection(address: PhysAddr, attributes: Attributes) -> Self {
        Self(Self::section(address, attributes).0 | FIRST_LEVEL::SUPER::SET.value)
    }

    fn attributes(attributes: Attributes) -> FieldValue<u32, FIRST_LEVEL::Register> {
        let (tex, c, b) = attributes.memory.bits();
        let (ap2, ap) = attributes.access.bits();
        FIRST_LEVEL::KIND::Section
            + FIRST_LEVEL::TEX.val(tex)
            + FIRST_LEVEL::C.val(c)
            + FIRST_LEVEL::B.val(b)
            + FIRST_LEVEL::AP2.val(ap2)
            + FIRST_LEVEL::AP.val(ap)
            + FIRST_LEVEL::PARITY.val(attributes.parity.into())
            + FIRST_LEVEL::EXECUTE_NEVER.val((!attributes.executable).into())
            + FIRST_LEVEL::NOT_GLOBAL.val((!attributes.global).into())
            + FIRST_LEVEL::SHAREABLE.val(attributes.memory.is_shareable().into())
    }

    /// Whether users may write to the memory that the entry, which is no table, maps.
    pub fn is_user_writable(self) -> bool {
        let bits = LocalRegisterCopy::<u32, FIRST_LEVEL::Register>::new(self.0);
        (bits.read(FIRST_LEVEL::AP2), bits.read(FIRST_LEVEL::AP)) == Access::UserWrite.bits()
    }

    /// Decodes the entry.
    pub fn kind(self) -> FirstKind {
        let bits = LocalRegisterCopy::<u32, FIRST_LEVEL::Register>::new(self.0);
        let address = |low: u32| PhysAddr((self.0 >> low << low) as usize);
        match bits.read_as_enum(FIRST_LEVEL::KIND) {
            Some(FIRST_LEVEL::KIND::Value::Table) => FirstKind::Table(address(10)),
            Some(FIRST_LEVEL::KIND::Value::Section) if bits.is_set(FIRST_LEVEL::SUPER) => {
                FirstKind::Supersection(address(24))
            }
            Some(FIRST_LEVEL::KIND::Value::Section) => FirstKind::Section(address(20)),
            _ => FirstKind::Fault,
        }
    }
}

/// The content of a second-level descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondKind {
    /// Nothing is mapped.
    Fault,
    /// A small page of 4 KiB.
    Small(PhysAddr),
    /// One of 16 equal entries of a large page of 64 KiB.
    Large(PhysAddr),
}

/// An entry of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct SecondLevel(u32);

impl SecondLevel {
    /// Nothing is mapped.
    pub const FAULT: Self = Self(0);

    /// A small page.
    pub fn small(address: PhysAddr, attributes: Attributes) -> Self {
        let (tex, _, _) = attributes.memory.bits();
        let own = SECOND_LEVEL::KIND::Small
            + SECOND_LEVEL::SMALL_TEX.val(tex)
            + SECOND_LEVEL::SMALL_EXECUTE_NEVER.val((!attributes.executable).into());
        Self(address.0 as u32 | (own + Self::attributes(attributes)).value)
    }

    /// One of the 16 entries of a large page.
    pub fn large(address: PhysAddr, attributes: Attributes) -> Self {
        let (tex, _, _) = attributes.memory.bits();
        let own = SECOND_LEVEL::KIND::Large
            + SECOND_LEVEL::SMALL_EXECUTE_NEVER::SET
            + SECOND_LEVEL::LARGE_TEX.val(tex)
            + SECOND_LEVEL::LARGE_EXECUTE_NEVER.val((!attributes.executable).into());
        Self(address.0 as u32 | (own + Self::attributes(attributes)).value)
    }

    fn attributes(attributes: Attributes) -> FieldValue<u32, SECOND_LEVEL::Register> {
        let (_, c, b) = attributes.memory.bits();
        let (ap2, ap) = attributes.access.bits();
        SECOND_LEVEL::C.val(c)
            + SECOND_LEVEL::B.val(b)
            + SECOND_LEVEL::AP2.val(ap2)
            + SECOND_LEVEL::AP.val(ap)
            + SECOND_LEVEL::NOT_GLOBAL.val((!attributes.global).into())
            + SECOND_LEVEL::SHAREABLE.val(attributes.memory.is_shareable().into())
    }

    /// Whether users may write to the memory that the entry maps.
    pub fn is_user_writable(self) -> bool {
        let bits = LocalRegisterCopy::<u32, SECOND_LEVEL::Register>::new(self.0);
        (bits.read(SECOND_LEVEL::AP2), bits.read(SECOND_LEVEL::AP)) == Access::UserWrite.bits()
    }

    /// Decodes the entry.
    pub fn kind(self) -> SecondKind {
        let bits = LocalRegisterCopy::<u32, SECOND_LEVEL::Register>::new(self.0);
        let address = |low: u32| PhysAddr((self.0 >> low << low) as usize);
        if bits.is_set(SECOND_LEVEL::KIND) {
            SecondKind::Small(address(12))
        } else if bits.is_set(SECOND_LEVEL::SMALL_EXECUTE_NEVER) {
            SecondKind::Large(address(16))
        } else {
            SecondKind::Fault
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: Attributes = Attributes {
        memory: Memory::Cached,
        access: Access::UserWrite,
        executable: true,
        global: false,
        parity: false,
    };

    #[test]
    fn descriptors_are_those_of_the_manual() {
        // Figures B3-4 and B3-5: the positions of nG, AP, TEX, C, B and the kind.
        assert_eq!(
            FirstLevel::section(PhysAddr(0x1230_0000), USER).0,
            0x1232_1c0e
        );
        assert_eq!(
            FirstLevel::supersection(PhysAddr(0x1200_0000), USER).0,
            0x1206_1c0e
        );
        assert_eq!(
            FirstLevel::table(PhysAddr(0x1234_5400), true).0,
            0x1234_5601
        );
        assert_eq!(
            SecondLevel::small(PhysAddr(0x1234_5000), USER).0,
            0x1234_587e
        );
        assert_eq!(
            SecondLevel::large(PhysAddr(0x1234_0000), USER).0,
            0x1234_183d
        );
    }

    #[test]
    fn kinds_are_recognised() {
        let address = PhysAddr(0x1200_0000);
        let device = Attributes {
            memory: Memory::Device,
            executable: false,
            ..USER
        };
        for attributes in [USER, device] {
            let section = FirstLevel::section(address, attributes);
            let supersection = FirstLevel::supersection(address, attributes);
            let small = SecondLevel::small(address, attributes);
            let large = SecondLevel::large(address, attributes);
            assert_eq!(section.kind(), FirstKind::Section(address));
            assert_eq!(supersection.kind(), FirstKind::Supersection(address));
            assert_eq!(small.kind(), SecondKind::Small(address));
            assert_eq!(large.kind(), SecondKind::Large(address));
        }
        assert_eq!(
            FirstLevel::table(address, true).kind(),
            FirstKind::Table(address)
        );
        assert_eq!(FirstLevel::FAULT.kind(), FirstKind::Fault);
        assert_eq!(SecondLevel::FAULT.kind(), SecondKind::Fault);
    }
}

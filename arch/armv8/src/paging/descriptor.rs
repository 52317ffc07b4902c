//! The entries of translation tables.
//!
//! *Arm Architecture Reference Manual for A-profile architecture* (DDI 0487), section D8.3: 4 KiB
//! granule, addresses of 48 bits, stage 1 of the EL1&0 regime.

use kernel::arch::PhysAddr;
use tock_registers::fields::FieldValue;
use tock_registers::{LocalRegisterCopy, register_bitfields};

register_bitfields! { u64,
    ENTRY [
        /// Level 0 may not fetch instructions.
        UXN OFFSET(54) NUMBITS(1) [],
        /// Level 1 may not fetch instructions.
        PXN OFFSET(53) NUMBITS(1) [],
        /// Bits 47 to 12 of the address of the table or frame.
        ADDRESS OFFSET(12) NUMBITS(36) [],
        /// TLB entries are tagged with the address space.
        NG OFFSET(11) NUMBITS(1) [],
        /// The access flag: without it, every access faults.
        AF OFFSET(10) NUMBITS(1) [],
        /// Shareability.
        SH OFFSET(8) NUMBITS(2) [
            Inner = 3
        ],
        /// Read-only.
        READ_ONLY OFFSET(7) NUMBITS(1) [],
        /// Level 0 may access it.
        USER OFFSET(6) NUMBITS(1) [],
        /// The memory type: the number of a byte of MAIR_EL1.
        ATTRIBUTES OFFSET(2) NUMBITS(3) [],
        /// A table; in the last level, a page.
        TABLE OFFSET(1) NUMBITS(1) [],
        /// The entry is valid.
        VALID OFFSET(0) NUMBITS(1) []
    ]
}

/// The value of MAIR_EL1, by [`Memory`]: device memory without gathering, reordering, early acknowledgement;
/// uncached memory; write-back cached memory, allocated on reads and writes.
pub(crate) const MEMORY_ATTRIBUTES: u64 = 0xff_44_00;

/// Memory types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Memory {
    /// Registers of devices.
    Device = 0,
    /// Memory that is not cached.
    Uncached = 1,
    /// Cached memory.
    Cached = 2,
}

/// Access permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Kernel: read and write. Users: none.
    Kernel,
    /// Kernel: read. Users: none.
    KernelRead,
    /// Kernel and users: read and write.
    UserWrite,
    /// Kernel and users: read.
    UserRead,
}

/// All properties of a mapping except the addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) memory: Memory,
    pub(crate) access: Access,
    /// Whether its users, or the kernel for a kernel mapping, may fetch instructions.
    pub(crate) executable: bool,
}

impl Attributes {
    fn bits(self) -> u64 {
        use Access::{Kernel, KernelRead, UserRead, UserWrite};
        let set = |field: FieldValue<u64, ENTRY::Register>, yes| if yes { field.value } else { 0 };
        let (user, read_only) = match self.access {
            Kernel => (false, false),
            KernelRead => (false, true),
            UserWrite => (true, false),
            UserRead => (true, true),
        };
        let always = ENTRY::VALID::SET
            + ENTRY::AF::SET
            + ENTRY::SH::Inner
            + ENTRY::ATTRIBUTES.val(self.memory as u64);
        always.value
            | set(ENTRY::USER::SET, user)
            | set(ENTRY::READ_ONLY::SET, read_only)
            | set(ENTRY::UXN::SET, !(self.executable && user))
            | set(ENTRY::PXN::SET, !self.executable || user)
    }
}

/// A level of the tree. Its number is log2 of the bytes that one entry spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Level {
    /// Pages of 4 KiB.
    Pages = 12,
    /// Blocks of 2 MiB, or tables.
    Large = 21,
    /// Blocks of 1 GiB, or tables.
    Huge = 30,
    /// The root: tables.
    Root = 39,
}

impl Level {
    /// log2 of the bytes that one entry spans.
    pub(crate) const fn bits(self) -> usize {
        self as usize
    }

    /// The bytes that one entry spans.
    pub(crate) const fn bytes(self) -> usize {
        1 << self.bits()
    }

    /// The entry that `address` selects.
    pub(crate) const fn index(self, address: usize) -> usize {
        address >> self.bits() & 0x1ff
    }

    /// The next level down.
    pub(crate) const fn below(self) -> Option<Self> {
        match self {
            Self::Root => Some(Self::Huge),
            Self::Huge => Some(Self::Large),
            Self::Large => Some(Self::Pages),
            Self::Pages => None,
        }
    }
}

/// An entry of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Entry(u64);

/// The decoded content of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Empty,
    Table(PhysAddr),
    Frame(PhysAddr),
}

impl Entry {
    pub(crate) const EMPTY: Self = Self(0);

    const fn new(fields: u64, address: PhysAddr) -> Self {
        Self(fields | address.0 as u64)
    }

    /// A reference to a table of the next level.
    pub(crate) fn table(address: PhysAddr) -> Self {
        Self::new((ENTRY::VALID::SET + ENTRY::TABLE::SET).value, address)
    }

    /// A mapping of a frame of the size that an entry of `level` spans, for users: its TLB entries are tagged
    /// with the address space.
    pub(crate) fn user_frame(level: Level, address: PhysAddr, attributes: Attributes) -> Self {
        let frame = Self::kernel_frame(level, address, attributes);
        Self(frame.0 | ENTRY::NG::SET.value)
    }

    /// A mapping of a frame of the size that an entry of `level` spans, the same in all address spaces.
    pub(crate) fn kernel_frame(level: Level, address: PhysAddr, attributes: Attributes) -> Self {
        let page = if level == Level::Pages {
            ENTRY::TABLE::SET.value
        } else {
            0
        };
        Self::new(attributes.bits() | page, address)
    }

    fn copy(self) -> LocalRegisterCopy<u64, ENTRY::Register> {
        LocalRegisterCopy::new(self.0)
    }

    /// Decodes an entry of a table of `level`.
    pub(crate) fn kind(self, level: Level) -> Kind {
        let entry = self.copy();
        let address = PhysAddr((entry.read(ENTRY::ADDRESS) << 12) as usize);
        if !entry.is_set(ENTRY::VALID) {
            Kind::Empty
        } else if entry.is_set(ENTRY::TABLE) && level != Level::Pages {
            Kind::Table(address)
        } else {
            Kind::Frame(address)
        }
    }

    /// Whether users may write to the frame.
    pub(crate) fn is_user_writable(self) -> bool {
        let entry = self.copy();
        entry.is_set(ENTRY::USER) && !entry.is_set(ENTRY::READ_ONLY)
    }
}

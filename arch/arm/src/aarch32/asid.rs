//! Address-space identifiers (ASIDs): those of capabilities, and the 8-bit ones of the hardware.

use core::num::NonZero;

/// log2 of the identifiers in a pool.
pub(super) const POOL_INDEX_BITS: usize = 10;
/// Number of pools.
pub(super) const POOLS: usize = 128;
/// Identifiers in a pool.
pub(super) const POOL_SIZE: usize = 1 << POOL_INDEX_BITS;

/// The identifier of an address space: the number of a pool and an index in it. Zero is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Asid(NonZero<u32>);

impl Asid {
    /// The identifier of the initial thread's address space.
    pub const INITIAL: Self = Self(NonZero::<u32>::MIN);

    /// The identifier at `index` of `pool`; none for index 0 of pool 0.
    pub(super) const fn new(pool: usize, index: usize) -> Option<Self> {
        Self::from_word(pool << POOL_INDEX_BITS | index)
    }

    pub(super) const fn from_word(word: usize) -> Option<Self> {
        match NonZero::new(word as u32) {
            Some(asid) => Some(Self(asid)),
            None => None,
        }
    }

    pub(super) const fn word(self) -> usize {
        self.0.get() as usize
    }

    /// The number of its pool.
    pub(super) const fn pool(self) -> usize {
        self.word() >> POOL_INDEX_BITS
    }

    /// Its index in the pool.
    pub(super) const fn index(self) -> usize {
        self.word() & (POOL_SIZE - 1)
    }
}

/// A hardware ASID, with which the TLB tags translations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct HardwareAsid(pub u8);

impl HardwareAsid {
    /// The ASID of the kernel's own address space, which has no user mappings.
    pub const KERNEL: Self = Self(0);
    /// Number of hardware ASIDs.
    pub const COUNT: usize = 256;

    /// The hardware ASID of an address space on several cores, where the assignment is fixed.
    #[cfg(feature = "smp")]
    pub(super) const fn of(asid: Asid) -> Self {
        // All but `KERNEL`.
        Self((asid.word() % (Self::COUNT - 1)) as u8 + 1)
    }
}

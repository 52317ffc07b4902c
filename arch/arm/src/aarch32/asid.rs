//! Identifiers of address spaces: those that users see, and the few that the hardware has.

use core::num::NonZero;

/// log2 of the identifiers in a pool.
pub(super) const POOL_INDEX_BITS: usize = 10;
/// Number of pools.
pub(super) const POOLS: usize = 128;
/// Identifiers in a pool.
pub(super) const POOL_SIZE: usize = 1 << POOL_INDEX_BITS;

/// The identifier of an address space: the number of a pool and an index in it. Zero is never given
/// out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Asid(NonZero<u32>);

impl Asid {
    /// The identifier of the initial thread's address space.
    pub const INITIAL: Self = Self(NonZero::<u32>::MIN);

    /// The identifier at `index` of `pool`; none for the very first.
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

/// An identifier of the hardware, by which it tells translations of different address spaces apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct HardwareAsid(pub u8);

impl HardwareAsid {
    /// The one under which nothing but the kernel is mapped.
    pub const KERNEL: Self = Self(0);
    /// How many there are.
    pub const COUNT: usize = 256;

    /// The one that an address space has where they are not given out in turn.
    #[cfg(feature = "smp")]
    pub(super) const fn of(asid: Asid) -> Self {
        // All but the kernel's.
        Self((asid.word() % (Self::COUNT - 1)) as u8 + 1)
    }
}

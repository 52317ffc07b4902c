//! Identifiers of address spaces.
//!
//! They have 12 bits: three select a pool, which users make from untyped memory, and nine an address
//! space in it. Number 0 is not used.

use core::num::NonZeroU16;
use core::ops::Range;

use kernel::arch::PhysAddr;
use kernel::token::{Objects, Ptr};

/// Number of pools.
pub const POOLS: usize = 8;
/// Number of address spaces in a pool.
pub const POOL_SIZE: usize = 512;

/// An identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asid(NonZeroU16);

impl Asid {
    /// The identifier of the initial address space.
    pub const INITIAL: Self = Self(NonZeroU16::MIN);

    /// The identifier with this number; `None` for 0.
    pub fn new(number: usize) -> Option<Self> {
        NonZeroU16::new((number % (POOLS * POOL_SIZE)) as u16).map(Self)
    }

    /// Its number.
    pub fn number(self) -> usize {
        self.0.get().into()
    }

    fn pool(self) -> usize {
        self.number() / POOL_SIZE
    }

    fn index(self) -> usize {
        self.number() % POOL_SIZE
    }
}

/// A pool: the roots of its address spaces.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct AsidPool {
    /// Physical addresses; 0 means none, since no object is there.
    roots: [PhysAddr; POOL_SIZE],
}

const NONE: PhysAddr = PhysAddr(0);

/// The table of pools. On several cores, each has its own copy; a core that changes it changes all
/// copies.
#[derive(Debug)]
pub struct Asids {
    pools: [Option<Ptr<AsidPool>>; POOLS],
    /// The ASID generation: it increases when an address space loses its identifier, and older results of
    /// lookups become invalid.
    generation: u64,
}

impl Asids {
    /// No pool.
    pub const fn new() -> Self {
        Self {
            pools: [None; POOLS],
            generation: 0,
        }
    }

    /// Offset of the ASID generation, for fast paths in assembly.
    pub const GENERATION: usize = core::mem::offset_of!(Self, generation);

    /// The ASID generation.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The first unused index in the table of pools.
    pub fn free_place(&self) -> Option<usize> {
        self.pools.iter().position(Option::is_none)
    }

    /// The pool at an index.
    pub fn pool(&self, place: usize) -> Option<Ptr<AsidPool>> {
        self.pools[place]
    }

    /// Sets or removes the pool at an index.
    pub fn set_pool(&mut self, place: usize, pool: Option<Ptr<AsidPool>>) {
        self.generation += u64::from(pool.is_none());
        self.pools[place] = pool;
    }

    /// The first unused identifier at these indices of a pool.
    pub fn free_asid(
        &self,
        objects: &Objects,
        place: usize,
        mut indices: Range<usize>,
    ) -> Option<Asid> {
        let pool = &objects[self.pools[place]?];
        indices
            .by_ref()
            .filter(|index| pool.roots[*index] == NONE)
            .find_map(|index| Asid::new(place * POOL_SIZE + index))
    }

    /// The root of an address space.
    pub fn root(&self, objects: &Objects, asid: Asid) -> Option<PhysAddr> {
        let root = objects[self.pools[asid.pool()]?].roots[asid.index()];
        (root != NONE).then_some(root)
    }

    /// Assigns an identifier of an existing pool to the address space of `root`, or takes it back.
    pub fn set_root(&mut self, objects: &mut Objects, asid: Asid, root: Option<PhysAddr>) {
        self.generation += u64::from(root.is_none());
        if let Some(pool) = self.pools[asid.pool()] {
            objects[pool].roots[asid.index()] = root.unwrap_or(NONE);
        }
    }

    /// Whether an address space has an identifier of a pool.
    pub fn holds(&self, objects: &Objects, place: usize, root: PhysAddr) -> bool {
        self.pools[place].is_some_and(|pool| objects[pool].roots.contains(&root))
    }
}

//! The address spaces, and the current one.
//!
//! Capabilities identify address spaces by 16 bits: 128 pools of 512. The hardware's ASIDs have 16 bits too
//! (Arm ARM, section D8.14.1), so the identifier is the ASID, and a switch needs no TLB invalidation.

use core::mem::offset_of;
use core::num::NonZero;
use core::ops::Range;

use aarch64_cpu::asm::barrier::{SY, isb};
use aarch64_cpu::registers::{TTBR0_EL1, Writeable};
use arch_arm::spaces::{AddressSpaces, Remote};
use kernel::arch::PhysAddr;

use crate::cap::Words64;
use crate::kernel_space::window;
use crate::paging::table::Table;
use crate::paging::tlb;

/// log2 of the identifiers in a pool.
const POOL_INDEX_BITS: usize = 9;
/// Identifiers in a pool.
const POOL_SIZE: usize = 1 << POOL_INDEX_BITS;
/// Number of pools.
const POOLS: usize = 128;

/// The identifier of an address space. Zero is not used: it is the kernel's own, with no user mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Asid(NonZero<u16>);

impl Asid {
    /// The identifier of the initial thread's address space.
    pub(crate) const INITIAL: Self = Self(NonZero::<u16>::MIN);

    pub(crate) fn from_number(number: u16) -> Option<Self> {
        NonZero::new(number).map(Self)
    }

    /// The hardware ASID.
    pub(crate) const fn number(self) -> u16 {
        self.0.get()
    }

    const fn pool(self) -> usize {
        self.number() as usize >> POOL_INDEX_BITS
    }

    const fn index(self) -> usize {
        self.number() as usize & (POOL_SIZE - 1)
    }
}

/// A page with the addresses of roots; zero for unused entries.
#[derive(Clone, Copy, Debug)]
struct Pool(PhysAddr);

impl Pool {
    fn entry(self, index: usize) -> *mut usize {
        core::ptr::with_exposed_provenance_mut::<usize>(window(self.0)).wrapping_add(index)
    }

    fn get(self, index: usize) -> Option<PhysAddr> {
        // SAFETY: the memory belongs to the pool, and indices are smaller than its size.
        let root = unsafe { self.entry(index).read() };
        (root != 0).then_some(PhysAddr(root))
    }

    fn set(self, index: usize, root: Option<PhysAddr>) {
        // SAFETY: as above; the kernel's token excludes other users.
        unsafe { self.entry(index).write(root.map_or(0, |root| root.0)) };
    }
}

/// The address spaces. On several cores, each has its own copy of the table of pools and of the ASID
/// generation; a core that changes them changes all copies.
#[derive(Debug)]
pub struct Spaces {
    pools: [Option<Pool>; POOLS],
    /// A root without mappings.
    nothing: Table,
    /// The address space that this core has loaded.
    current: Walk,
    /// The ASID generation: increases when an address space loses its identifier; old lookups become invalid.
    generation: u64,
}

/// The value of TTBR0_EL1: a root and, in the upper 16 bits, the ASID (Arm ARM, section D17.2.147). The two
/// words of a capability to a root contain the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Walk(u64);

impl Walk {
    const ASID_SHIFT: u32 = 48;

    fn new(asid: Asid, root: PhysAddr) -> Self {
        Self(u64::from(asid.number()) << Self::ASID_SHIFT | root.0 as u64)
    }

    /// The value for a root without an ASID.
    fn without(root: PhysAddr) -> Self {
        Self(root.0 as u64)
    }

    fn asid(self) -> Option<Asid> {
        Asid::from_number((self.0 >> Self::ASID_SHIFT) as u16)
    }
}

/// The result of looking up a thread's address space when it ran last, which saves repeated lookups.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct KnownSpace {
    /// The TTBR0_EL1 value.
    walk: Walk,
    /// The ASID generation at that time.
    generation: u64,
}

impl KnownSpace {
    /// No result.
    pub(crate) const NONE: Self = Self {
        walk: Walk(0),
        generation: 0,
    };
}

/// Offsets for fast paths in assembly.
impl KnownSpace {
    /// Offset of the TTBR0_EL1 value, which the ASID generation follows.
    pub(crate) const WALK: usize = offset_of!(Self, walk);
}

/// Offsets for fast paths in assembly.
impl Spaces {
    /// Offset of the current TTBR0_EL1 value.
    pub(crate) const CURRENT: usize = offset_of!(Self, current);
    /// Offset of the ASID generation.
    pub(crate) const GENERATION: usize = offset_of!(Self, generation);
}

impl Spaces {
    /// No address space but `nothing`, which is current.
    pub(crate) const fn new(nothing: Table) -> Self {
        Self {
            pools: [None; POOLS],
            nothing,
            current: Walk(0),
            generation: 0,
        }
    }

    /// The root of an address space; none if it or its pool is gone.
    pub(crate) fn root(&self, asid: Asid) -> Option<Table> {
        let root = self.root_address(asid)?;
        // SAFETY: entries are removed before the memory of a root is reused.
        Some(unsafe { Table::at(root) })
    }

    // ---- the current address space

    /// Switches to an address space if it still has this root, or else to the one without mappings. Returns
    /// the result of the lookup.
    ///
    /// The current address space exists: `leave_space` and `remove_pool` switch away from it
    /// first.
    #[inline(always)]
    pub(crate) fn switch(
        &mut self,
        space: Option<(Asid, PhysAddr)>,
        known: KnownSpace,
    ) -> KnownSpace {
        let Some((asid, root)) = space else {
            return self.leave();
        };
        let walk = Walk::new(asid, root);
        if known.walk == walk && known.generation == self.generation {
            self.walk(walk);
            return known;
        }
        self.switch_after_lookup(asid, root)
    }

    fn switch_after_lookup(&mut self, asid: Asid, root: PhysAddr) -> KnownSpace {
        if self.root(asid).map(Table::address) != Some(root) {
            return self.leave();
        }
        let walk = Walk::new(asid, root);
        self.walk(walk);
        KnownSpace {
            walk,
            generation: self.generation,
        }
    }

    fn leave(&mut self) -> KnownSpace {
        self.walk(Walk::without(self.nothing.address()));
        KnownSpace::NONE
    }

    #[inline(always)]
    fn walk(&mut self, walk: Walk) {
        if self.current != walk {
            self.current = walk;
            // ASID and root change in one write (Arm ARM, section D8.14.1).
            TTBR0_EL1.set(walk.0);
            isb(SY);
        }
    }

    /// Whether the current address space has an identifier of a pool.
    fn is_in_pool(&self, pool: usize) -> bool {
        self.current.asid().is_some_and(|asid| asid.pool() == pool)
    }
}

impl AddressSpaces<Words64> for Spaces {
    const POOL_SIZE: usize = POOL_SIZE;

    fn root_address(&self, asid: Asid) -> Option<PhysAddr> {
        self.pools[asid.pool()]?.get(asid.index())
    }

    fn pool_removed() {
        tlb::invalidate_all();
    }

    fn inside(&mut self, asid: Asid, action: impl FnOnce()) {
        let previous = self.current;
        if let Some(root) = self.root(asid) {
            self.switch_after_lookup(asid, root.address());
        }
        action();
        self.walk(previous);
    }

    fn free_pool(&self) -> Option<usize> {
        self.pools.iter().position(Option::is_none)
    }

    fn has_pool(&self, pool: usize, address: PhysAddr) -> Option<bool> {
        self.pools[pool].map(|installed| installed.0 == address)
    }

    fn add_pool(&mut self, pool: usize, address: PhysAddr) {
        self.pools[pool] = Some(Pool(address));
    }

    /// Removes an existing pool with all its address spaces. `pool_removed` invalidates their TLB entries.
    fn remove_pool(&mut self, pool: usize) {
        if self.is_in_pool(pool) {
            self.leave();
        }
        self.pools[pool] = None;
        self.generation += 1;
    }

    fn concerns(&self, remote: Remote<Words64>) -> bool {
        match remote {
            Remote::LeaveSpace(asid, root) => self.current == Walk::new(asid, root),
            Remote::LeavePool(pool) => self.is_in_pool(pool),
        }
    }

    fn perform(&mut self, remote: Remote<Words64>) {
        if self.concerns(remote) {
            self.leave();
        }
    }

    fn free_asid(&self, pool: usize, mut indices: Range<usize>) -> Option<Asid> {
        indices
            .by_ref()
            .filter_map(|index| Asid::from_number((pool << POOL_INDEX_BITS | index) as u16))
            .find(|&asid| self.root(asid).is_none())
    }

    fn assign(&mut self, asid: Asid, root: PhysAddr) {
        if let Some(pool) = self.pools[asid.pool()] {
            pool.set(asid.index(), Some(root));
        }
    }

    fn leave_space(&mut self, asid: Asid, root: PhysAddr) {
        if self.current == Walk::new(asid, root) {
            self.leave();
        }
        self.generation += 1;
    }

    fn release(&mut self, asid: Asid) {
        if let Some(pool) = self.pools[asid.pool()] {
            pool.set(asid.index(), None);
        }
        tlb::invalidate_space(asid);
    }
}

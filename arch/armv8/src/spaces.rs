//! Which address spaces exist, and which one is current.
//!
//! Users name address spaces by 16 bits: 128 pools of 512. The hardware tells their translations apart
//! by as many (Arm ARM, section D8.14.1), so an address space has the same number on both sides, and
//! a switch costs no translation.

use core::mem::offset_of;
use core::num::NonZero;
use core::ops::Range;

use aarch64_cpu::asm::barrier::{SY, isb};
use aarch64_cpu::registers::{TTBR0_EL1, Writeable};
use kernel::arch::PhysAddr;

use crate::kernel_space::window;
use crate::paging::table::Table;
use crate::paging::tlb;

/// log2 of the identifiers in a pool.
const POOL_INDEX_BITS: usize = 9;
/// Identifiers in a pool.
pub(crate) const POOL_SIZE: usize = 1 << POOL_INDEX_BITS;
/// Number of pools.
const POOLS: usize = 128;

/// The identifier of an address space. Zero is never given out: it is the kernel's own, under which
/// nothing is mapped for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Asid(NonZero<u16>);

impl Asid {
    /// The identifier of the initial thread's address space.
    pub(crate) const INITIAL: Self = Self(NonZero::<u16>::MIN);

    pub(crate) fn from_number(number: u16) -> Option<Self> {
        NonZero::new(number).map(Self)
    }

    /// The number that the hardware knows it by.
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

/// A page that holds the addresses of roots; zero where there is none.
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
        // SAFETY: as above, and the kernel's token excludes other users.
        unsafe { self.entry(index).write(root.map_or(0, |root| root.0)) };
    }
}

/// The address spaces. With several cores, each has its own copy of the table of pools and of the number of
/// removals, and whoever changes them changes all.
#[derive(Debug)]
pub(crate) struct Spaces {
    pools: [Option<Pool>; POOLS],
    /// A root that maps nothing.
    nothing: Table,
    /// The address space that this core walks.
    current: Walk,
    /// How often an address space has lost its identifier: what was known before is doubtful since.
    removals: u64,
}

/// What a core does for another.
#[cfg(feature = "smp")]
#[derive(Clone, Copy, Debug)]
pub enum Remote {
    /// Leaves an address space.
    LeaveSpace(Asid, PhysAddr),
    /// Leaves an address space with an identifier of a pool.
    LeavePool(usize),
}

/// What TTBR0_EL1 holds: a root and, in the upper 16 bits, the identifier (Arm ARM, section D17.2.147). In
/// a capability to a root the same bits stand, in its two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Walk(u64);

impl Walk {
    const ASID_SHIFT: u32 = 48;

    fn new(asid: Asid, root: PhysAddr) -> Self {
        Self(u64::from(asid.number()) << Self::ASID_SHIFT | root.0 as u64)
    }

    /// Nobody's.
    fn without(root: PhysAddr) -> Self {
        Self(root.0 as u64)
    }

    fn asid(self) -> Option<Asid> {
        Asid::from_number((self.0 >> Self::ASID_SHIFT) as u16)
    }
}

/// What was found out about a thread's address space when it ran last, so that it need not be looked up
/// again.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct KnownSpace {
    /// How it is walked.
    walk: Walk,
    /// How many identifiers had been lost by then.
    removals: u64,
}

impl KnownSpace {
    /// Nothing.
    pub(crate) const NONE: Self = Self {
        walk: Walk(0),
        removals: 0,
    };
}

/// What fast paths in assembly know.
impl KnownSpace {
    /// Offset of the walk; the number of removals follows.
    pub(crate) const WALK: usize = offset_of!(Self, walk);
}

/// What fast paths in assembly know.
impl Spaces {
    /// Offset of the current walk.
    pub(crate) const CURRENT: usize = offset_of!(Self, current);
    /// Offset of the number of removals.
    pub(crate) const REMOVALS: usize = offset_of!(Self, removals);
}

impl Spaces {
    /// No address space but `nothing`, which is current.
    pub(crate) const fn new(nothing: Table) -> Self {
        Self {
            pools: [None; POOLS],
            nothing,
            current: Walk(0),
            removals: 0,
        }
    }

    /// The root of an address space; none where it, or its pool, is gone.
    pub(crate) fn root(&self, asid: Asid) -> Option<Table> {
        let root = self.pools[asid.pool()]?.get(asid.index())?;
        // SAFETY: entries are taken out before the memory of a root is used otherwise.
        Some(unsafe { Table::at(root) })
    }

    // ---- the current address space

    /// Makes an address space current if it still has this root, or else the one that maps nothing.
    /// Returns what is known of it now.
    ///
    /// An address space that is current exists: [`Spaces::forget`] and [`Spaces::remove_pool`] leave it
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
        if known.walk == walk && known.removals == self.removals {
            self.walk(walk);
            return known;
        }
        self.look_up(asid, root)
    }

    fn look_up(&mut self, asid: Asid, root: PhysAddr) -> KnownSpace {
        if self.root(asid).map(Table::address) != Some(root) {
            return self.leave();
        }
        let walk = Walk::new(asid, root);
        self.walk(walk);
        KnownSpace {
            walk,
            removals: self.removals,
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
            // Identifier and root change in one write (Arm ARM, section D8.14.1).
            TTBR0_EL1.set(walk.0);
            isb(SY);
        }
    }

    /// Does something while an address space that exists is the current one.
    pub(crate) fn inside(&mut self, asid: Asid, action: impl FnOnce()) {
        let previous = self.current;
        if let Some(root) = self.root(asid) {
            self.look_up(asid, root.address());
        }
        action();
        self.walk(previous);
    }

    // ---- giving out and taking back

    /// The number of a pool that nobody has made yet.
    pub(crate) fn free_pool(&self) -> Option<usize> {
        self.pools.iter().position(Option::is_none)
    }

    /// Whether the pool of this number is the one at `address`; none where there is none.
    pub(crate) fn has_pool(&self, pool: usize, address: PhysAddr) -> Option<bool> {
        self.pools[pool].map(|installed| installed.0 == address)
    }

    /// Adds a pool, in zeroed memory at `address`.
    pub(crate) fn add_pool(&mut self, pool: usize, address: PhysAddr) {
        self.pools[pool] = Some(Pool(address));
    }

    /// Removes a pool, which exists, with all its address spaces. Their translations are still known.
    pub(crate) fn remove_pool(&mut self, pool: usize) {
        if self.is_in_pool(pool) {
            self.leave();
        }
        self.pools[pool] = None;
        self.removals += 1;
    }

    /// Whether the current address space has an identifier of a pool.
    fn is_in_pool(&self, pool: usize) -> bool {
        self.current.asid().is_some_and(|asid| asid.pool() == pool)
    }

    /// Whether this core has something to do.
    #[cfg(feature = "smp")]
    pub(crate) fn concerns(&self, remote: Remote) -> bool {
        match remote {
            Remote::LeaveSpace(asid, root) => self.current == Walk::new(asid, root),
            Remote::LeavePool(pool) => self.is_in_pool(pool),
        }
    }

    /// Does what another core asks for.
    #[cfg(feature = "smp")]
    pub(crate) fn perform(&mut self, remote: Remote) {
        if self.concerns(remote) {
            self.leave();
        }
    }

    /// The first identifier of a pool that no address space has.
    pub(crate) fn free_asid(&self, pool: usize, mut some: Range<usize>) -> Option<Asid> {
        some.by_ref()
            .filter_map(|index| Asid::from_number((pool << POOL_INDEX_BITS | index) as u16))
            .find(|&asid| self.root(asid).is_none())
    }

    /// Gives a root an identifier.
    pub(crate) fn assign(&mut self, asid: Asid, root: PhysAddr) {
        if let Some(pool) = self.pools[asid.pool()] {
            pool.set(asid.index(), Some(root));
        }
    }

    /// An address space is about to lose its identifier: leaves it.
    pub(crate) fn forget(&mut self, asid: Asid, root: PhysAddr) {
        if self.current == Walk::new(asid, root) {
            self.leave();
        }
        self.removals += 1;
    }

    /// Takes an identifier back from a root that every core has forgotten.
    pub(crate) fn release(&mut self, asid: Asid) {
        if let Some(pool) = self.pools[asid.pool()] {
            pool.set(asid.index(), None);
        }
        tlb::forget_space(asid);
    }
}

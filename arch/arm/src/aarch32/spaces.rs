//! Which address spaces exist, and which of them the hardware knows.
//!
//! Users name address spaces by 17 bits: 128 pools of 1024. The hardware tells their translations
//! apart by 8 bits (`CONTEXTIDR.ASID`; ARM DDI 0406, section B3.10.4). An address space gets one of
//! those when it is first switched to. They are given out in turn, and one that is still in use is
//! taken away from its owner, whose translations are forgotten. So a switch takes a constant time, and
//! with fewer than 256 address spaces hardly ever costs a translation.
//!
//! With several cores, each has its own [`Spaces`], and only the pools are one; whoever makes or removes a
//! pool tells all. Identifiers of the hardware are not given out in turn then: an address space always has
//! the same one, on every core, and shares it with a few others, one of which the core has translations of
//! at a time. So translations are forgotten on all cores by one instruction, and a core gives out
//! identifiers without asking others.

use core::mem::offset_of;
use core::ops::Range;

use kernel::arch::PhysAddr;
use kernel::cap::RawCap;
use kernel::sched::CORES;

use super::asid::{Asid, HardwareAsid, POOL_SIZE, POOLS};
use super::table::{Directory, Entries};
use super::{Aarch32, Capability, descriptor};

/// An entry of a pool: the address of a directory, whose low bits are zero, and the hardware's
/// identifier in those bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
struct PoolEntry(u32);

impl PoolEntry {
    const EMPTY: Self = Self(0);
    /// There is a hardware identifier in bits 7 to 0.
    const KNOWN: u32 = 1 << 8;
    const ADDRESS: u32 = !((1 << descriptor::DIRECTORY_BITS) - 1);

    const fn new(directory: PhysAddr, hardware: Option<HardwareAsid>) -> Self {
        let directory = directory.0 as u32;
        match hardware {
            Some(HardwareAsid(number)) => Self(directory | Self::KNOWN | number as u32),
            None => Self(directory),
        }
    }

    fn directory(self) -> Option<PhysAddr> {
        let address = self.0 & Self::ADDRESS;
        (address != 0).then_some(PhysAddr(address as usize))
    }

    #[cfg(not(feature = "smp"))]
    fn hardware(self) -> Option<HardwareAsid> {
        (self.0 & Self::KNOWN != 0).then_some(HardwareAsid(self.0 as u8))
    }
}

type Pool<A> = Entries<A, PoolEntry, POOL_SIZE>;

/// The address spaces of a core.
pub struct Spaces<A: Aarch32> {
    pools: [Option<Pool<A>>; POOLS],
    /// Which address space has each hardware identifier.
    owners: [Option<Asid>; HardwareAsid::COUNT],
    /// The hardware identifier that is given out next.
    #[cfg(not(feature = "smp"))]
    next: HardwareAsid,
    /// The directory that maps the kernel and nothing else.
    kernel: Directory<A>,
    /// What TTBR0 holds for that.
    without: usize,
    /// The directory that the hardware walks, and its identifier.
    current: Walk,
    /// How often an address space has lost its identifier, or that of the hardware: what was known
    /// before is doubtful since. Does not wrap: there it stays, and nothing is known any more. No two cores
    /// have the same number, so that no core knows what another one does.
    removals: u32,
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

/// What the hardware walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct Walk {
    /// What TTBR0 holds: the address of the directory, and how it is read.
    base: usize,
    /// The hardware's identifier.
    hardware: usize,
}

/// What was found out about a thread's address space when it ran last, so that it need not be looked up
/// again.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub struct KnownSpace {
    /// The first word of the capability to it. Threads get only capabilities to spaces that have
    /// identifiers, so this is enough to know one by.
    space: usize,
    /// How many identifiers had been lost by then.
    removals: u32,
    walk: Walk,
}

impl KnownSpace {
    /// Nothing: no capability has this word.
    pub const NONE: Self = Self {
        space: usize::MAX,
        removals: 0,
        walk: Walk {
            base: 0,
            hardware: 0,
        },
    };
}

/// What fast paths in assembly know.
impl KnownSpace {
    /// Offset of the capability's word; the number of removals follows.
    pub const SPACE: usize = offset_of!(Self, space);
    /// Offset of the walk.
    pub const WALK: usize = offset_of!(Self, walk);
}

/// What fast paths in assembly know.
impl<A: Aarch32> Spaces<A> {
    /// Offset of what TTBR0 holds; the identifier follows.
    pub const CURRENT: usize = offset_of!(Self, current);
    /// Offset of the number of removals.
    pub const REMOVALS: usize = offset_of!(Self, removals);
    /// Offset of what TTBR0 holds for the kernel's own directory.
    pub const WITHOUT: usize = offset_of!(Self, without);
}

impl<A: Aarch32> Spaces<A> {
    /// No address space but the kernel's own, which is current.
    pub fn new(kernel: Directory<A>, core: usize) -> Self {
        Self {
            pools: [None; POOLS],
            owners: [None; HardwareAsid::COUNT],
            #[cfg(not(feature = "smp"))]
            next: HardwareAsid(1),
            without: A::table_base(kernel.address()),
            kernel,
            current: Walk {
                base: 0,
                hardware: 0,
            },
            removals: core as u32,
        }
    }

    /// What was known is doubtful from now on.
    fn doubt(&mut self) {
        self.removals = self.removals.saturating_add(CORES as u32);
    }

    fn entry(&self, asid: Asid) -> PoolEntry {
        match self.pools[asid.pool()] {
            Some(pool) => pool.get(asid.index()),
            None => PoolEntry::EMPTY,
        }
    }

    fn set_entry(&mut self, asid: Asid, entry: PoolEntry) {
        if let Some(pool) = self.pools[asid.pool()] {
            pool.set(asid.index(), entry);
        }
    }

    /// The directory of an address space; none where it, or its pool, is gone.
    pub fn directory(&self, asid: Asid) -> Option<Directory<A>> {
        // SAFETY: entries are taken out before the memory of a directory is used otherwise.
        self.entry(asid)
            .directory()
            .map(|address| unsafe { Directory::at(address) })
    }

    // ---- the current address space

    /// The address space that is current; none: the kernel's own.
    fn current(&self) -> Option<(Asid, PhysAddr)> {
        let owner = self.owners[self.current.hardware]?;
        let directory = self.current.base & PoolEntry::ADDRESS as usize;
        Some((owner, PhysAddr(directory)))
    }

    /// Makes the address space of a capability current if it still has its identifier, or else the
    /// kernel's own, in which users have nothing. Returns what is known of it now.
    ///
    /// An address space that is current exists: `forget` and `remove_pool` leave it first.
    #[inline(always)]
    pub fn switch(&mut self, cap: RawCap, known: KnownSpace) -> KnownSpace {
        if known.space == cap.first_word() && known.removals == self.removals {
            self.walk(known.walk);
            return known;
        }
        match Capability::space(cap) {
            Some((asid, directory)) if self.entry(asid).directory() == Some(directory) => {
                self.look_up(cap, asid, directory)
            }
            _ => {
                self.leave();
                KnownSpace::NONE
            }
        }
    }

    fn look_up(&mut self, cap: RawCap, asid: Asid, directory: PhysAddr) -> KnownSpace {
        let walk = Walk {
            base: A::table_base(directory),
            hardware: self.hardware_asid(asid).0.into(),
        };
        self.walk(walk);
        if self.removals == u32::MAX {
            return KnownSpace::NONE;
        }
        KnownSpace {
            space: cap.first_word(),
            removals: self.removals,
            walk,
        }
    }

    #[inline(always)]
    fn walk(&mut self, walk: Walk) {
        if self.current != walk {
            self.current = walk;
            A::install(walk.base, HardwareAsid(walk.hardware as u8), self.without);
        }
    }

    /// Makes the kernel's own address space current.
    fn leave(&mut self) {
        self.walk(Walk {
            base: self.without,
            hardware: HardwareAsid::KERNEL.0.into(),
        });
    }

    /// Does something while an address space that exists is the current one.
    pub(super) fn inside(&mut self, asid: Asid, action: impl FnOnce()) {
        let previous = self.current();
        if let Some(directory) = self.entry(asid).directory() {
            self.look_up(RawCap::NULL, asid, directory);
        }
        action();
        match previous {
            Some((asid, directory)) => {
                self.look_up(RawCap::NULL, asid, directory);
            }
            None => self.leave(),
        }
    }

    // ---- hardware identifiers

    /// The hardware's identifier of an address space, of which the core forgets all others.
    #[cfg(feature = "smp")]
    fn hardware_asid(&mut self, asid: Asid) -> HardwareAsid {
        let hardware = HardwareAsid::of(asid);
        match self.owners[usize::from(hardware.0)] {
            Some(owner) if owner == asid => {}
            owner => {
                // While a space is walked, its translations can't be forgotten for good.
                if owner.is_some() && self.current().is_some_and(|it| Some(it.0) == owner) {
                    self.leave();
                }
                self.owners[usize::from(hardware.0)] = Some(asid);
                self.doubt();
                A::forget_space_here(hardware);
            }
        }
        hardware
    }

    /// The hardware's identifier of an address space; gives it one if it has none.
    #[cfg(not(feature = "smp"))]
    fn hardware_asid(&mut self, asid: Asid) -> HardwareAsid {
        let entry = self.entry(asid);
        if let Some(known) = entry.hardware() {
            return known;
        }
        let hardware = self.next_hardware_asid();
        if let Some(previous) = self.owners[usize::from(hardware.0)].replace(asid) {
            let entry = self.entry(previous);
            // Its pool may be gone, and another space may have its number by now.
            if let Some(directory) = entry.directory()
                && entry.hardware() == Some(hardware)
            {
                self.set_entry(previous, PoolEntry::new(directory, None));
            }
            self.doubt();
            A::forget_space(hardware);
        }
        if let Some(directory) = entry.directory() {
            self.set_entry(asid, PoolEntry::new(directory, Some(hardware)));
        }
        hardware
    }

    /// The identifier whose turn it is. The current address space keeps its own: while it is walked, its
    /// translations can't be forgotten for good.
    #[cfg(not(feature = "smp"))]
    fn next_hardware_asid(&mut self) -> HardwareAsid {
        let current = self.current().map(|(asid, _)| asid);
        loop {
            let candidate = self.next;
            self.next = HardwareAsid(candidate.0.checked_add(1).unwrap_or(1));
            let owner = self.owners[usize::from(candidate.0)];
            if owner.is_none() || owner != current {
                return candidate;
            }
        }
    }

    /// The hardware's identifier under which it may have translations of an address space.
    #[cfg(not(feature = "smp"))]
    fn known(&self, asid: Asid) -> Option<HardwareAsid> {
        self.entry(asid).hardware()
    }

    /// The hardware's identifier under which some core may have translations of an address space.
    #[cfg(feature = "smp")]
    #[expect(clippy::unused_self, reason = "as with one core")]
    fn known(&self, asid: Asid) -> Option<HardwareAsid> {
        Some(HardwareAsid::of(asid))
    }

    /// Forgets translations of the page at `address`.
    pub(super) fn forget_page(&self, asid: Asid, address: usize) {
        if let Some(hardware) = self.known(asid) {
            A::forget_page(hardware, address);
        }
    }

    /// Forgets all translations of an address space.
    pub(super) fn forget_space(&self, asid: Asid) {
        if let Some(hardware) = self.known(asid) {
            A::forget_space(hardware);
        }
    }

    // ---- giving out and taking back

    /// The number of a pool that nobody has made yet.
    pub(super) fn free_pool(&self) -> Option<usize> {
        self.pools.iter().position(Option::is_none)
    }

    /// The pool of this number, if it is the one at `address`.
    pub(super) fn has_pool(&self, pool: usize, address: PhysAddr) -> Option<bool> {
        self.pools[pool].map(|installed| installed.address() == address)
    }

    /// Adds a pool, in zeroed memory at `address`.
    pub(super) fn add_pool(&mut self, pool: usize, address: PhysAddr) {
        // SAFETY: the memory was turned over for the pool, which is removed before it is used again.
        self.pools[pool] = Some(unsafe { Pool::at(address) });
    }

    /// Removes a pool, which exists, with all its address spaces. Their hardware identifiers keep their
    /// owners, so that their translations are forgotten when the identifiers are given out again. With
    /// several cores an owner would get them again, so there are none any more.
    pub(super) fn remove_pool(&mut self, pool: usize) {
        if self.is_in_pool(pool) {
            self.leave();
        }
        self.pools[pool] = None;
        self.doubt();
        #[cfg(feature = "smp")]
        for owner in &mut self.owners {
            if owner.is_some_and(|asid| asid.pool() == pool) {
                *owner = None;
            }
        }
    }

    /// Whether the current address space has an identifier of a pool.
    fn is_in_pool(&self, pool: usize) -> bool {
        self.current().is_some_and(|(asid, _)| asid.pool() == pool)
    }

    /// Whether this core has something to do.
    #[cfg(feature = "smp")]
    pub(super) fn concerns(&self, remote: Remote) -> bool {
        match remote {
            Remote::LeaveSpace(asid, root) => self.current() == Some((asid, root)),
            Remote::LeavePool(pool) => self.is_in_pool(pool),
        }
    }

    /// Does what another core asks for.
    #[cfg(feature = "smp")]
    pub fn perform(&mut self, remote: Remote) {
        if self.concerns(remote) {
            self.leave();
        }
    }

    /// The first of some identifiers of a pool that no address space has.
    pub(super) fn free_asid(&self, pool: usize, mut some: Range<usize>) -> Option<Asid> {
        some.by_ref()
            .filter_map(|index| Asid::new(pool, index))
            .find(|&asid| self.entry(asid) == PoolEntry::EMPTY)
    }

    /// Gives a directory an identifier, and puts the kernel's mappings into it.
    pub(super) fn assign(&mut self, asid: Asid, directory: Directory<A>) {
        let kernel = self.kernel;
        let first = super::USER_TOP >> descriptor::SECTION_BITS;
        directory.copy(kernel, first..descriptor::DIRECTORY_ENTRIES);
        self.set_entry(asid, PoolEntry::new(directory.address(), None));
    }

    /// An address space is about to lose its identifier: leaves it.
    pub(super) fn forget(&mut self, asid: Asid, directory: PhysAddr) {
        if self.current() == Some((asid, directory)) {
            self.leave();
        }
        self.doubt();
        #[cfg(feature = "smp")]
        {
            let owner = &mut self.owners[usize::from(HardwareAsid::of(asid).0)];
            if *owner == Some(asid) {
                *owner = None;
            }
        }
    }

    /// Takes an identifier back from a directory that every core has forgotten.
    pub(super) fn release(&mut self, asid: Asid) {
        if let Some(hardware) = self.known(asid) {
            A::forget_space(hardware);
            #[cfg(not(feature = "smp"))]
            {
                self.owners[usize::from(hardware.0)] = None;
            }
        }
        self.set_entry(asid, PoolEntry::EMPTY);
    }
}

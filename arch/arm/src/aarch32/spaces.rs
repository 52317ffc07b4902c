//! The address spaces, and their hardware ASIDs.
//!
//! Capabilities identify address spaces by 17 bits: 128 pools of 1024. The hardware tags their TLB entries with
//! 8 bits (`CONTEXTIDR.ASID`; ARM DDI 0406, section B3.10.4). An address space gets a hardware ASID when it is
//! first switched to. They are assigned round robin, and one that is still in use is taken from its owner, with
//! a TLB invalidation. So a switch takes constant time, and with fewer than 256 address spaces hardly ever
//! invalidates TLB entries.
//!
//! On several cores, each has its own [`Spaces`], but the pools are shared; the core that adds or removes a
//! pool does so for all. An address space then has a fixed hardware ASID, the same on every core, and shares
//! it with a few other address spaces. At any time the TLB of a core has entries of only one of these. So
//! one instruction invalidates the TLB entries of an address space on all cores, and a core assigns
//! hardware ASIDs without a remote call.

use core::mem::offset_of;
use core::ops::Range;

use kernel::arch::PhysAddr;
use kernel::cap::RawCap;
use kernel::sched::CORES;

use super::asid::{Asid, HardwareAsid, POOL_SIZE, POOLS};
use super::table::{Directory, Entries};
use super::{Aarch32, Words32, descriptor};
use crate::cap::Format;
use crate::spaces::{AddressSpaces, Remote};

/// An entry of a pool: the address of a directory, with the hardware ASID in its low bits, which are zero
/// in the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
struct PoolEntry(u32);

impl PoolEntry {
    const EMPTY: Self = Self(0);
    /// Bits 7 to 0 hold a hardware ASID.
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
    /// The address space to which each hardware ASID is assigned.
    owners: [Option<Asid>; HardwareAsid::COUNT],
    /// The hardware ASID that is assigned next.
    #[cfg(not(feature = "smp"))]
    next: HardwareAsid,
    /// The kernel's own directory, which has no user mappings.
    kernel: Directory<A>,
    /// The TTBR0 value for that directory.
    kernel_walk: usize,
    /// The directory and hardware ASID that are loaded.
    current: Walk,
    /// The ASID generation: it increases whenever an address space loses its identifier or hardware ASID, and
    /// older results of lookups become invalid. It does not wrap but saturates, and results are never reused
    /// from then on. Values of different cores differ, so that a result is valid on one core only.
    generation: u32,
}

/// The translation registers of an address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct Walk {
    /// The TTBR0 value: the address of the directory, and the attributes of table walks.
    base: usize,
    /// The hardware ASID.
    hardware: usize,
}

/// The result of looking up a thread's address space when it ran last, which saves repeated lookups.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub struct KnownSpace {
    /// The first word of its capability. Threads get only capabilities to spaces that have identifiers, so
    /// this word identifies the space.
    space: usize,
    /// The ASID generation at that time.
    generation: u32,
    walk: Walk,
}

impl KnownSpace {
    /// No result: no capability has this word.
    pub const NONE: Self = Self {
        space: usize::MAX,
        generation: 0,
        walk: Walk {
            base: 0,
            hardware: 0,
        },
    };
}

/// Offsets for fast paths in assembly.
impl KnownSpace {
    /// Offset of the capability's word, which the ASID generation follows.
    pub const SPACE: usize = offset_of!(Self, space);
    /// Offset of the translation registers.
    pub const WALK: usize = offset_of!(Self, walk);
}

/// Offsets for fast paths in assembly.
impl<A: Aarch32> Spaces<A> {
    /// Offset of the current TTBR0 value, which the hardware ASID follows.
    pub const CURRENT: usize = offset_of!(Self, current);
    /// Offset of the ASID generation.
    pub const GENERATION: usize = offset_of!(Self, generation);
    /// Offset of the TTBR0 value for the kernel's own directory.
    pub const KERNEL_WALK: usize = offset_of!(Self, kernel_walk);
}

impl<A: Aarch32> Spaces<A> {
    /// No address space but the kernel's own, which is current.
    pub fn new(kernel: Directory<A>, core: usize) -> Self {
        Self {
            pools: [None; POOLS],
            owners: [None; HardwareAsid::COUNT],
            #[cfg(not(feature = "smp"))]
            next: HardwareAsid(1),
            kernel_walk: A::table_base(kernel.address()),
            kernel,
            current: Walk {
                base: 0,
                hardware: 0,
            },
            generation: core as u32,
        }
    }

    /// Begins another ASID generation: the results of lookups in earlier ones are invalid.
    fn advance_generation(&mut self) {
        self.generation = self.generation.saturating_add(CORES as u32);
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

    /// The directory of an address space; none if it or its pool is gone.
    pub fn directory(&self, asid: Asid) -> Option<Directory<A>> {
        // SAFETY: entries are removed before the memory of a directory is reused.
        self.entry(asid)
            .directory()
            .map(|address| unsafe { Directory::at(address) })
    }

    // ---- the current address space

    /// The current address space; none for the kernel's own.
    fn current(&self) -> Option<(Asid, PhysAddr)> {
        let owner = self.owners[self.current.hardware]?;
        let directory = self.current.base & PoolEntry::ADDRESS as usize;
        Some((owner, PhysAddr(directory)))
    }

    /// Switches to the address space of a capability if it still has its identifier, or else to the kernel's
    /// own, which has no user mappings. Returns the result of the lookup.
    ///
    /// The current address space exists: `leave_space` and `remove_pool` switch away from it first.
    #[inline(always)]
    pub fn switch(&mut self, cap: RawCap, known: KnownSpace) -> KnownSpace {
        if known.space == cap.first_word() && known.generation == self.generation {
            self.walk(known.walk);
            return known;
        }
        match Words32::decode_space(cap) {
            Some((asid, directory)) if self.entry(asid).directory() == Some(directory) => {
                self.switch_to(cap, asid, directory)
            }
            _ => {
                self.leave();
                KnownSpace::NONE
            }
        }
    }

    fn switch_to(&mut self, cap: RawCap, asid: Asid, directory: PhysAddr) -> KnownSpace {
        let walk = Walk {
            base: A::table_base(directory),
            hardware: self.hardware_asid(asid).0.into(),
        };
        self.walk(walk);
        if self.generation == u32::MAX {
            return KnownSpace::NONE;
        }
        KnownSpace {
            space: cap.first_word(),
            generation: self.generation,
            walk,
        }
    }

    #[inline(always)]
    fn walk(&mut self, walk: Walk) {
        if self.current != walk {
            self.current = walk;
            A::install(
                walk.base,
                HardwareAsid(walk.hardware as u8),
                self.kernel_walk,
            );
        }
    }

    /// Switches to the kernel's own address space.
    fn leave(&mut self) {
        self.walk(Walk {
            base: self.kernel_walk,
            hardware: HardwareAsid::KERNEL.0.into(),
        });
    }

    // ---- hardware identifiers

    /// The hardware ASID of an address space. Invalidates the TLB entries of another one that had it before.
    #[cfg(feature = "smp")]
    fn hardware_asid(&mut self, asid: Asid) -> HardwareAsid {
        let hardware = HardwareAsid::of(asid);
        match self.owners[usize::from(hardware.0)] {
            Some(owner) if owner == asid => {}
            owner => {
                // The TLB could be refilled while the space is loaded: switch away before the invalidation.
                if owner.is_some() && self.current().is_some_and(|it| Some(it.0) == owner) {
                    self.leave();
                }
                self.owners[usize::from(hardware.0)] = Some(asid);
                self.advance_generation();
                A::invalidate_space_locally(hardware);
            }
        }
        hardware
    }

    /// The hardware ASID of an address space; assigns one if it has none.
    #[cfg(not(feature = "smp"))]
    fn hardware_asid(&mut self, asid: Asid) -> HardwareAsid {
        let entry = self.entry(asid);
        if let Some(known) = entry.hardware() {
            return known;
        }
        let hardware = self.next_hardware_asid();
        if let Some(previous) = self.owners[usize::from(hardware.0)].replace(asid) {
            let entry = self.entry(previous);
            // Its pool may be gone, or another space may have its number by now.
            if let Some(directory) = entry.directory()
                && entry.hardware() == Some(hardware)
            {
                self.set_entry(previous, PoolEntry::new(directory, None));
            }
            self.advance_generation();
            A::invalidate_space(hardware);
        }
        if let Some(directory) = entry.directory() {
            self.set_entry(asid, PoolEntry::new(directory, Some(hardware)));
        }
        hardware
    }

    /// The next hardware ASID, round robin, except that of the current address space: while that is loaded, the
    /// TLB can be refilled after an invalidation.
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

    /// The hardware ASID with which the TLB may hold entries of an address space.
    #[cfg(not(feature = "smp"))]
    fn known(&self, asid: Asid) -> Option<HardwareAsid> {
        self.entry(asid).hardware()
    }

    /// The hardware ASID with which the TLB of some core may hold entries of an address space.
    #[cfg(feature = "smp")]
    #[expect(clippy::unused_self, reason = "same signature as on one core")]
    fn known(&self, asid: Asid) -> Option<HardwareAsid> {
        Some(HardwareAsid::of(asid))
    }

    /// Invalidates the TLB entries of the page at `address`.
    pub(super) fn invalidate_page(&self, asid: Asid, address: usize) {
        if let Some(hardware) = self.known(asid) {
            A::invalidate_page(hardware, address);
        }
    }

    /// Invalidates all TLB entries of an address space.
    pub(super) fn invalidate_space(&self, asid: Asid) {
        if let Some(hardware) = self.known(asid) {
            A::invalidate_space(hardware);
        }
    }

    /// Whether the current address space has an identifier of a pool.
    fn is_in_pool(&self, pool: usize) -> bool {
        self.current().is_some_and(|(asid, _)| asid.pool() == pool)
    }
}

impl<A: Aarch32> AddressSpaces<Words32> for Spaces<A> {
    const POOL_SIZE: usize = POOL_SIZE;

    fn root_address(&self, asid: Asid) -> Option<PhysAddr> {
        self.entry(asid).directory()
    }

    fn inside(&mut self, asid: Asid, action: impl FnOnce()) {
        let previous = self.current();
        if let Some(directory) = self.entry(asid).directory() {
            self.switch_to(RawCap::NULL, asid, directory);
        }
        action();
        match previous {
            Some((asid, directory)) => {
                self.switch_to(RawCap::NULL, asid, directory);
            }
            None => self.leave(),
        }
    }

    fn free_pool(&self) -> Option<usize> {
        self.pools.iter().position(Option::is_none)
    }

    fn has_pool(&self, pool: usize, address: PhysAddr) -> Option<bool> {
        self.pools[pool].map(|installed| installed.address() == address)
    }

    fn add_pool(&mut self, pool: usize, address: PhysAddr) {
        // SAFETY: the memory was retyped for the pool, which is removed before the memory is reused.
        self.pools[pool] = Some(unsafe { Pool::at(address) });
    }

    /// Removes an existing pool with all its address spaces. On one core their hardware ASIDs stay assigned,
    /// so that their TLB entries are invalidated when the ASIDs are assigned again. On several cores an
    /// address space with the same identifier would find its ASID still assigned to it, so assignments are
    /// removed.
    fn remove_pool(&mut self, pool: usize) {
        if self.is_in_pool(pool) {
            self.leave();
        }
        self.pools[pool] = None;
        self.advance_generation();
        #[cfg(feature = "smp")]
        for owner in &mut self.owners {
            if owner.is_some_and(|asid| asid.pool() == pool) {
                *owner = None;
            }
        }
    }

    fn concerns(&self, remote: Remote<Words32>) -> bool {
        match remote {
            Remote::LeaveSpace(asid, root) => self.current() == Some((asid, root)),
            Remote::LeavePool(pool) => self.is_in_pool(pool),
        }
    }

    fn perform(&mut self, remote: Remote<Words32>) {
        if self.concerns(remote) {
            self.leave();
        }
    }

    fn free_asid(&self, pool: usize, mut indices: Range<usize>) -> Option<Asid> {
        indices
            .by_ref()
            .filter_map(|index| Asid::new(pool, index))
            .find(|&asid| self.entry(asid) == PoolEntry::EMPTY)
    }

    fn assign(&mut self, asid: Asid, root: PhysAddr) {
        // SAFETY: the capability refers to a directory; `release` removes it from the pool.
        let directory = unsafe { Directory::at(root) };
        let kernel = self.kernel;
        let first = super::USER_TOP >> descriptor::SECTION_BITS;
        directory.copy(kernel, first..descriptor::DIRECTORY_ENTRIES);
        self.set_entry(asid, PoolEntry::new(directory.address(), None));
    }

    fn leave_space(&mut self, asid: Asid, directory: PhysAddr) {
        if self.current() == Some((asid, directory)) {
            self.leave();
        }
        self.advance_generation();
        #[cfg(feature = "smp")]
        {
            let owner = &mut self.owners[usize::from(HardwareAsid::of(asid).0)];
            if *owner == Some(asid) {
                *owner = None;
            }
        }
    }

    fn release(&mut self, asid: Asid) {
        if let Some(hardware) = self.known(asid) {
            A::invalidate_space(hardware);
            #[cfg(not(feature = "smp"))]
            {
                self.owners[usize::from(hardware.0)] = None;
            }
        }
        self.set_entry(asid, PoolEntry::EMPTY);
    }
}

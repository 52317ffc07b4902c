//! Allocation of slots and of objects from untyped memory.
//!
//! The bookkeeping ([`SlotMap`], [`Pool`]) does not invoke the kernel and runs on the host; [`Allocator`]
//! connects it to kernel objects.

mod arena;
mod cspace;
mod pool;
mod slots;

pub use arena::{Arena, ArenaAllocator, cnode_bytes};
pub use pool::{Choice, Pool, Region, arena_bytes};
pub use slots::{FEW_SLOTS, MANY_SLOTS, SlotMap};

use crate::cap::{
    CNode, CPtr, Capability, FixedObject, Frame, FrameSize, Frames, Object, Slot, Untyped,
};
use crate::{Error, Result};
use abi::sizes::PAGE_BITS;
use abi::{BootInfo, RETYPE_LIMIT, Rights};
use cspace::CSpace;

/// The regions that an allocator of all memory can hold: as many as the kernel may describe, plus those that
/// device memory is split into.
pub const ALL_REGIONS: usize = abi::MAX_BOOT_UNTYPEDS + 90;

/// Creates objects from untyped memory, in free slots of the caller's own CNode: the first 4096, or a million with
/// `SLOT_WORDS` [`MANY_SLOTS`], which take 230 KB. Arenas can have CNodes of their own
/// ([`extend_cspace`](Self::extend_cspace)).
pub struct Allocator<const REGIONS: usize = ALL_REGIONS, const SLOT_WORDS: usize = FEW_SLOTS> {
    space: CSpace<SLOT_WORDS>,
    /// The free places for CNodes, if the CSpace has two levels.
    cnodes: SlotMap<1>,
    pool: Pool<REGIONS>,
}

impl Allocator {
    /// An allocator of all memory and all empty slots of the initial thread.
    pub fn from_boot_info(boot: &BootInfo) -> Self {
        Self::of_all(boot)
    }
}

impl<const SLOT_WORDS: usize> Allocator<ALL_REGIONS, SLOT_WORDS> {
    /// The same with a chosen number of slots.
    pub fn of_all(boot: &BootInfo) -> Self {
        let mut allocator = Self::new(crate::boot::CNODE, boot.empty.start..boot.empty.end);
        for (index, slot) in (boot.untyped.start..boot.untyped.end).enumerate() {
            let Some(descriptor) = boot.untyped_list.get(index) else {
                break;
            };
            let untyped = Untyped(CPtr(slot));
            if descriptor.is_device != 0 {
                let bits = descriptor.size_bits as usize;
                allocator.pool.add_device(untyped, descriptor.address, bits);
            } else {
                allocator.pool.add(untyped, descriptor.size_bits as usize);
            }
        }
        allocator
    }
}

impl<const REGIONS: usize, const SLOT_WORDS: usize> Allocator<REGIONS, SLOT_WORDS> {
    /// An allocator without memory, over free slots of `cnode`, the root of the caller's CSpace.
    pub fn new(cnode: CNode, slots: core::ops::Range<usize>) -> Self {
        Self {
            space: CSpace::new(cnode, slots),
            cnodes: SlotMap::new(0..0),
            pool: Pool::new(),
        }
    }

    /// Adds memory.
    pub fn add_untyped(&mut self, untyped: Untyped, size_bits: usize) {
        self.pool.add(untyped, size_bits);
    }

    /// The root of the caller's CSpace.
    pub fn cnode(&self) -> CNode {
        self.space.root
    }

    /// The slot with a given address.
    pub fn slot(&self, address: impl Capability) -> Slot {
        self.cnode().slot(address.cptr())
    }

    /// Allocates a slot; [`free_slot`](Self::free_slot) frees it.
    pub fn allocate_slot(&mut self) -> Result<Slot> {
        let index = self.space.allocate(1)?;
        Ok(self.cnode().slot(CPtr(index)))
    }

    /// Frees a slot, which must be empty.
    pub fn free_slot(&mut self, slot: Slot) {
        self.space.free(slot.index);
    }

    /// Creates an object of a type with a fixed size.
    pub fn create<T: FixedObject>(&mut self) -> Result<T> {
        self.create_sized(0)
    }

    /// Creates an object with a size argument.
    pub fn create_sized<T: Object>(&mut self, size_argument: usize) -> Result<T> {
        let bits = T::size_bits(size_argument);
        self.create_any(T::TYPE, size_argument, bits).map(T::at)
    }

    /// Creates a CNode of 2^`radix` slots, without a guard.
    pub fn create_cnode(&mut self, radix: usize) -> Result<CNode> {
        self.create_sized(radix)
    }

    /// Creates a frame.
    pub fn create_frame(&mut self, size: FrameSize) -> Result<Frame> {
        self.create_any(size.object_type(), 0, size.bits())
            .map(Frame)
    }

    /// Creates any object, which takes 2^`bits` bytes.
    pub fn create_any(
        &mut self,
        object: abi::ObjectType,
        size_argument: usize,
        bits: usize,
    ) -> Result<CPtr> {
        let choice = self.pool.choose(bits).ok_or(Error::OutOfResources)?;
        let slot = self.space.create(choice.untyped, object, size_argument)?;
        self.pool.take(choice);
        Ok(CPtr(slot))
    }

    /// Creates frames of the smallest size in consecutive slots.
    ///
    /// # Errors
    /// If memory or slots are missing; some of the frames may be there then.
    pub fn create_frames(&mut self, count: usize) -> Result<Frames> {
        let first = self.space.allocate(count)?;
        let mut done = 0;
        while done < count {
            let next = self
                .pool
                .choose_some(PAGE_BITS, RETYPE_LIMIT.min(count - done));
            let (choice, some) = next.ok_or(Error::OutOfResources)?;
            let slot = first + done;
            self.space
                .retype(choice.untyped, Frame::TYPE, 0, slot, some)?;
            self.pool.take(choice);
            done += some;
        }
        Ok(Frames::at(CPtr(first), count))
    }

    /// Creates an object that takes all of `memory`, in a slot that is free for it.
    pub fn make<T: Object>(&self, memory: Untyped, size_argument: usize, slot: Slot) -> Result {
        self.space
            .retype(memory, T::TYPE, size_argument, slot.index, 1)
    }

    /// Creates a frame of the smallest size that covers a device's registers at a physical address.
    ///
    /// Device memory comes in large regions; the region in question is halved until the page is left, and the
    /// other halves are kept for other devices.
    pub fn create_device_frame(&mut self, physical_address: usize) -> Result<Frame> {
        let page = FrameSize::SMALLEST;
        loop {
            let Some((untyped, bits)) = self.pool.take_device(physical_address, page.bits()) else {
                return Err(Error::OutOfResources);
            };
            let base = physical_address & !((1 << bits) - 1);
            if bits == page.bits() {
                let slot = self.space.create(untyped, page.object_type(), 0)?;
                self.forget(untyped)?;
                return Ok(Frame(CPtr(slot)));
            }
            for half in 0..2 {
                let slot = self
                    .space
                    .create(untyped, abi::ObjectType::Untyped, bits - 1)?;
                let address = base + (half << (bits - 1));
                self.pool.add_device(Untyped(CPtr(slot)), address, bits - 1);
            }
            self.forget(untyped)?;
        }
    }

    /// Deletes the capability to memory of which nothing is left, if this allocator has split it off.
    fn forget(&mut self, untyped: Untyped) -> Result {
        match self.space.slots.contains(untyped.0.0) {
            true => self.delete(untyped),
            false => Ok(()),
        }
    }

    /// Deletes the capabilities to all memory that is left: nothing more can be created.
    pub fn give_up(&mut self) -> Result {
        while let Some((untyped, _)) = self.pool.take_any() {
            self.slot(untyped).delete()?;
        }
        Ok(())
    }

    /// Copies a capability into a free slot.
    pub fn copy<T: Capability>(&mut self, capability: T, rights: Rights) -> Result<T> {
        self.derive(capability, |slot, source| slot.copy_from(source, rights))
    }

    /// Copies a capability into a free slot, with a badge.
    pub fn mint<T: Capability>(
        &mut self,
        capability: T,
        rights: Rights,
        badge: usize,
    ) -> Result<T> {
        self.derive(capability, |slot, source| {
            slot.mint_from(source, rights, badge)
        })
    }

    fn derive<T: Capability>(
        &mut self,
        capability: T,
        operation: impl FnOnce(Slot, Slot) -> Result,
    ) -> Result<T> {
        let source = self.slot(capability);
        let slot = self.allocate_slot()?;
        match operation(slot, source) {
            Ok(()) => Ok(T::at(CPtr(slot.index))),
            Err(error) => {
                self.free_slot(slot);
                Err(error)
            }
        }
    }

    /// Deletes a capability and frees its slot. The object's memory is reused only when its whole region is.
    pub fn delete(&mut self, capability: impl Capability) -> Result {
        let slot = self.slot(capability);
        slot.delete()?;
        self.free_slot(slot);
        Ok(())
    }
}

//! Allocation of what a parent deals in: slots and untyped memory.
//!
//! The bookkeeping ([`SlotMap`], [`Pool`]) is plain data and runs on the host; [`Allocator`] joins it
//! to the kernel's objects.

mod pool;
mod slots;

pub use pool::{Choice, Pool, Region};
pub use slots::SlotMap;

use crate::cap::{CNode, CPtr, Capability, FixedObject, Frame, FrameSize, Object, Slot, Untyped};
use crate::{Error, Result};
use abi::{BootInfo, Rights};

/// The regions that an allocator of all memory knows: what the kernel may describe, and what device
/// memory is cut into.
pub const ALL_REGIONS: usize = abi::MAX_BOOT_UNTYPEDS + 90;

/// Makes objects from untyped memory, in free slots of the caller's own CNode.
pub struct Allocator<const REGIONS: usize = ALL_REGIONS> {
    cnode: CNode,
    slots: SlotMap,
    pool: Pool<REGIONS>,
}

impl Allocator {
    /// All memory and all empty slots of the initial thread.
    pub fn from_boot_info(boot: &BootInfo) -> Self {
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

impl<const REGIONS: usize> Allocator<REGIONS> {
    /// An allocator without memory, over free slots of `cnode`, the root of the caller's CSpace.
    pub fn new(cnode: CNode, slots: core::ops::Range<usize>) -> Self {
        Self {
            cnode,
            slots: SlotMap::new(slots),
            pool: Pool::new(),
        }
    }

    /// Adds memory.
    pub fn add_untyped(&mut self, untyped: Untyped, size_bits: usize) {
        self.pool.add(untyped, size_bits);
    }

    /// The root of the caller's CSpace.
    pub fn cnode(&self) -> CNode {
        self.cnode
    }

    /// The slot with a given address.
    pub fn slot(&self, address: impl Capability) -> Slot {
        self.cnode.slot(address.cptr())
    }

    /// A slot that is free until [`free_slot`](Self::free_slot).
    pub fn allocate_slot(&mut self) -> Result<Slot> {
        let index = self.slots.allocate(1).ok_or(Error::OutOfResources)?;
        Ok(self.cnode.slot(CPtr(index)))
    }

    /// Gives back a slot, which must be empty.
    pub fn free_slot(&mut self, slot: Slot) {
        self.slots.free(slot.index, 1);
    }

    /// Makes an object of a type that has one size.
    pub fn create<T: FixedObject>(&mut self) -> Result<T> {
        self.create_sized(0)
    }

    /// Makes an object with a size argument.
    pub fn create_sized<T: Object>(&mut self, size_argument: usize) -> Result<T> {
        let bits = T::size_bits(size_argument);
        self.create_any(T::TYPE, size_argument, bits).map(T::at)
    }

    /// Makes a CNode of 2^`radix` slots, without a guard.
    pub fn create_cnode(&mut self, radix: usize) -> Result<CNode> {
        self.create_sized(radix)
    }

    /// Makes a frame.
    pub fn create_frame(&mut self, size: FrameSize) -> Result<Frame> {
        self.create_any(size.object_type(), 0, size.bits())
            .map(Frame)
    }

    /// Makes any object, which takes 2^`bits` bytes.
    pub fn create_any(
        &mut self,
        object: abi::ObjectType,
        size_argument: usize,
        bits: usize,
    ) -> Result<CPtr> {
        let slot = self.allocate_slot()?;
        let result = match self.pool.choose(bits) {
            Some(choice) => self
                .retype(choice.untyped, object, size_argument, slot)
                .map(|()| {
                    self.pool.take(choice);
                }),
            None => Err(Error::OutOfResources),
        };
        match result {
            Ok(()) => Ok(CPtr(slot.index)),
            Err(error) => {
                self.free_slot(slot);
                Err(error)
            }
        }
    }

    fn retype(
        &self,
        untyped: Untyped,
        object: abi::ObjectType,
        size_argument: usize,
        slot: Slot,
    ) -> Result {
        let destination = crate::cap::SlotRange {
            root: self.cnode,
            index: 0,
            depth: 0,
            offset: slot.index,
        };
        untyped.retype(object, size_argument, destination, 1)
    }

    /// Makes the frame of the smallest size that covers a device's registers at a physical address.
    ///
    /// Device memory comes in large pieces; the one in question is halved until the page is left, and
    /// the other halves stay for other devices.
    pub fn create_device_frame(&mut self, physical_address: usize) -> Result<Frame> {
        let page = FrameSize::SMALLEST;
        loop {
            let Some((untyped, bits)) = self.pool.take_device(physical_address, page.bits()) else {
                return Err(Error::OutOfResources);
            };
            let base = physical_address & !((1 << bits) - 1);
            if bits == page.bits() {
                let slot = self.allocate_slot()?;
                self.retype(untyped, page.object_type(), 0, slot)?;
                return Ok(Frame(CPtr(slot.index)));
            }
            for half in 0..2 {
                let slot = self.allocate_slot()?;
                self.retype(untyped, abi::ObjectType::Untyped, bits - 1, slot)?;
                let address = base + (half << (bits - 1));
                self.pool
                    .add_device(Untyped(CPtr(slot.index)), address, bits - 1);
            }
        }
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

    /// Deletes a capability and frees its slot. The object's memory comes back with the whole region.
    pub fn delete(&mut self, capability: impl Capability) -> Result {
        let slot = self.slot(capability);
        slot.delete()?;
        self.free_slot(slot);
        Ok(())
    }

    /// Splits off an allocator of its own: 2^`size_bits` bytes and `slots` slots.
    pub fn split(&mut self, size_bits: usize, slots: usize) -> Result<Arena> {
        let untyped: Untyped = match self.pool.reuse(size_bits) {
            Some(untyped) => untyped,
            None => self.create_sized(size_bits)?,
        };
        let Some(first) = self.slots.allocate(slots) else {
            self.pool.keep(untyped, size_bits);
            return Err(Error::OutOfResources);
        };
        let mut allocator = Allocator::new(self.cnode, first..first + slots);
        allocator.pool.add(untyped, size_bits);
        Ok(Arena {
            untyped,
            size_bits,
            slots: first..first + slots,
            allocator,
        })
    }

    /// Takes an arena back: everything that was made in it is deleted.
    pub fn reclaim(&mut self, arena: Arena) -> Result {
        self.slot(arena.untyped).revoke()?;
        // Copies of what is not made from the arena are still there.
        for slot in arena.slots.clone() {
            if !arena.allocator.slots.is_free(slot) {
                self.slot(CPtr(slot)).delete()?;
            }
        }
        self.slots.free(arena.slots.start, arena.slots.len());
        self.pool.keep(arena.untyped, arena.size_bits);
        Ok(())
    }
}

/// A part of an allocator that can be taken back as a whole: its memory is one untyped, and its slots
/// lie side by side.
pub struct Arena {
    untyped: Untyped,
    size_bits: usize,
    slots: core::ops::Range<usize>,
    /// Makes objects from the arena.
    pub allocator: Allocator<1>,
}

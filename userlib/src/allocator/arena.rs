//! Arenas: parts of an allocator that can be taken back as a whole.

use super::{Allocator, Pool, SlotMap};
use crate::cap::{CNode, CPtr, Capability, Object, Tcb, Untyped, VSpace};
use crate::{Error, Result};
use abi::sizes::SLOT_BITS;
use abi::{GuardData, ObjectType, Rights, WORD_BITS};
use core::ops::Range;

/// log2 of the number of CNodes in a CSpace of two levels.
const CNODE_BITS: usize = 6;

/// The most untypeds of an arena. One of nearly all memory that many small ones have left seldom takes more; they are on the
/// stacks of programs that make arenas.
pub(super) const PIECES: usize = 20;

/// Creates objects in an arena.
pub type ArenaAllocator = Allocator<PIECES>;

/// A part of an allocator that can be taken back as a whole: it has some untypeds, and contiguous slots.
pub struct Arena {
    slots: Range<usize>,
    /// Creates objects in the arena.
    pub allocator: ArenaAllocator,
}

impl<const REGIONS: usize, const SLOT_WORDS: usize> Allocator<REGIONS, SLOT_WORDS> {
    /// Makes the CSpace of the caller, the thread `tcb` in `vspace`, one of two levels: its CNode of 2^`radix` slots, in
    /// which addresses stay the same, and one for each arena that is split off later. So as many slots can be used as
    /// there is memory for. The thread has no handler of faults afterwards.
    ///
    /// # Errors
    /// If memory or slots are missing.
    pub fn extend_cspace(&mut self, tcb: Tcb, vspace: VSpace, radix: usize) -> Result {
        let root = self.create_cnode(CNODE_BITS)?;
        let first = root.slot_of_table(0, CNODE_BITS);
        first.mint_from(self.slot(self.cnode()), Rights::ALL, guard(radix))?;
        tcb.set_space(CPtr::NULL, root, 0, vspace)?;
        let own = root.slot(self.cnode().cptr());
        own.delete()?;
        own.copy_from(root.slot(root.cptr()), Rights::ALL)?;
        self.space.depth = CNODE_BITS;
        self.cnodes = SlotMap::new(1..1 << CNODE_BITS);
        self.delete(root)
    }

    /// Splits off an arena of 2^`size_bits` bytes and `slots` slots, with an allocator of its own.
    pub fn split(&mut self, size_bits: usize, slots: usize) -> Result<Arena> {
        self.split_bytes(1 << size_bits, slots)
    }

    /// The same with any size in bytes. The arena has several untypeds then, and no object is larger than one of them.
    pub fn split_bytes(&mut self, bytes: usize, slots: usize) -> Result<Arena> {
        let mut pool = Pool::new();
        match self.split_into(&mut pool, bytes, slots) {
            Ok(slots) => {
                let mut allocator = ArenaAllocator::new(self.cnode(), slots.clone());
                allocator.space.depth = self.space.depth;
                allocator.space.rest = allocator.space.slots.range().end..slots.end;
                allocator.pool = pool;
                Ok(Arena { slots, allocator })
            }
            Err(error) => {
                // There is no object in it yet.
                while let Some((untyped, bits)) = pool.take_any() {
                    self.pool.add(untyped, bits);
                }
                Err(error)
            }
        }
    }

    fn split_into(
        &mut self,
        pool: &mut Pool<PIECES>,
        bytes: usize,
        slots: usize,
    ) -> Result<Range<usize>> {
        let (radix, has_cnode) = (radix(slots), self.space.depth > 0);
        let space = &mut self.space;
        let mut make = |from, bits| {
            let slot = space.create(from, ObjectType::Untyped, bits);
            slot.map(|slot| Untyped(CPtr(slot)))
        };
        // The CNode first: the other memory need not be contiguous.
        let memory = match has_cnode {
            true => Some(self.pool.cut_one(radix + SLOT_BITS, pool, &mut make)?),
            false => None,
        };
        self.pool.cut_pieces(bytes, pool, make)?;
        let Some(memory) = memory else {
            let first = self.space.slots.allocate(slots);
            let first = first.ok_or(Error::OutOfResources)?;
            return Ok(first..first + slots);
        };
        let cnode = self.cnodes.allocate(1).ok_or(Error::OutOfResources)?;
        let made = self.make_cnode(memory, cnode, radix);
        if made.is_err() {
            self.cnodes.free(cnode, 1);
        }
        made.map(|()| self.space.slots_of(cnode, radix))
    }

    /// Makes a CNode of the second level of `memory`.
    fn make_cnode(&mut self, memory: Untyped, cnode: usize, radix: usize) -> Result {
        let slot = self.space.create(memory, CNode::TYPE, radix)?;
        let slot = self.cnode().slot(CPtr(slot));
        let place = self.cnode().slot_of_table(cnode, CNODE_BITS);
        place.mutate_from(slot, guard(radix))?;
        self.free_slot(slot);
        Ok(())
    }

    /// Takes an arena back and deletes all objects in it.
    pub fn reclaim(&mut self, mut arena: Arena) -> Result {
        // A CNode of its own is deleted by this, too.
        while let Some((untyped, bits)) = arena.allocator.pool.take_any() {
            self.slot(untyped).revoke()?;
            self.pool.keep(untyped, bits);
        }
        let cnode = self.space.cnode_of(arena.slots.start);
        if cnode > 0 {
            self.cnodes.free(cnode, 1);
            return Ok(());
        }
        // The revocation leaves copies of capabilities to objects outside the arena.
        for slot in arena.slots.clone() {
            if !arena.allocator.space.slots.is_free(slot) {
                self.slot(CPtr(slot)).delete()?;
            }
        }
        self.space.slots.free(arena.slots.start, arena.slots.len());
        Ok(())
    }

    /// Gives up the right to take an arena back, and what is left of its memory. Its objects stay.
    pub fn give_up_arena(&mut self, mut arena: Arena) -> Result {
        while let Some((untyped, _)) = arena.allocator.pool.take_any() {
            self.delete(untyped)?;
        }
        Ok(())
    }
}

/// log2 of the number of slots in the CNode of an arena.
const fn radix(slots: usize) -> usize {
    match slots {
        0..2 => 1,
        _ => slots.next_power_of_two().ilog2() as usize,
    }
}

/// The memory that the CNode of an arena with so many slots takes.
pub const fn cnode_bytes(slots: usize) -> usize {
    1 << (radix(slots) + SLOT_BITS)
}

/// The guard of a CNode of the second level with 2^`radix` slots: addresses end with the slot.
const fn guard(radix: usize) -> usize {
    let guard = GuardData {
        guard: 0,
        size: WORD_BITS - CNODE_BITS - radix,
    };
    guard.word()
}

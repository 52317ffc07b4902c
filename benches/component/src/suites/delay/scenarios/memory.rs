//! Creation of objects and mappings, and their deletion.

use crate::bench::Bench;
use crate::suites::delay::attackers::Attackers;
use userlib::abi::ObjectType;
use userlib::cap::{Attributes, Frame, FrameSize, PageTable, SlotRange, Table, Untyped, VSpace};
use userlib::environment::PAGE;
use userlib::{Result, Rights};

/// Clears a used mebibyte, and creates `count` objects in it with one invocation.
pub fn retype(bench: &mut Bench, count: usize) -> Result {
    let mut arena = bench.allocator.split(21, 4)?;
    let memory: Untyped = arena.allocator.create_sized(20)?;
    let table = arena.allocator.create_cnode(8)?;
    let range = SlotRange {
        root: table,
        index: 0,
        depth: 0,
        offset: 0,
    };
    let slot = bench.allocator.slot(memory);
    memory.retype(ObjectType::Untyped, 20, range, 1)?;
    slot.revoke()?;
    memory.retype(ObjectType::Tcb, 0, range, count)?;
    slot.revoke()?;
    bench.allocator.reclaim(arena)
}

/// The address of the mappings of [`page_tables`], and the span of a page table, which is also the size of a
/// large frame.
const FIRST: usize = 0x1000_0000;
const TABLE: usize = if cfg!(target_arch = "arm") {
    1 << 20
} else {
    1 << 21
};

/// Unmaps and maps a page table `count` times; then deletes an address space with `count` page tables, each
/// with a page.
pub fn page_tables(bench: &mut Bench, count: usize) -> Result {
    let mut attackers = Attackers::new(bench, count)?;
    let allocator = &mut attackers.arena.allocator;
    let space: VSpace = allocator.create()?;
    bench.asid_pool.assign(space)?;
    let frame: Frame = allocator.create()?;
    for index in 0..count {
        let frame = allocator.copy(frame, Rights::ALL)?;
        let address = FIRST + index * TABLE;
        space.map(
            allocator,
            frame,
            address,
            Rights::READ_WRITE,
            Attributes::NO_EXECUTE,
        )?;
    }
    let kind = Table::missing(TABLE.trailing_zeros() as usize).unwrap_or(Table::PageTable);
    let table = PageTable(allocator.create_any(kind.object_type(), 0, kind.size_bits())?);
    for _ in 0..count {
        table.map(kind, space, FIRST - TABLE, Attributes::NO_EXECUTE)?;
        table.unmap(kind)?;
    }
    bench.allocator.slot(space).delete()?;
    attackers.delete(bench)
}

/// The most address spaces for which there is memory, and identifiers in one pool.
pub const MAX_SPACES: usize = 448;

/// Assigns identifiers to `count` address spaces.
pub fn address_spaces(bench: &mut Bench, count: usize) -> Result {
    let mut arena = bench.allocator.split(23, count + 1)?;
    for _ in 0..count {
        let space: VSpace = arena.allocator.create()?;
        bench.asid_pool.assign(space)?;
    }
    bench.allocator.reclaim(arena)
}

/// log2 of the size of a large frame (one or two mebibytes), and its number of pages.
const LARGE_BITS: usize = TABLE.trailing_zeros() as usize;
pub const MAX_PAGES: usize = TABLE / PAGE;

/// Creates and maps a large frame, cleans `count` of its pages from the caches, and deletes it.
pub fn large_frames(bench: &mut Bench, count: usize) -> Result {
    let size = FrameSize::ALL.iter().find(|size| size.bits() == LARGE_BITS);
    let mut arena = bench.allocator.split(LARGE_BITS + 1, 4)?;
    let frame = arena
        .allocator
        .create_frame(*size.unwrap_or(&FrameSize::SMALLEST))?;
    let address = bench.reserve(2 * MAX_PAGES).next_multiple_of(TABLE);
    bench.map_at(frame, address)?;
    clean(frame, count * PAGE)?;
    bench.allocator.reclaim(arena)
}

#[cfg(not(target_arch = "x86_64"))]
fn clean(frame: Frame, bytes: usize) -> Result {
    use userlib::cap::CacheOperation;
    frame.cache(CacheOperation::CleanData, 0, bytes)?;
    frame.cache(CacheOperation::InvalidateData, 0, bytes)?;
    frame.cache(CacheOperation::CleanInvalidateData, 0, bytes)?;
    frame.cache(CacheOperation::UnifyInstruction, 0, bytes)
}

/// This architecture needs no cache maintenance.
#[cfg(target_arch = "x86_64")]
fn clean(_: Frame, _: usize) -> Result {
    Ok(())
}

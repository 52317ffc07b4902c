//! The initial address space.

use core::ops::Range;

use abi::Rights;
use abi::sizes::ASID_POOL_BITS;
use kernel::ExclusiveKernel;
use kernel::arch::{BootSpace, PhysAddr};
use kernel::boot::BootAllocator;
use kernel::sched::Scheduler;
use kernel::token::Objects;

use super::{Asid, frame};
use crate::cap::{Cap, FrameCap, Mapping, PoolCap, RootCap, TableCap};
use crate::paging::{Entry, Level, PageTable, find, window};
use crate::{Platform, X86_64};

const TABLE_BITS: usize = 12;

/// Builds the root and every paging structure that `range` needs, level by level from the top.
///
/// # Panics
/// If the allocator does, which can happen only at boot.
#[cfg_attr(target_os = "none", optimize(size))]
pub fn boot_space<P: Platform>(
    kernel: &mut ExclusiveKernel<X86_64<P>>,
    boot: &mut BootAllocator<X86_64<P>>,
    range: Range<usize>,
) -> BootSpace<Cap> {
    let pool = PoolCap {
        address: boot.alloc(ASID_POOL_BITS),
        index: 0,
    };
    let root = RootCap {
        address: boot.alloc(TABLE_BITS),
        asid: Some(Asid::INITIAL),
    };
    // SAFETY: both are zeroed memory of the right size, which is a valid pool and table, and have no other
    // use.
    let (pool_object, root_object) = unsafe {
        (
            window::object(pool.address),
            window::object::<PageTable>(root.address),
        )
    };
    kernel
        .exclusive()
        .each_core(|kernel| kernel.arch.asids.set_pool(pool.index, Some(pool_object)));
    let scheduler: &mut Scheduler<_> = kernel;
    let (arch, objects) = (&mut scheduler.arch, &mut scheduler.capabilities.objects);
    arch.asids
        .set_root(objects, Asid::INITIAL, Some(root.address));
    arch.kernel_space.install(&mut objects[root_object]);

    let levels = [
        (Level::Root, Level::Pointers),
        (Level::Pointers, Level::Directory),
        (Level::Directory, Level::Table),
    ];
    for (parent, level) in levels {
        let span = 1 << parent.bits();
        for address in (range.start / span * span..range.end).step_by(span) {
            let table = boot.alloc(TABLE_BITS);
            set_entry(
                &mut kernel.objects,
                root.address,
                address,
                parent,
                Entry::user_table(table),
            );
            let mapping = Some(Mapping {
                asid: Asid::INITIAL,
                address,
            });
            boot.provide(
                kernel,
                Cap::Table(TableCap {
                    address: table,
                    level,
                    mapping,
                }),
            );
        }
    }
    BootSpace {
        root: Cap::Root(root),
        asid_pool: Cap::AsidPool(pool),
    }
}

/// Maps one frame, readable and writable. x86 user mappings are always executable.
#[cfg_attr(target_os = "none", optimize(size))]
pub fn boot_map(space: &BootSpace<Cap>, address: usize, at: PhysAddr) -> Cap {
    let Cap::Root(root) = space.root else {
        unreachable!("made by `boot_space`")
    };
    let cap = FrameCap {
        address: at,
        level: Level::Table,
        device: false,
        rights: Rights::READ_WRITE,
        mapping: Some(Mapping {
            asid: Asid::INITIAL,
            address,
        }),
    };
    let entry = frame::entry(&cap, Rights::READ_WRITE, 0);
    // SAFETY: the kernel's own token is not in use while boot maps frames.
    let mut objects = unsafe { Objects::new() };
    set_entry(&mut objects, root.address, address, Level::Table, entry);
    Cap::Frame(cap)
}

fn set_entry(objects: &mut Objects, root: PhysAddr, address: usize, level: Level, entry: Entry) {
    // SAFETY: `boot_space` has made the table.
    let root = unsafe { window::object::<PageTable>(root) };
    match find(objects, root, address, level) {
        Ok(place) => objects[place.table].entries[place.index] = entry,
        Err(_) => unreachable!("the levels above were made before"),
    }
}

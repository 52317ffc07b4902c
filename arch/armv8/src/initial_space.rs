//! The initial address space.

use core::ops::Range;

use abi::Rights;
use abi::sizes::{ASID_POOL_BITS, PAGE_BITS};
use arch_arm::spaces::AddressSpaces;
use kernel::ExclusiveKernel;
use kernel::arch::{BootSpace, PhysAddr};
use kernel::boot::{BootAllocator, RootTaskImage};

use crate::cap::{Capability, FrameCap, FrameSize, Mapping};
use crate::paging::descriptor::{Entry, Level};
use crate::paging::map::{attributes, entry, vm_attributes};
use crate::paging::table::{Place, TABLE_BITS, Table};
use crate::spaces::Asid;
use crate::{Armv8, Platform};

/// The pool that the initial thread gets.
const INITIAL_POOL: usize = 0;

/// The start addresses of the tables below level `parent` that `range` needs.
fn tables(range: &Range<usize>, parent: Level) -> impl Iterator<Item = usize> + use<> {
    let start = range.start & !(parent.bytes() - 1);
    (start..range.end).step_by(parent.bytes())
}

/// The levels of the tables' parents, the highest first.
const PARENTS: [Level; 3] = [Level::Root, Level::Huge, Level::Large];

/// The bytes of the initial address space for `root_task`, whose IPC buffer and boot information follow its image: the
/// pool of its identifier, and all tables.
pub(crate) fn bytes(root_task: &RootTaskImage) -> usize {
    let Range { start, end } = root_task.addresses();
    let range = start..end + (2 << PAGE_BITS);
    let tables = PARENTS.iter().map(|&parent| tables(&range, parent).count());
    let tables = tables.sum::<usize>() + 1;
    (1 << ASID_POOL_BITS) + (tables << TABLE_BITS)
}

/// Makes the initial address space, with all tables that `range` needs, the highest level first.
#[cfg_attr(target_os = "none", optimize(size))]
pub(crate) fn make<P: Platform>(
    kernel: &mut ExclusiveKernel<Armv8<P>>,
    boot: &mut BootAllocator<Armv8<P>>,
    range: Range<usize>,
) -> BootSpace<Capability> {
    let pool = boot.alloc(ASID_POOL_BITS);
    let root = boot.alloc(TABLE_BITS);
    kernel
        .exclusive()
        .each_core(|kernel| kernel.arch.spaces.add_pool(INITIAL_POOL, pool));
    kernel.arch.spaces.assign(Asid::INITIAL, root);

    for parent in PARENTS {
        for address in tables(&range, parent) {
            let table = boot.alloc(TABLE_BITS);
            // SAFETY: zeroed memory of the right size, used for this table only.
            let place = Place::find(unsafe { Table::at(root) }, address);
            debug_assert_eq!(place.level, parent);
            place.set(Entry::table(table));
            let mapping = Some(Mapping {
                asid: Asid::INITIAL,
                address,
            });
            let table = Capability::PageTable {
                address: table,
                mapping,
            };
            boot.provide(kernel, table);
        }
    }
    BootSpace {
        root: Capability::VSpace {
            address: root,
            asid: Some(Asid::INITIAL),
        },
        asid_pool: Capability::AsidPool {
            pool: INITIAL_POOL,
            address: pool,
        },
    }
}

/// Maps one page of the initial address space.
///
/// # Panics
/// If [`make`] made no table for the address.
pub(crate) fn map(
    space: &BootSpace<Capability>,
    address: usize,
    frame: PhysAddr,
    executable: bool,
) -> Capability {
    let Capability::VSpace {
        address: root,
        asid: Some(asid),
    } = space.root
    else {
        panic!("the initial address space has no root");
    };
    let frame = FrameCap::new(frame, FrameSize::SmallPage, false);
    let bits = vm_attributes::CACHEABLE
        | if executable {
            0
        } else {
            vm_attributes::EXECUTE_NEVER
        };
    // SAFETY: `make` made it.
    let place = Place::find(unsafe { Table::at(root) }, address);
    assert!(
        place.level == Level::Pages,
        "the initial address space has no table for {address:#x}"
    );
    place.set(entry(&frame, attributes(&frame, Rights::READ_WRITE, bits)));
    Capability::Frame(FrameCap {
        mapping: Some(Mapping { asid, address }),
        ..frame
    })
}

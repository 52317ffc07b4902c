//! The initial address space.

use core::ops::Range;

use abi::Rights;
use abi::sizes::ASID_POOL_BITS;
use kernel::ExclusiveKernel;
use kernel::arch::{BootSpace, PhysAddr};
use kernel::boot::BootAllocator;

use super::Aarch32;
use super::asid::Asid;
use super::cap::{Capability, FrameCap, FrameSize, Mapping};
use super::descriptor::{DIRECTORY_BITS, FirstLevel, SECTION_BITS, TABLE_BITS};
use super::map::{Place, attributes, vm_attributes};
use super::table::{Directory, directory_index};
use crate::spaces::AddressSpaces;

/// The pool that the initial thread gets.
const INITIAL_POOL: usize = 0;

/// Makes the initial address space, with all tables that `range` needs.
#[cfg_attr(target_os = "none", optimize(size))]
pub fn boot_space<A: Aarch32>(
    kernel: &mut ExclusiveKernel<A>,
    boot: &mut BootAllocator<A>,
    range: Range<usize>,
) -> BootSpace<Capability> {
    let pool = boot.alloc(ASID_POOL_BITS);
    let root = boot.alloc(DIRECTORY_BITS);
    // SAFETY: zeroed memory of the right size, used for this directory only.
    let directory = unsafe { Directory::<A>::at(root) };
    kernel
        .exclusive()
        .each_core(|kernel| kernel.arch.spaces().add_pool(INITIAL_POOL, pool));
    kernel.arch.spaces().assign(Asid::INITIAL, root);

    for index in directory_index(range.start)..=directory_index(range.end - 1) {
        let table = boot.alloc(TABLE_BITS);
        directory.fill(index..index + 1, |_| FirstLevel::table(table, true));
        let mapping = Some(Mapping {
            asid: Asid::INITIAL,
            address: index << SECTION_BITS,
        });
        boot.provide(
            kernel,
            Capability::PageTable {
                address: table,
                mapping,
            },
        );
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
/// If [`boot_space`] made no table for the address.
#[cfg_attr(target_os = "none", optimize(size))]
pub fn boot_map<A: Aarch32>(
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
        panic!("the initial address space has no directory");
    };
    let frame = FrameCap::new(frame, FrameSize::SmallPage, false);
    let bits = vm_attributes::CACHEABLE
        | vm_attributes::PARITY
        | if executable {
            0
        } else {
            vm_attributes::EXECUTE_NEVER
        };
    // SAFETY: `boot_space` made it.
    let directory = unsafe { Directory::<A>::at(root) };
    let Some(place) = Place::find(directory, frame.size, address) else {
        panic!("the initial address space has no table for {address:#x}");
    };
    place.map(&frame, attributes(&frame, Rights::READ_WRITE, bits));
    Capability::Frame(FrameCap {
        mapping: Some(Mapping { asid, address }),
        ..frame
    })
}

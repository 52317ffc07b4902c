//! The memory that the kernel gives out if a loader of ready-made systems has entered it. The tool that lays such a system
//! out cannot ask the kernel: it computes free memory from the platform's description and from the kernel's file, and
//! relies on the result.

use core::ops::Range;

use crate::support::protocol::names;
use crate::support::{Outcome, Test};
use crate::{check, check_eq};
use abi::{MAX_BOOT_UNTYPEDS, Rights, UntypedDescriptor, sizes};
use userlib::cap::{CNode, Frame};
use userlib::{CPtr, Result};

tests![devices_are_those_described, memory_is_that_described];

/// The ranges in the description of qemu-virt, which is the only platform with such a loader.
const MEMORY: Range<u64> = 0x4000_0000..0xc000_0000;
const DEVICES: [Range<u64>; 4] = [
    0..0x0800_0000,
    0x0801_2000..0x0808_0000,
    0x0900_0000..0x4000_0000,
    0xc000_0000..0x100_0000_0000,
];
/// Where the kernel's file begins.
const KERNEL: u64 = 0x4020_0000;
const PAGE: u64 = 1 << sizes::PAGE_BITS;
/// The initial task begins at the next multiple of this behind the kernel.
const ALIGNMENT: u64 = 64 << 10;

/// Whether a loader has entered the kernel. Such a loader tells of no device tree.
fn is_loaded(test: &Test) -> bool {
    userlib::board::HAS_DEVICE_TREE && test.boot_info().extra_length == 0
}

/// Ranges of addresses in order, of which neighbours are joined.
struct Ranges {
    all: [Range<u64>; MAX_BOOT_UNTYPEDS + 1],
    count: usize,
}

impl Ranges {
    const fn new() -> Self {
        Self {
            all: [const { 0..0 }; MAX_BOOT_UNTYPEDS + 1],
            count: 0,
        }
    }

    fn add(&mut self, range: Range<u64>) {
        self.all[self.count] = range;
        self.count += 1;
    }

    fn joined(&mut self) -> &[Range<u64>] {
        self.all[..self.count].sort_unstable_by_key(|range| range.start);
        let mut last = 0;
        for index in 1..self.count {
            let range = self.all[index].clone();
            if self.all[last].end == range.start {
                self.all[last].end = range.end;
            } else {
                last += 1;
                self.all[last] = range;
            }
        }
        self.count = self.count.min(last + 1);
        &self.all[..self.count]
    }
}

/// The untypeds of one kind.
fn untypeds(test: &Test, is_device: u8) -> Ranges {
    let boot = test.boot_info();
    let all = &boot.untyped_list[..boot.untyped.len()];
    let mut ranges = Ranges::new();
    let range = |one: &UntypedDescriptor| {
        let start = one.address as u64;
        start..start + (1 << one.size_bits)
    };
    all.iter()
        .filter(|one| one.is_device == is_device)
        .for_each(|one| ranges.add(range(one)));
    ranges
}

/// The memory of the initial task.
fn task(test: &mut Test) -> Result<Range<u64>> {
    let frames = test.boot_info().user_image_frames;
    let root: CNode = test.startup.capability(names::ROOT_CNODE);
    let copy = test.empty_slot()?;
    copy.copy_from(root.slot(CPtr(frames.start)), Rights::ALL)?;
    let start = Frame(CPtr(copy.index)).physical_address();
    copy.delete()?;
    let start = start? as u64;
    Ok(start..start + frames.len() as u64 * PAGE)
}

fn devices_are_those_described(test: &mut Test) -> Outcome {
    if !is_loaded(test) {
        return Ok(());
    }
    let mut found = untypeds(test, 1);
    check_eq!(found.joined(), &DEVICES);
    Ok(())
}

fn memory_is_that_described(test: &mut Test) -> Outcome {
    if !is_loaded(test) {
        return Ok(());
    }
    let task = task(test)?;
    let mut found = untypeds(test, 0);
    found.add(task.clone());
    let known = found.joined();
    check!(
        known
            .iter()
            .all(|range| MEMORY.start <= range.start && range.end <= MEMORY.end)
    );
    // The first range is the memory before the kernel, of which objects may have an end; the second begins behind it.
    check_eq!(known[0].start, MEMORY.start);
    check!(known[0].end <= KERNEL);
    let Some(after) = known.get(1) else {
        crate::support::fail(format_args!("nothing is behind the kernel"))
    };
    let kernel = KERNEL..after.start;
    check!(kernel.end <= task.start && task.start - kernel.end < ALIGNMENT);
    // What else is missing are the objects that the initial task begins with. The tool reckons with at least as much: a
    // CNode, a thread, its buffer, the boot information, a pool, and tables.
    let given: u64 = known.iter().map(|range| range.end - range.start).sum();
    let objects = MEMORY.end - MEMORY.start - given - (kernel.end - kernel.start);
    let tables = 1 + (task.end - task.start).div_ceil(2 << 20) + 4;
    let reckoned = (1 << (test.boot_info().cnode_size_bits + sizes::SLOT_BITS))
        + (1 << sizes::TCB_BITS)
        + (2 + 1 + tables) * PAGE
        + 128;
    check!(
        objects > 0 && objects <= reckoned,
        "{objects} of {reckoned}"
    );
    Ok(())
}

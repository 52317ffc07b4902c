//! The initial task as a module of the boot loader: an ELF file with any number of segments (System V ABI, generic, chapters
//! "ELF Header" and "Program Header"). A task that the tool has put into the image is at its place already.

use core::ops::Range;

use abi::sizes::PAGE_BITS;
use arch_x86_64::paging::window;
use kernel::arch::PhysAddr;
use kernel::boot::{Ranges, RootTaskImage};

use super::physical::{bytes, number};

const PAGE: usize = 1 << PAGE_BITS;
/// The end of the addresses of users.
const USER_END: usize = 1 << 47;
/// The file's first bytes: 64 bits, little-endian.
const IDENTITY: &[u8] = b"\x7fELF\x02\x01";
/// The type of segments that are loaded.
const LOAD: usize = 1;

/// A segment: contents and addresses.
struct Segment {
    data: &'static [u8],
    addresses: Range<usize>,
}

/// The segments of a file.
#[cfg_attr(target_os = "none", optimize(size))]
fn segments(file: &'static [u8]) -> impl Iterator<Item = Segment> + Clone {
    let (table, size, count) = (
        number::<8>(file, 32),
        number::<2>(file, 54),
        number::<2>(file, 56),
    );
    let headers = (0..count).map_while(move |index| {
        let start = table.checked_add(index * size)?;
        file.get(start..start.checked_add(size)?)
    });
    let loaded = headers.filter(|header| number::<4>(header, 0) == LOAD);
    loaded.map(|header| {
        let field = |offset| number::<8>(header, offset);
        let (offset, start, length, size) = (field(8), field(16), field(32), field(40));
        let data = offset.checked_add(length).map(|end| file.get(offset..end));
        let data = data.flatten().filter(|_| length <= size);
        let end = start.checked_add(size).filter(|end| *end <= USER_END);
        match (data, end) {
            (Some(data), Some(end)) => Segment {
                data,
                addresses: start..end,
            },
            _ => panic!("the module has a segment outside of its file or of user addresses"),
        }
    })
}

/// Loads a file into consecutive memory from its lowest to its highest page, taken from `ram`.
///
/// # Safety
/// File and RAM are mapped in the window, and the RAM has no other use.
///
/// # Panics
/// If the file cannot be a task, or is too large: the machine cannot boot.
#[cfg_attr(target_os = "none", optimize(size))]
pub unsafe fn load<const CAPACITY: usize>(
    module: &Range<PhysAddr>,
    ram: &mut Ranges<CAPACITY>,
) -> RootTaskImage {
    // SAFETY: by contract.
    let file = unsafe { bytes(module.start.0, module.end.0 - module.start.0) };
    assert!(
        file.starts_with(IDENTITY),
        "the module is not a 64-bit ELF file"
    );
    let segments = segments(file).filter(|segment| !segment.addresses.is_empty());
    let start = segments.clone().map(|segment| segment.addresses.start);
    let start = start.min().unwrap_or_default() / PAGE * PAGE;
    let end = segments.clone().map(|segment| segment.addresses.end);
    let end = end.max().unwrap_or_default().next_multiple_of(PAGE);
    assert!(start < end, "the module has nothing to load");
    let size = end - start;
    let Some(memory) = ram.take_below(PhysAddr(window::SIZE), size) else {
        panic!("there is no memory for the module's {size:#x} bytes");
    };
    let place = core::ptr::with_exposed_provenance_mut::<u8>(window::to_virtual(memory));
    // SAFETY: it was free RAM of this size, which is mapped.
    let place = unsafe {
        place.write_bytes(0, size);
        core::slice::from_raw_parts_mut(place, size)
    };
    for Segment { data, addresses } in segments {
        place[addresses.start - start..][..data.len()].copy_from_slice(data);
    }
    let entry = number::<8>(file, 24);
    RootTaskImage::new(memory..PhysAddr(memory.0 + size), start, entry)
}

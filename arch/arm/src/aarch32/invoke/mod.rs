//! What methods of frames, page tables and roots do that depends on the format of tables. The order of checks
//! is part of the user interface.

pub mod page;
pub mod page_table;

use kernel::ExclusiveKernel;
use kernel::invoke::{Error, ensure};

use super::Aarch32;
use super::cap::{FrameCap, Mapping, Words32};
use super::map::{Found, Place};
use super::table::Directory;
use crate::cap::{INVALID_ROOT, Root, Size};

/// The directory of an address space that is argument `number` of an invocation.
///
/// # Errors
/// The identifier is not in use any more, or belongs to another address space.
fn directory<A: Aarch32>(
    kernel: &mut ExclusiveKernel<A>,
    root: Root<Words32>,
    number: usize,
) -> Result<Directory<A>, Error> {
    let directory = kernel
        .arch
        .spaces()
        .directory(root.asid)
        .ok_or(INVALID_ROOT)?;
    let is_same = directory.address() == root.address;
    ensure(is_same, Error::InvalidCapability(number))?;
    Ok(directory)
}

/// The size of the frame that is mapped at an address, and whether users can write there.
///
/// # Errors
/// The identifier is not in use any more, or belongs to another address space.
pub fn mapped_at<A: Aarch32>(
    kernel: &mut ExclusiveKernel<A>,
    root: Root<Words32>,
    address: usize,
) -> Result<Option<(usize, bool)>, Error> {
    let found = Found::at(directory(kernel, root, 0)?, address);
    Ok(found.map(|(size, writable)| (size.bytes(), writable)))
}

/// The descriptors of a frame in the address space in which it was mapped; none if the address space is gone,
/// or has another mapping there now.
fn mapped_place<A: Aarch32>(
    directory: Directory<A>,
    frame: &FrameCap,
    mapping: Mapping,
) -> Option<Place<A>> {
    let place = Place::find(directory, frame.size, mapping.address)?;
    place.holds(frame).then_some(place)
}

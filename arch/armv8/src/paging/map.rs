//! The attributes of users' mappings, and the place of a frame in an address space.

use abi::Rights;

use super::descriptor::{Access, Attributes, Entry, Kind, Memory};
use super::table::{Place, Table};
use crate::cap::FrameCap;

/// The attribute bits of mapping requests.
pub(crate) mod vm_attributes {
    /// Memory may be cached.
    pub(crate) const CACHEABLE: usize = 1;
    /// No instruction may be fetched.
    pub(crate) const EXECUTE_NEVER: usize = 4;
}

/// The attributes of entries for a user's mapping request.
pub(crate) fn attributes(frame: &FrameCap, rights: Rights, attributes: usize) -> Attributes {
    let has = |bit| attributes & bit != 0;
    let rights = frame.rights.intersection(rights);
    Attributes {
        memory: match (has(vm_attributes::CACHEABLE), frame.device) {
            (true, _) => Memory::Cached,
            (false, false) => Memory::Uncached,
            (false, true) => Memory::Device,
        },
        access: match (
            rights.contains(Rights::READ),
            rights.contains(Rights::WRITE),
        ) {
            (true, true) => Access::UserWrite,
            (true, false) => Access::UserRead,
            (false, _) => Access::Kernel,
        },
        executable: !has(vm_attributes::EXECUTE_NEVER) && rights.contains(Rights::READ),
    }
}

/// The place of a frame in the address space of `root`; none if there is another mapping now.
pub(crate) fn mapped_place(root: Table, frame: &FrameCap, address: usize) -> Option<Place> {
    let place = Place::find(root, address);
    let is_frame = place.kind() == Kind::Frame(frame.address) && place.level == frame.size.level();
    is_frame.then_some(place)
}

/// The entry that maps a frame for users.
pub(crate) fn entry(frame: &FrameCap, attributes: Attributes) -> Entry {
    Entry::user_frame(frame.size.level(), frame.address, attributes)
}

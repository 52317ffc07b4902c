//! Page tables: all levels below the root are the same object.

use arch_arm::cap::Root;
use kernel::Kernel;
use kernel::arch::PhysAddr;
use kernel::invoke::{Error, ensure};

use super::table as table_of;
use crate::cap::{Mapping, Words64};
use crate::paging::descriptor::{Entry, Kind, Level};
use crate::paging::table::Place;
use crate::paging::tlb;
use crate::spaces::Spaces;
use crate::{Armv8, Platform};

/// Installs a table at the first missing level for an address. Returns the first address for which it is.
pub(crate) fn map<P: Platform>(
    kernel: &Kernel<Armv8<P>>,
    root: Root<Words64>,
    table: PhysAddr,
    address: usize,
) -> Result<usize, Error> {
    let place = Place::find(table_of(kernel, root, 1)?, address);
    let is_free = place.kind() == Kind::Empty && place.level != Level::Pages;
    ensure(is_free, Error::DeleteFirst)?;
    place.set(Entry::table(table));
    Ok(address & !(place.level.bytes() - 1))
}

/// Unmaps a table from the address space in which it was mapped, if it still is.
pub(crate) fn unmap(spaces: &mut Spaces, table: PhysAddr, mapping: Mapping) {
    let Some(root) = spaces.root(mapping.asid) else {
        return;
    };
    let place = Place::walk(root, mapping.address).find(|place| place.kind() == Kind::Table(table));
    if let Some(place) = place {
        place.set(Entry::EMPTY);
        tlb::invalidate_space(mapping.asid);
    }
}

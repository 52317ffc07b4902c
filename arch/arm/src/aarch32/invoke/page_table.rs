//! Page tables.

use kernel::ExclusiveKernel;
use kernel::arch::PhysAddr;
use kernel::invoke::{Error, ensure};

use super::directory;
use crate::aarch32::Aarch32;
use crate::aarch32::cap::{Mapping, Words32};
use crate::aarch32::descriptor::{FirstKind, FirstLevel, SECTION_BITS};
use crate::aarch32::map::vm_attributes;
use crate::aarch32::table::directory_index;
use crate::cap::Root;

/// Installs a table for an address. Returns the first address for which it is.
///
/// # Errors
/// The address space is gone, or the address has a table or section.
pub fn map<A: Aarch32>(
    kernel: &mut ExclusiveKernel<A>,
    root: Root<Words32>,
    table: PhysAddr,
    address: usize,
    attributes: usize,
) -> Result<usize, Error> {
    let directory = directory(kernel, root, 1)?;
    let index = directory_index(address);
    let is_free = directory.get(index).kind() == FirstKind::Fault;
    ensure(is_free, Error::DeleteFirst)?;
    let parity = attributes & vm_attributes::PARITY != 0;
    directory.fill(index..index + 1, |_| FirstLevel::table(table, parity));
    Ok(index << SECTION_BITS)
}

/// Unmaps a table from the address space in which it was mapped, if it still is.
pub fn unmap<A: Aarch32>(kernel: &mut ExclusiveKernel<A>, table: PhysAddr, mapping: Mapping) {
    let Some(directory) = kernel.arch.spaces().directory(mapping.asid) else {
        return;
    };
    let index = directory_index(mapping.address);
    if directory.get(index).kind() == FirstKind::Table(table) {
        directory.fill(index..index + 1, |_| FirstLevel::FAULT);
        kernel.arch.spaces().invalidate_space(mapping.asid);
    }
}

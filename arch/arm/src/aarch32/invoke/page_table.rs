//! Page tables.

use abi::Method;
use kernel::Kernel;
use kernel::arch::PhysAddr;
use kernel::cap::Cap;
use kernel::invoke::{Answer, Error, Invocation, Outcome};

use super::directory;
use crate::aarch32::cap::{Capability, Mapping};
use crate::aarch32::descriptor::{FirstKind, FirstLevel, SECTION_BITS, SecondLevel};
use crate::aarch32::map::vm_attributes;
use crate::aarch32::table::{Table, directory_index};
use crate::aarch32::{Aarch32, USER_TOP};
use crate::cap::Root;

/// Performs a method of a page table.
///
/// # Errors
/// The error that is reported to the caller.
pub fn invoke<A: Aarch32>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    address: PhysAddr,
    mapping: Option<Mapping>,
) -> Outcome {
    match invocation.method {
        Method::ArmPageTableMap => map(kernel, invocation, address, mapping),
        Method::ArmPageTableUnmap => {
            if !kernel.is_last_cap(invocation.slot) {
                return Err(Error::RevokeFirst.into());
            }
            if let Some(mapping) = mapping {
                unmap(kernel, address, mapping);
                // SAFETY: the capability refers to a table, which is in no directory now.
                let table = unsafe { Table::<A>::at(address) };
                table.clear(SecondLevel::FAULT);
            }
            let unmapped = Capability::PageTable {
                address,
                mapping: None,
            };
            kernel[invocation.slot].set_cap(Cap::Arch(unmapped));
            Ok(Answer::Nothing)
        }
        _ => Err(Error::IllegalOperation.into()),
    }
}

fn map<A: Aarch32>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    table: PhysAddr,
    mapping: Option<Mapping>,
) -> Outcome {
    invocation.require(2, 1)?;
    if mapping.is_some() {
        return Err(Error::InvalidCapability(0).into());
    }
    let root = Root::from_cap(invocation.packed_extra(kernel, 0), 1)?;
    let address = invocation.word(kernel, 0);
    let parity = invocation.word(kernel, 1) & vm_attributes::PARITY != 0;
    if address >= USER_TOP {
        return Err(Error::InvalidArgument(0).into());
    }
    let directory = directory(kernel, root, 1)?;
    let index = directory_index(address);
    if directory.get(index).kind() != FirstKind::Fault {
        return Err(Error::DeleteFirst.into());
    }

    let mapping = Mapping {
        asid: root.asid,
        address: index << SECTION_BITS,
    };
    let mapped = Capability::PageTable {
        address: table,
        mapping: Some(mapping),
    };
    kernel[invocation.slot].set_cap(Cap::Arch(mapped));
    directory.fill(index..index + 1, |_| FirstLevel::table(table, parity));
    Ok(Answer::Nothing)
}

/// Unmaps a table from the address space in which it was mapped, if it still is.
pub fn unmap<A: Aarch32>(kernel: &mut Kernel<A>, table: PhysAddr, mapping: Mapping) {
    let Some(directory) = kernel.arch.spaces().directory(mapping.asid) else {
        return;
    };
    let index = directory_index(mapping.address);
    if directory.get(index).kind() == FirstKind::Table(table) {
        directory.fill(index..index + 1, |_| FirstLevel::FAULT);
        kernel.arch.spaces().invalidate_space(mapping.asid);
    }
}

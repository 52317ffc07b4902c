//! Page tables: all levels below the root are the same object.

use abi::Method;
use arch_arm::cap::Root;
use kernel::Kernel;
use kernel::arch::PhysAddr;
use kernel::cap::Cap;
use kernel::invoke::{Answer, Error, Invocation, Outcome};

use super::{USER_TOP, table as table_of};
use crate::cap::{Capability, Mapping};
use crate::paging::descriptor::{Entry, Kind, Level};
use crate::paging::table::{Place, Table};
use crate::paging::tlb;
use crate::spaces::Spaces;
use crate::{Armv8, Platform};

pub(crate) fn invoke<P: Platform>(
    kernel: &mut Kernel<Armv8<P>>,
    invocation: &Invocation<Armv8<P>>,
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
                unmap(&mut kernel.arch.spaces, address, mapping);
                // SAFETY: the capability refers to a table, which no other table refers to now.
                unsafe { Table::at(address) }.clear();
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

/// Installs the table at the first missing level for the address.
fn map<P: Platform>(
    kernel: &mut Kernel<Armv8<P>>,
    invocation: &Invocation<Armv8<P>>,
    table: PhysAddr,
    mapping: Option<Mapping>,
) -> Outcome {
    invocation.require(2, 1)?;
    if mapping.is_some() {
        return Err(Error::InvalidCapability(0).into());
    }
    let root = Root::from_cap(invocation.packed_extra(kernel, 0), 1)?;
    let address = invocation.word(kernel, 0);
    if address >= USER_TOP {
        return Err(Error::InvalidArgument(0).into());
    }
    let place = Place::find(table_of(kernel, root, 1)?, address);
    if place.kind() != Kind::Empty || place.level == Level::Pages {
        return Err(Error::DeleteFirst.into());
    }

    let mapped = Capability::PageTable {
        address: table,
        mapping: Some(Mapping {
            asid: root.asid,
            address: address & !(place.level.bytes() - 1),
        }),
    };
    kernel[invocation.slot].set_cap(Cap::Arch(mapped));
    place.set(Entry::table(table));
    Ok(Answer::Nothing)
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

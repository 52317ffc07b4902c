//! Paging structures below the root.

use abi::Method;
use kernel::ExclusiveKernel;
use kernel::cap::Cap as AnyCap;
use kernel::invoke::{Answer, Error, Invocation, Outcome, ensure};

use super::{check_asid, invalidate_all, named_space, root_of};
use crate::cap::{Cap, Mapping, TableCap};
use crate::paging::{Entry, Level, PageTable, Place, USER_TOP, find, window};
use crate::{Platform, X86_64};

/// The level of entries that refer to tables of `level`.
const fn parent(level: Level) -> Level {
    match level {
        Level::Table => Level::Directory,
        Level::Directory => Level::Pointers,
        Level::Pointers | Level::Root => Level::Root,
    }
}

/// Performs an invocation of a paging structure.
///
/// # Errors
/// As specified by the ABI.
pub fn invoke<P: Platform>(
    kernel: &mut ExclusiveKernel<X86_64<P>>,
    invocation: &Invocation<X86_64<P>>,
    cap: TableCap,
) -> Outcome {
    match (cap.level, invocation.method) {
        (Level::Pointers, Method::X86PdptMap)
        | (Level::Directory, Method::X86PageDirectoryMap)
        | (Level::Table, Method::X86PageTableMap) => map(kernel, invocation, cap),
        (Level::Pointers, Method::X86PdptUnmap)
        | (Level::Directory, Method::X86PageDirectoryUnmap)
        | (Level::Table, Method::X86PageTableUnmap) => unmap(kernel, invocation, cap),
        _ => Err(Error::IllegalOperation.into()),
    }
}

fn map<P: Platform>(
    kernel: &mut ExclusiveKernel<X86_64<P>>,
    invocation: &Invocation<X86_64<P>>,
    cap: TableCap,
) -> Outcome {
    invocation.require(2, 1)?;
    ensure(cap.mapping.is_none(), Error::InvalidCapability(0))?;
    let level = parent(cap.level);
    let (root, asid) = named_space(kernel, invocation)?;
    let address = invocation.word(kernel, 0) >> level.bits() << level.bits();
    ensure(address < USER_TOP, Error::InvalidArgument(0))?;
    check_asid(kernel, root, asid)?;
    let place = find(&kernel.objects, root, address, level).map_err(Error::lookup)?;
    let Place { table, index } = place;
    let is_free = !kernel[table].entries[index].is_present();
    ensure(is_free, Error::DeleteFirst)?;

    kernel[table].entries[index] = Entry::user_table(cap.address);
    let mapped = TableCap {
        mapping: Some(Mapping { asid, address }),
        ..cap
    };
    kernel[invocation.slot].set_cap(AnyCap::Arch(Cap::Table(mapped)));
    Ok(Answer::Nothing)
}

fn unmap<P: Platform>(
    kernel: &mut ExclusiveKernel<X86_64<P>>,
    invocation: &Invocation<X86_64<P>>,
    cap: TableCap,
) -> Outcome {
    ensure(kernel.is_last_cap(invocation.slot), Error::RevokeFirst)?;
    if cap.mapping.is_some() {
        take_out(kernel, cap);
        // SAFETY: there is a capability to the table, so it exists.
        let table = unsafe { window::object::<PageTable>(cap.address) };
        kernel[table].entries.fill(Entry::EMPTY);
    }
    let unmapped = TableCap {
        mapping: None,
        ..cap
    };
    kernel[invocation.slot].set_cap(AnyCap::Arch(Cap::Table(unmapped)));
    Ok(Answer::Nothing)
}

/// Removes a structure from its parent, if it is still there.
pub(super) fn take_out<P: Platform>(kernel: &mut ExclusiveKernel<X86_64<P>>, cap: TableCap) {
    let Some(mapping) = cap.mapping else { return };
    let Some(root) = root_of(kernel, mapping.asid) else {
        return;
    };
    let level = parent(cap.level);
    let Ok(Place { table, index }) = find(&kernel.objects, root, mapping.address, level) else {
        return;
    };
    if kernel[table].entries[index].table() == Some(cap.address) {
        kernel[table].entries[index] = Entry::EMPTY;
        invalidate_all(kernel, root);
    }
}

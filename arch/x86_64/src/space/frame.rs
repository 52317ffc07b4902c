//! Frames in address spaces.

use abi::{Method, Rights};
use kernel::ExclusiveKernel;
use kernel::arch::ArchCap;
use kernel::cap::{Cap as AnyCap, RawCap};
use kernel::invoke::{Answer, Error, Invocation, Outcome, ensure};

use super::{check_asid, invalidate_page, named_space, root_of};
use crate::cap::{Cap, FrameCap, Mapping};
use crate::paging::{Entry, Flags, Level, Place, USER_TOP, find};
use crate::{Platform, X86_64};

/// Performs an invocation of a frame, given by its packed capability.
///
/// # Errors
/// As specified by the ABI.
#[inline(never)]
pub fn invoke<P: Platform>(
    kernel: &mut ExclusiveKernel<X86_64<P>>,
    invocation: &Invocation<X86_64<P>>,
    cap: RawCap,
) -> Outcome {
    let Cap::Frame(cap) = Cap::decode(cap) else {
        return Err(Error::InvalidCapability(0).into());
    };
    match invocation.method {
        Method::X86PageMap => map(kernel, invocation, cap),
        Method::X86PageUnmap => {
            take_out(kernel, cap);
            let unmapped = FrameCap {
                mapping: None,
                ..cap
            };
            kernel[invocation.slot].set_cap(AnyCap::Arch(Cap::Frame(unmapped)));
            Ok(Answer::Nothing)
        }
        Method::X86PageGetAddress => Ok(Answer::word(cap.address.0)),
        _ => Err(Error::IllegalOperation.into()),
    }
}

#[inline(always)]
fn map<P: Platform>(
    kernel: &mut ExclusiveKernel<X86_64<P>>,
    invocation: &Invocation<X86_64<P>>,
    cap: FrameCap,
) -> Outcome {
    invocation.require(3, 1)?;
    let address = invocation.word(kernel, 0);
    let rights = cap
        .rights
        .intersection(Rights::from_word(invocation.word(kernel, 1)));
    let attributes = invocation.word(kernel, 2);

    let (root, asid) = named_space(kernel, invocation)?;
    let fits = match cap.mapping {
        Some(mapping) => {
            ensure(mapping.asid == asid, Error::InvalidCapability(1))?;
            mapping.address == address
        }
        None => {
            let end = address.checked_add(1 << cap.level.bits());
            end.is_some_and(|end| end <= USER_TOP)
        }
    };
    ensure(fits, Error::InvalidArgument(0))?;
    check_asid(kernel, root, asid)?;
    let is_aligned = address.is_multiple_of(1 << cap.level.bits());
    ensure(is_aligned, Error::Alignment)?;
    let place = find(&kernel.objects, root, address, cap.level).map_err(Error::lookup)?;
    let Place { table, index } = place;
    let old = kernel[table].entries[index];
    let has_table = cap.level != Level::Table && old.table().is_some();
    ensure(!has_table, Error::DeleteFirst)?;

    let mapping = Mapping { asid, address };
    kernel[table].entries[index] = entry(&cap, rights, attributes);
    if old.is_present() {
        invalidate_page(kernel, root, mapping);
    }
    if cap.mapping.is_none() {
        let mapped = FrameCap {
            mapping: Some(mapping),
            ..cap
        };
        kernel[invocation.slot].set_cap(AnyCap::Arch(Cap::Frame(mapped)));
    }
    Ok(Answer::Nothing)
}

/// The entry that maps a frame. Without the right to read, the frame is mapped but only the kernel could
/// access it.
pub(super) fn entry(cap: &FrameCap, rights: Rights, attributes: usize) -> Entry {
    let mut flags = Flags::PRESENT;
    flags.set(Flags::USER, rights.contains(Rights::READ));
    flags.set(Flags::WRITE, rights.contains(Rights::READ_WRITE));
    // The attributes are the number of the memory type (Intel SDM vol. 3, section 13.12.3).
    flags.set(Flags::WRITE_THROUGH, attributes & 1 != 0);
    flags.set(Flags::CACHE_DISABLE, attributes & 2 != 0);
    let (kind, type_bit) = match cap.level {
        Level::Table => (Flags::empty(), Flags::SMALL_PAT),
        _ => (Flags::LARGE, Flags::LARGE_PAT),
    };
    flags.insert(kind);
    flags.set(type_bit, attributes & 4 != 0);
    Entry::new(cap.address, flags)
}

/// Unmaps a frame, if the mapping of this capability still exists.
pub(super) fn take_out<P: Platform>(kernel: &mut ExclusiveKernel<X86_64<P>>, cap: FrameCap) {
    let Some(mapping) = cap.mapping else { return };
    let Some(root) = root_of(kernel, mapping.asid) else {
        return;
    };
    let Ok(Place { table, index }) = find(&kernel.objects, root, mapping.address, cap.level) else {
        return;
    };
    if kernel[table].entries[index].page(cap.level.bits()) == Some(cap.address) {
        kernel[table].entries[index] = Entry::EMPTY;
        invalidate_page(kernel, root, mapping);
    }
}

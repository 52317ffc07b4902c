//! Frames.

use core::ops::Range;

use abi::{Method, Rights};
use arch_arm::cache;
use arch_arm::cap::{INVALID_ROOT, Root, Size};
use arch_arm::spaces::AddressSpaces;
use kernel::Kernel;
use kernel::arch::ArchCap;
use kernel::cap::{Cap, RawCap};
use kernel::invoke::{Answer, Error, Invocation, Outcome};

use super::{CACHE_PIECE, USER_TOP, missing_table, table};
use crate::cap::{Capability, FrameCap, FrameSize, Mapping};
use crate::paging::descriptor::{Entry, Kind};
use crate::paging::map::{attributes, entry, mapped_place};
use crate::paging::table::Place;
use crate::paging::tlb;
use crate::spaces::{Asid, Spaces};
use crate::{Armv8, Platform};

#[inline(never)]
pub(crate) fn invoke<P: Platform>(
    kernel: &mut Kernel<Armv8<P>>,
    invocation: &Invocation<Armv8<P>>,
    cap: RawCap,
) -> Outcome {
    let Capability::Frame(frame) = Capability::decode(cap) else {
        return Err(Error::InvalidCapability(0).into());
    };
    match invocation.method {
        Method::ArmPageMap => map(kernel, invocation, frame),
        Method::ArmPageUnmap => {
            unmap(&mut kernel.arch.spaces, &frame);
            let unmapped = Capability::Frame(FrameCap {
                mapping: None,
                ..frame
            });
            kernel[invocation.slot].set_cap(Cap::Arch(unmapped));
            Ok(Answer::Nothing)
        }
        Method::ArmPageGetAddress => Ok(Answer::word(frame.address.0)),
        method => {
            let operation = cache::of_page(method).ok_or(Error::IllegalOperation)?;
            invocation.require(2, 0)?;
            let offsets = invocation.word(kernel, 0)..invocation.word(kernel, 1);
            let (place, mapping, range) = cache_range(&kernel.arch.spaces, &frame, offsets)?;
            let (wanted, writable) = ((operation, range), place.get().is_user_writable());
            cache::maintain(
                kernel,
                invocation,
                wanted,
                writable,
                CACHE_PIECE,
                |kernel, piece| {
                    let maintain = || crate::cache::maintain(operation, piece);
                    kernel.arch.spaces.inside(mapping.asid, maintain);
                },
            )?;
            Ok(Answer::Nothing)
        }
    }
}

#[inline(always)]
fn map<P: Platform>(
    kernel: &mut Kernel<Armv8<P>>,
    invocation: &Invocation<Armv8<P>>,
    frame: FrameCap,
) -> Outcome {
    invocation.require(3, 1)?;
    let address = invocation.word(kernel, 0);
    let rights = Rights::from_word(invocation.word(kernel, 1));
    let attributes = attributes(&frame, rights, invocation.word(kernel, 2));
    let root = Root::from_cap(invocation.packed_extra(kernel, 0), 1)?;
    let table = table(kernel, root, 1)?;
    if !address.is_multiple_of(frame.size.bytes()) {
        return Err(Error::Alignment.into());
    }
    match frame.mapping {
        Some(mapping) if mapping.asid != root.asid => {
            return Err(Error::InvalidCapability(1).into());
        }
        Some(mapping) if mapping.address != address => return Err(Error::InvalidArgument(0).into()),
        Some(_) => {}
        None => {
            let end = address.checked_add(frame.size.bytes());
            if end.is_none_or(|end| end > USER_TOP) {
                return Err(Error::InvalidArgument(0).into());
            }
        }
    }
    let place = Place::find(table, address);
    if place.level != frame.size.level() {
        return Err(missing_table(place.level.bits()).into());
    }

    if frame.mapping.is_none() {
        let mapping = Some(Mapping {
            asid: root.asid,
            address,
        });
        let mapped = Capability::Frame(FrameCap { mapping, ..frame });
        kernel[invocation.slot].set_cap(Cap::Arch(mapped));
    }
    // A valid entry changes only by way of an invalid one: break-before-make (Arm ARM, section D8.16.1).
    if place.kind() != Kind::Empty {
        place.set(Entry::EMPTY);
        forget(frame.size, root.asid, address);
    }
    place.set(entry(&frame, attributes));
    Ok(Answer::Nothing)
}

/// Unmaps a frame from the address space in which it was mapped, if it still is.
pub(crate) fn unmap(spaces: &mut Spaces, frame: &FrameCap) {
    let Some(mapping) = frame.mapping else { return };
    let Some(root) = spaces.root(mapping.asid) else {
        return;
    };
    if let Some(place) = mapped_place(root, frame, mapping.address) {
        place.set(Entry::EMPTY);
        forget(frame.size, mapping.asid, mapping.address);
    }
}

/// Invalidates the TLB entries of a frame. The TLB may hold those of a larger frame in several entries.
fn forget(size: FrameSize, asid: Asid, address: usize) {
    if size == FrameSize::SmallPage {
        tlb::invalidate_page(asid, address);
    } else {
        tlb::invalidate_space(asid);
    }
}

/// The addresses of a cache operation, given by the offsets of their start and end in the frame, and the
/// place at which the frame is mapped.
fn cache_range(
    spaces: &Spaces,
    frame: &FrameCap,
    offsets: Range<usize>,
) -> Result<(Place, Mapping, Range<usize>), Error> {
    let mapping = frame.mapping.ok_or(Error::IllegalOperation)?;
    let root = spaces.root(mapping.asid).ok_or(INVALID_ROOT)?;
    if offsets.is_empty() {
        return Err(Error::InvalidArgument(1));
    }
    if offsets.end > frame.size.bytes() {
        return Err(Error::InvalidArgument(0));
    }
    let place = mapped_place(root, frame, mapping.address).ok_or(Error::InvalidCapability(0))?;
    let base = mapping.address;
    Ok((place, mapping, base + offsets.start..base + offsets.end))
}

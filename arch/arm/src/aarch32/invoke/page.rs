//! Frames.

use core::ops::Range;

use abi::{Method, Rights};
use kernel::Kernel;
use kernel::arch::ArchCap;
use kernel::cap::{Cap, RawCap};
use kernel::invoke::{Answer, Error, Invocation, Outcome};

use super::{directory, mapped_place};
use crate::aarch32::cap::{Capability, FrameCap, FrameSize, Mapping};
use crate::aarch32::map::{MISSING_TABLE, Place, attributes};
use crate::aarch32::{Aarch32, Asid, CACHE_PIECE, USER_TOP};
use crate::cache;
use crate::cap::{INVALID_ROOT, Root, Size};
use crate::spaces::AddressSpaces;

/// Performs a method of a frame.
///
/// # Errors
/// The error that is reported to the caller.
#[inline(never)]
pub fn invoke<A: Aarch32>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    cap: RawCap,
) -> Outcome {
    let Capability::Frame(frame) = Capability::decode(cap) else {
        return Err(Error::InvalidCapability(0).into());
    };
    match invocation.method {
        Method::ArmPageMap => map(kernel, invocation, frame),
        Method::ArmPageUnmap => {
            unmap(kernel, &frame);
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
            let (writable, asid, range) = cache_range(kernel, &frame, offsets)?;
            let wanted = (operation, range);
            cache::maintain(
                kernel,
                invocation,
                wanted,
                writable,
                CACHE_PIECE,
                |kernel, piece| {
                    let maintain = || A::maintain_cache(operation, piece);
                    kernel.arch.spaces().inside(asid, maintain);
                },
            )?;
            Ok(Answer::Nothing)
        }
    }
}

#[inline(always)]
fn map<A: Aarch32>(kernel: &mut Kernel<A>, invocation: &Invocation<A>, frame: FrameCap) -> Outcome {
    invocation.require(3, 1)?;
    let address = invocation.word(kernel, 0);
    let rights = Rights::from_word(invocation.word(kernel, 1));
    let attributes = attributes(&frame, rights, invocation.word(kernel, 2));
    let root = Root::from_cap(invocation.packed_extra(kernel, 0), 1)?;
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
    let directory = directory(kernel, root, 1)?;
    if !address.is_multiple_of(frame.size.bytes()) {
        return Err(Error::Alignment.into());
    }
    let place = Place::find(directory, frame.size, address).ok_or(MISSING_TABLE)?;
    let was_occupied = place.occupied(frame.size).ok_or(Error::DeleteFirst)?;

    if frame.mapping.is_none() {
        let mapping = Some(Mapping {
            asid: root.asid,
            address,
        });
        let mapped = Capability::Frame(FrameCap { mapping, ..frame });
        kernel[invocation.slot].set_cap(Cap::Arch(mapped));
    }
    place.map(&frame, attributes);
    if was_occupied {
        forget(kernel, frame.size, root.asid, address);
    }
    Ok(Answer::Nothing)
}

/// Unmaps a frame from the address space in which it was mapped, if it still is.
pub fn unmap<A: Aarch32>(kernel: &mut Kernel<A>, frame: &FrameCap) {
    let Some(mapping) = frame.mapping else { return };
    let Some(directory) = kernel.arch.spaces().directory(mapping.asid) else {
        return;
    };
    if let Some(place) = mapped_place(directory, frame, mapping) {
        place.unmap();
        forget(kernel, frame.size, mapping.asid, mapping.address);
    }
}

/// Invalidates the TLB entries of a frame. The TLB may hold those of a larger frame in several entries.
fn forget<A: Aarch32>(kernel: &mut Kernel<A>, size: FrameSize, asid: Asid, address: usize) {
    if size == FrameSize::SmallPage {
        kernel.arch.spaces().invalidate_page(asid, address);
    } else {
        kernel.arch.spaces().invalidate_space(asid);
    }
}

/// The addresses of a cache operation, given by the offsets of their start and end in the frame, and
/// whether users may write there.
fn cache_range<A: Aarch32>(
    kernel: &mut Kernel<A>,
    frame: &FrameCap,
    offsets: Range<usize>,
) -> Result<(bool, Asid, Range<usize>), Error> {
    let mapping = frame.mapping.ok_or(Error::IllegalOperation)?;
    let directory = kernel
        .arch
        .spaces()
        .directory(mapping.asid)
        .ok_or(INVALID_ROOT)?;
    if offsets.is_empty() {
        return Err(Error::InvalidArgument(1));
    }
    let place = mapped_place(directory, frame, mapping).ok_or(Error::InvalidCapability(0))?;
    if offsets.end > frame.size.bytes() {
        return Err(Error::InvalidArgument(0));
    }
    let base = mapping.address;
    let range = base + offsets.start..base + offsets.end;
    Ok((place.is_user_writable(), mapping.asid, range))
}

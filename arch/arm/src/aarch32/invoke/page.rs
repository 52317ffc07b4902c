//! Frames.

use core::ops::Range;

use abi::Rights;
use kernel::ExclusiveKernel;
use kernel::cap::Cap;
use kernel::invoke::{Answer, Error, Invocation, Outcome, ensure};

use super::{directory, mapped_place};
use crate::aarch32::cap::{Capability, FrameCap, FrameSize, Mapping};
use crate::aarch32::map::{MISSING_TABLE, Place, attributes};
use crate::aarch32::{Aarch32, Asid, USER_TOP};
use crate::cap::{INVALID_ROOT, Root, Size};

/// Maps a frame.
///
/// # Errors
/// The error that is reported to the caller.
#[inline(always)]
pub fn map<A: Aarch32>(
    kernel: &mut ExclusiveKernel<A>,
    invocation: &Invocation<A>,
    frame: FrameCap,
) -> Outcome {
    invocation.require(3, 1)?;
    let address = invocation.word(kernel, 0);
    let rights = Rights::from_word(invocation.word(kernel, 1));
    let attributes = attributes(&frame, rights, invocation.word(kernel, 2));
    let root = Root::from_cap(invocation.packed_extra(kernel, 0), 1)?;
    frame.check_place(&root, address, USER_TOP)?;
    let directory = directory(kernel, root, 1)?;
    let is_aligned = address.is_multiple_of(frame.size.bytes());
    ensure(is_aligned, Error::Alignment)?;
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
        invalidate(kernel, frame.size, root.asid, address);
    }
    Ok(Answer::Nothing)
}

/// Unmaps a frame from the address space in which it was mapped, if it still is.
pub fn unmap<A: Aarch32>(kernel: &mut ExclusiveKernel<A>, frame: &FrameCap) {
    let Some(mapping) = frame.mapping else { return };
    let Some(directory) = kernel.arch.spaces().directory(mapping.asid) else {
        return;
    };
    if let Some(place) = mapped_place(directory, frame, mapping) {
        place.unmap();
        invalidate(kernel, frame.size, mapping.asid, mapping.address);
    }
}

/// Invalidates the TLB entries of a frame. The TLB may hold those of a larger frame in several entries.
fn invalidate<A: Aarch32>(
    kernel: &mut ExclusiveKernel<A>,
    size: FrameSize,
    asid: Asid,
    address: usize,
) {
    if size == FrameSize::SmallPage {
        kernel.arch.spaces().invalidate_page(asid, address);
    } else {
        kernel.arch.spaces().invalidate_space(asid);
    }
}

/// The address space and the addresses of a cache operation, given by the offsets of their start and end in the
/// frame, and whether users may write there.
///
/// # Errors
/// The error that is reported to the caller.
pub fn cache_range<A: Aarch32>(
    kernel: &mut ExclusiveKernel<A>,
    frame: &FrameCap,
    offsets: Range<usize>,
) -> Result<(Asid, bool, Range<usize>), Error> {
    let mapping = frame.mapping.ok_or(Error::IllegalOperation)?;
    let directory = kernel
        .arch
        .spaces()
        .directory(mapping.asid)
        .ok_or(INVALID_ROOT)?;
    ensure(!offsets.is_empty(), Error::InvalidArgument(1))?;
    let place = mapped_place(directory, frame, mapping).ok_or(Error::InvalidCapability(0))?;
    let is_inside = offsets.end <= frame.size.bytes();
    ensure(is_inside, Error::InvalidArgument(0))?;
    let base = mapping.address;
    let range = base + offsets.start..base + offsets.end;
    Ok((mapping.asid, place.is_user_writable(), range))
}

//! Frames.

use core::ops::Range;

use abi::Rights;
use arch_arm::cap::{INVALID_ROOT, Root, Size};
use kernel::ExclusiveKernel;
use kernel::cap::Cap;
use kernel::invoke::{Answer, Error, Invocation, Outcome, ensure};

use super::{USER_TOP, missing_table, table};
use crate::cap::{Capability, FrameCap, FrameSize, Mapping};
use crate::paging::descriptor::{Entry, Kind};
use crate::paging::map::{attributes, entry, mapped_place};
use crate::paging::table::Place;
use crate::paging::tlb;
use crate::spaces::{Asid, Spaces};
use crate::{Armv8, Platform};

/// Maps a frame.
#[inline(always)]
pub(crate) fn map<P: Platform>(
    kernel: &mut ExclusiveKernel<Armv8<P>>,
    invocation: &Invocation<Armv8<P>>,
    frame: FrameCap,
) -> Outcome {
    invocation.require(3, 1)?;
    let address = invocation.word(kernel, 0);
    let rights = Rights::from_word(invocation.word(kernel, 1));
    let attributes = attributes(&frame, rights, invocation.word(kernel, 2));
    let root = Root::from_cap(invocation.packed_extra(kernel, 0), 1)?;
    let table = table(kernel, root, 1)?;
    let is_aligned = address.is_multiple_of(frame.size.bytes());
    ensure(is_aligned, Error::Alignment)?;
    frame.check_place(&root, address, USER_TOP)?;
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
        invalidate(frame.size, root.asid, address);
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
        invalidate(frame.size, mapping.asid, mapping.address);
    }
}

/// Invalidates the TLB entries of a frame. The TLB may hold those of a larger frame in several entries.
fn invalidate(size: FrameSize, asid: Asid, address: usize) {
    if size == FrameSize::SmallPage {
        tlb::invalidate_page(asid, address);
    } else {
        tlb::invalidate_space(asid);
    }
}

/// The address space and the addresses of a cache operation, given by the offsets of their start and end in the
/// frame, and whether users may write there.
pub(crate) fn cache_range(
    spaces: &Spaces,
    frame: &FrameCap,
    offsets: Range<usize>,
) -> Result<(Asid, bool, Range<usize>), Error> {
    let mapping = frame.mapping.ok_or(Error::IllegalOperation)?;
    let root = spaces.root(mapping.asid).ok_or(INVALID_ROOT)?;
    ensure(!offsets.is_empty(), Error::InvalidArgument(1))?;
    let is_inside = offsets.end <= frame.size.bytes();
    ensure(is_inside, Error::InvalidArgument(0))?;
    let place = mapped_place(root, frame, mapping.address).ok_or(Error::InvalidCapability(0))?;
    let base = mapping.address;
    let range = base + offsets.start..base + offsets.end;
    Ok((mapping.asid, place.get().is_user_writable(), range))
}

//! Reading trace events while the system runs, if the kernel streams them (`--keep stream`).

use abi::{BootInfo, Rights, SlotRegion};
use core::sync::atomic::AtomicU32;
use trace_format::{Damage, StreamReader};

use crate::cap::{Attributes, Frame};
use crate::environment::{Environment, PAGE};
use crate::{CPtr, Error, Result};

/// Bytes of the ring of a core.
pub const RING_BYTES: usize = 1 << abi::sizes::STREAM_RING_BITS;

/// The root task's frames of a core's ring, of which it gives copies to the component that reads the ring. There are none if the
/// kernel does not stream events.
pub fn ring_frames(boot: &BootInfo, core: usize) -> impl Iterator<Item = Frame> + use<> {
    let SlotRegion { start, end } = boot.shared_frames;
    let pages = RING_BYTES / PAGE;
    let slots = (start..end).skip(core * pages).take(pages);
    slots.map(|slot| Frame(CPtr(slot)))
}

/// Maps the frames of a core's ring, and makes the reader. Nothing else may read this ring. The root task opens copies of
/// its frames, too, which the kernel has mapped already.
///
/// # Errors
/// [`Error::IllegalOperation`] if the frames are not those of a ring, or errors of the kernel.
pub fn open(
    environment: &mut Environment,
    frames: impl IntoIterator<Item = Frame>,
) -> Result<StreamReader<'static>> {
    let first = environment.reserve(RING_BYTES / PAGE);
    let mut count = 0;
    for (page, frame) in frames.into_iter().take(RING_BYTES / PAGE).enumerate() {
        let address = first + page * PAGE;
        let (allocator, attributes) = (&mut environment.allocator, Attributes::NO_EXECUTE);
        let rights = Rights::READ_WRITE;
        (environment.vspace).map(allocator, frame, address, rights, attributes)?;
        count += 1;
    }
    if count < RING_BYTES / PAGE {
        return Err(Error::IllegalOperation);
    }
    // SAFETY: the frames are mapped there, and stay so.
    unsafe { reader(first) }.map_err(|_| Error::IllegalOperation)
}

/// The reader of the ring at an address.
///
/// # Safety
/// So much memory is mapped there for ever, and only atomics access it.
unsafe fn reader(address: usize) -> core::result::Result<StreamReader<'static>, Damage> {
    let start = core::ptr::with_exposed_provenance::<AtomicU32>(address);
    // SAFETY: by contract; any content of the memory is valid.
    StreamReader::new(unsafe {
        core::slice::from_raw_parts(start, RING_BYTES / size_of::<AtomicU32>())
    })
}

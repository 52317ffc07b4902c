//! Programs whose constant segments are in memory once, for all of their processes.

use super::parts::attributes;
use crate::allocator::Arena;
use crate::cap::{Attributes, CPtr, Frame, FrameSize, VSpace};
use crate::loader::{Program, Segment};
use crate::{Environment, Result};
use abi::Rights;

/// The most frames of a shared program.
const FRAMES: usize = 16;

/// A program of which all processes share the segments that they cannot write, as far as these are aligned for
/// large frames: a program that is linked with `--defsym=segment_align=SIZE` (see `component.ld`) is started
/// with a few system calls instead of some for each page. Other segments are copied for each process.
pub struct SharedProgram<'a> {
    pub(super) program: Program<'a>,
    frames: [Option<SharedFrame>; FRAMES],
}

/// A frame with the contents of a segment.
#[derive(Clone, Copy)]
struct SharedFrame {
    frame: Frame,
    address: usize,
    attributes: Attributes,
}

impl<'a> SharedProgram<'a> {
    /// A program of which nothing is shared.
    pub(super) fn unshared(program: Program<'a>) -> Self {
        Self {
            program,
            frames: [None; FRAMES],
        }
    }

    /// Loads the segments of `program`, an ELF file, that its processes share.
    ///
    /// # Errors
    ///
    /// [`Error::BadProgram`](crate::Error::BadProgram) if this is no program for this machine, and the kernel's
    /// errors if memory or slots are missing.
    pub fn load(environment: &mut Environment, program: &'a [u8]) -> Result<Self> {
        let mut shared = Self::unshared(Program::parse(program)?);
        let mut free = shared.frames.iter_mut();
        for segment in shared.program.segments() {
            let segment = segment?;
            let Some(size) = frame_size(&shared.program, &segment) else {
                continue;
            };
            let bytes = 1 << size.bits();
            if segment.size.div_ceil(bytes) > free.len() {
                continue;
            }
            for (offset, place) in (0..segment.size).step_by(bytes).zip(&mut free) {
                let frame = environment.allocator.create_frame(size)?;
                let contents = segment.contents.get(offset..).unwrap_or(&[]);
                let contents = &contents[..contents.len().min(bytes)];
                environment.edit_frame(frame, size, segment.execute, |memory| {
                    memory[..contents.len()].copy_from_slice(contents);
                })?;
                *place = Some(SharedFrame {
                    frame,
                    address: segment.address + offset,
                    attributes: attributes(&segment),
                });
            }
        }
        Ok(shared)
    }

    /// Whether the processes share a segment.
    pub(super) fn shares(&self, segment: &Segment) -> bool {
        let mut frames = self.frames.iter().flatten();
        frames.any(|one| one.address == segment.address)
    }

    /// Maps the shared segments into a process's address space. The copies of the capabilities are in slots of
    /// the arena, so that they are deleted with the process.
    pub(super) fn map(
        &self,
        environment: &Environment,
        arena: &mut Arena,
        vspace: VSpace,
    ) -> Result {
        for shared in self.frames.iter().flatten() {
            let slot = arena.allocator.allocate_slot()?;
            slot.copy_from(environment.allocator.slot(shared.frame), Rights::READ)?;
            let copy = Frame(CPtr(slot.index));
            vspace.map(
                &mut arena.allocator,
                copy,
                shared.address,
                Rights::READ,
                shared.attributes,
            )?;
        }
        Ok(())
    }
}

/// The largest size of frames, above the smallest, that have a read-only segment's alignment and reach into no
/// other segment.
fn frame_size(program: &Program, segment: &Segment) -> Option<FrameSize> {
    if segment.rights != Rights::READ || segment.size == 0 {
        return None;
    }
    let above = program.segments().flatten().map(|other| other.address);
    let limit = above
        .filter(|&address| address > segment.address)
        .min()
        .unwrap_or(usize::MAX);
    let fits = |size: &FrameSize| {
        let bytes = 1 << size.bits();
        let end = (segment.address + segment.size).checked_next_multiple_of(bytes);
        segment.address.is_multiple_of(bytes) && end.is_some_and(|end| end <= limit)
    };
    let sizes = FrameSize::ALL.iter().copied();
    sizes
        .filter(|&size| size != FrameSize::SMALLEST)
        .rfind(fits)
}

//! Creation of a process: its objects, its address space, its program.

use super::reset::Writable;
use super::{HEAP, ProcessSize, SharedProgram};
use crate::allocator::{Arena, ArenaAllocator};
use crate::cap::{Attributes, CNode, CPtr, Frame, FrameSize, Frames, Object, Tcb, Untyped, VSpace};
use crate::environment::PAGE;
use crate::loader::Segment;
use crate::startup::Startup;
use crate::{Environment, Error, Result};
use abi::{Rights, SlotRegion, slots};

/// Layout of a process's address space above the program: each part with a guard page on both sides.
pub(super) const STACK_TOP: usize = 0x4fff_0000;
pub(super) const IPC_BUFFER: usize = 0x5000_0000;
pub(super) const STARTUP: usize = 0x5000_2000;

/// The main objects of a process.
pub(super) struct Parts {
    pub(super) tcb: Tcb,
    /// What the thread consists of, and nothing else.
    pub(super) thread_memory: Untyped,
    pub(super) ipc_buffer: Frame,
    pub(super) vspace: VSpace,
    pub(super) cnode: CNode,
    pub(super) startup_frame: Frame,
    pub(super) writable: Writable,
}

impl Parts {
    pub(super) fn build(
        environment: &mut Environment,
        arena: &mut Arena,
        program: &SharedProgram,
        size: ProcessSize,
    ) -> Result<Self> {
        let objects = &mut arena.allocator;
        // Large objects first, because that wastes the least memory for alignment.
        let vspace: VSpace = objects.create()?;
        environment.asid_pool.assign(vspace)?;
        let table = objects.create_cnode(size.cnode_bits)?;
        let slot = objects.allocate_slot()?;
        let guard = CNode::root_guard(size.cnode_bits).word();
        slot.mint_from(objects.slot(table), Rights::ALL, guard)?;
        let cnode = CNode(CPtr(slot.index));

        let mut writable = Writable::default();
        load(environment, arena, vspace, program, &mut writable)?;
        let objects = &mut arena.allocator;
        let stack = |page| STACK_TOP - (page + 1) * PAGE;
        writable.add(map_new(objects, vspace, size.stack_pages, stack)?);
        let buffer = map_new(objects, vspace, 1, |_| IPC_BUFFER)?;
        writable.add(buffer);
        let ipc_buffer = buffer.get(0).ok_or(Error::OutOfResources)?;
        let heap = |page| HEAP + page * PAGE;
        writable.add(map_new(objects, vspace, size.heap_pages, heap)?);

        let startup_frame: Frame = objects.create()?;
        let empty = SlotRegion {
            start: slots::FIRST_DYNAMIC,
            end: 1 << size.cnode_bits,
        };
        edit_startup(environment, startup_frame, |startup| {
            *startup = Startup::new(IPC_BUFFER, size.stack(), size.cnode_bits, empty);
        })?;
        // The parent continues to edit the page through its own mapping, so the process gets a copy of the
        // capability.
        let slot = objects.allocate_slot()?;
        slot.copy_from(objects.slot(startup_frame), Rights::READ_WRITE)?;
        let copy = Frame(CPtr(slot.index));
        vspace.map(objects, copy, STARTUP, Rights::READ, Attributes::NO_EXECUTE)?;

        let thread_memory: Untyped = objects.create_sized(Tcb::size_bits(0))?;
        let slot = objects.allocate_slot()?;
        objects.make::<Tcb>(thread_memory, 0, slot)?;
        let tcb = Tcb(CPtr(slot.index));
        tcb.configure(cnode, 0, vspace, IPC_BUFFER, ipc_buffer)?;
        Ok(Self {
            tcb,
            thread_memory,
            ipc_buffer,
            vspace,
            cnode,
            startup_frame,
            writable,
        })
    }
}

/// Maps new memory; `address` says where each page is.
fn map_new(
    objects: &mut ArenaAllocator,
    vspace: VSpace,
    pages: usize,
    address: impl Fn(usize) -> usize,
) -> Result<Frames> {
    let frames = objects.create_frames(pages)?;
    for (page, frame) in frames.iter().enumerate() {
        let (rights, attributes) = (Rights::READ_WRITE, Attributes::NO_EXECUTE);
        vspace.map(objects, frame, address(page), rights, attributes)?;
    }
    Ok(frames)
}

/// How a segment's frames are mapped.
pub(super) fn attributes(segment: &Segment) -> Attributes {
    if segment.execute {
        Attributes::NORMAL
    } else {
        Attributes::NO_EXECUTE
    }
}

/// Maps the segments of a program that its processes share, and copies the others into new frames.
fn load(
    environment: &mut Environment,
    arena: &mut Arena,
    vspace: VSpace,
    program: &SharedProgram,
    writable: &mut Writable,
) -> Result {
    program.map(environment, arena, vspace)?;
    for segment in program.program.segments() {
        let segment = segment?;
        if program.shares(&segment) {
            continue;
        }
        if segment.address % PAGE != 0 {
            return Err(Error::BadProgram("a segment does not start at a page"));
        }
        let frames = arena.allocator.create_frames(segment.size.div_ceil(PAGE))?;
        if segment.rights == Rights::READ_WRITE {
            writable.add(frames);
        }
        for (frame, offset) in frames.iter().zip((0..).step_by(PAGE)) {
            let contents = segment.contents.get(offset..).unwrap_or(&[]);
            let contents = &contents[..contents.len().min(PAGE)];
            // New frames are zeroed.
            if !contents.is_empty() {
                environment.edit_frame(frame, FrameSize::SMALLEST, segment.execute, |page| {
                    page[..contents.len()].copy_from_slice(contents);
                })?;
            }
            let address = segment.address + offset;
            vspace.map(
                &mut arena.allocator,
                frame,
                address,
                segment.rights,
                attributes(&segment),
            )?;
        }
    }
    Ok(())
}

/// Changes the startup page of a process.
pub(super) fn edit_startup<T>(
    environment: &mut Environment,
    frame: Frame,
    edit: impl FnOnce(&mut Startup) -> T,
) -> Result<T> {
    environment.edit_frame(frame, FrameSize::SMALLEST, false, |page| {
        // SAFETY: a page is large enough and aligned, and `Parts::build` wrote a Startup there, which
        // consists of words, so that any contents are valid.
        edit(unsafe { &mut *page.as_mut_ptr().cast::<Startup>() })
    })
}

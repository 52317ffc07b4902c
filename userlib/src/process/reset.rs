//! A process begins again: all memory that it could write is as at its start, and its thread is a new one.

use super::parts::IPC_BUFFER;
use super::{Process, initial_registers};
use crate::cap::{CNode, CPtr, Endpoint, Frame, FrameSize, Tcb, Untyped, VSpace};
use crate::environment::PAGE;
use crate::loader::Program;
use crate::{Environment, Error, Result};
use abi::Rights;

/// The most pages that a process that can be reset may write.
pub const MOST_WRITABLE_PAGES: usize = 128;

/// The frames that a process may write, in the order in which they were created: those of its program, its
/// stack, its IPC buffer, its heap.
pub(super) struct Writable {
    /// The slots of their capabilities.
    slots: [u16; MOST_WRITABLE_PAGES],
    count: usize,
}

impl Default for Writable {
    fn default() -> Self {
        Self {
            slots: [0; MOST_WRITABLE_PAGES],
            count: 0,
        }
    }
}

impl Writable {
    pub(super) fn add(&mut self, frame: Frame) {
        if let (Some(slot), Ok(index)) = (self.slots.get_mut(self.count), u16::try_from(frame.0.0))
        {
            *slot = index;
        }
        self.count += 1;
    }

    /// The slots, if all were recorded.
    fn slots(&self) -> Option<&[u16]> {
        let slots = self.slots.get(..self.count)?;
        slots.iter().all(|&slot| slot != 0).then_some(slots)
    }
}

/// A process that gets nothing more, with what its parent needs to start it, and to start it again.
pub struct Complete {
    /// Its first thread.
    pub tcb: Tcb,
    thread_memory: Untyped,
    cnode: CNode,
    vspace: VSpace,
    ipc_buffer: Frame,
    entry: usize,
    writable: Writable,
}

impl Process {
    /// Gives up the right to add to the process or to destroy it.
    pub fn complete(self) -> Complete {
        Complete {
            tcb: self.tcb,
            thread_memory: self.thread_memory,
            cnode: self.cnode,
            vspace: self.vspace,
            ipc_buffer: self.ipc_buffer,
            entry: self.entry,
            writable: self.writable,
        }
    }
}

impl Complete {
    /// Starts the process.
    pub fn start(&self) -> Result {
        self.tcb
            .write_registers(true, &initial_registers(self.entry))
    }

    /// Sets the endpoint that receives the process's faults and its exit.
    pub fn set_fault_endpoint(&self, endpoint: Endpoint) -> Result {
        self.tcb.set_space(endpoint, self.cnode, 0, self.vspace)
    }

    /// Whether [`reset`](Self::reset) is possible.
    pub fn can_reset(&self) -> bool {
        self.writable.slots().is_some()
    }

    /// Lets `read` look at a page that the process may write, by its place among them.
    ///
    /// # Errors
    /// If it was not recorded.
    pub(super) fn read_writable(
        &self,
        environment: &mut Environment,
        index: usize,
        read: impl FnOnce(&[u8]),
    ) -> Result {
        let slot = self.writable.slots.get(index).filter(|slot| **slot != 0);
        let slot = *slot.ok_or(Error::OutOfResources)?;
        edit(environment, Frame(CPtr(slot.into())), |page| read(page))
    }

    /// Makes all memory that the process may write, except what it shares, as it was at its start. It keeps its
    /// capabilities. Its first thread is deleted, because nothing else clears its floating-point registers.
    /// The new one has neither handlers, priority, notification nor time, and [`start`](Self::start) starts it.
    ///
    /// # Errors
    /// If the process is too large to be reset, or `program` is not its program.
    pub fn reset(&self, environment: &mut Environment, program: &Program) -> Result {
        let slots = self.writable.slots().ok_or(Error::OutOfResources)?;
        let slot = environment.allocator.slot(self.tcb);
        slot.delete()?;
        self.thread_memory.make::<Tcb>(0, slot)?;
        let (address, buffer) = (IPC_BUFFER, self.ipc_buffer);
        self.tcb
            .configure(self.cnode, 0, self.vspace, address, buffer)?;
        let mut frames = slots.iter().map(|&slot| Frame(CPtr(slot.into())));
        for segment in program.segments() {
            let segment = segment?;
            if segment.rights != Rights::READ_WRITE {
                continue;
            }
            for offset in (0..segment.size).step_by(PAGE) {
                let frame = frames.next().ok_or(Error::OutOfResources)?;
                let contents = segment.contents.get(offset..).unwrap_or(&[]);
                let contents = &contents[..contents.len().min(PAGE)];
                refill(environment, frame, contents)?;
            }
        }
        frames.try_for_each(|frame| refill(environment, frame, &[]))
    }
}

/// Fills a page with contents and zeros.
fn refill(environment: &mut Environment, frame: Frame, contents: &[u8]) -> Result {
    edit(environment, frame, |page| {
        let (first, rest) = page.split_at_mut(contents.len());
        first.copy_from_slice(contents);
        rest.fill(0);
    })
}

/// Edits a page. It stays mapped in the process, so a copy of its capability is used.
fn edit(environment: &mut Environment, frame: Frame, edit: impl FnOnce(&mut [u8])) -> Result {
    let copy = environment.allocator.copy(frame, Rights::READ_WRITE)?;
    environment.edit_frame(copy, FrameSize::SMALLEST, false, edit)?;
    environment.allocator.delete(copy)
}

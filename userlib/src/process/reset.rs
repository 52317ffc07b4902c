//! A process begins again: all memory that it could write is as at its start, and its thread is a new one.

use super::parts::IPC_BUFFER;
use super::{Process, initial_registers};
use crate::cap::{CNode, Endpoint, Frame, FrameSize, Frames, Tcb, Untyped, VSpace};
use crate::environment::PAGE;
use crate::loader::Program;
use crate::{Environment, Error, Result};
use abi::Rights;

/// The most parts of the memory that a process may write: a program that the tool builds has one segment of variables.
const MOST_PARTS: usize = 8;

/// The frames that a process may write, in the order in which they were created: those of its program, its
/// stack, its IPC buffer, its heap.
pub(super) struct Writable {
    parts: [Frames; MOST_PARTS],
    count: usize,
}

impl Default for Writable {
    fn default() -> Self {
        Self {
            parts: [Frames::NONE; MOST_PARTS],
            count: 0,
        }
    }
}

impl Writable {
    pub(super) fn add(&mut self, frames: Frames) {
        if let Some(part) = self.parts.get_mut(self.count) {
            *part = frames;
        }
        self.count += 1;
    }

    /// All parts, if they were recorded.
    fn parts(&self) -> Result<&[Frames]> {
        self.parts.get(..self.count).ok_or(Error::OutOfResources)
    }

    /// The number of all frames.
    fn len(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }

    /// The frame at `index`.
    fn frame(&self, mut index: usize) -> Result<Frame> {
        for part in self.parts()? {
            match part.get(index) {
                Some(frame) => return Ok(frame),
                None => index -= part.len(),
            }
        }
        Err(Error::OutOfResources)
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
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn complete(self, environment: &mut Environment) -> Result<Complete> {
        environment.allocator.give_up_arena(self.arena)?;
        Ok(Complete {
            tcb: self.tcb,
            thread_memory: self.thread_memory,
            cnode: self.cnode,
            vspace: self.vspace,
            ipc_buffer: self.ipc_buffer,
            entry: self.entry,
            writable: self.writable,
        })
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
        self.writable.parts().is_ok()
    }

    /// How many pages the process may write.
    pub(super) fn writable_pages(&self) -> usize {
        self.writable.len()
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
        edit(environment, self.writable.frame(index)?, |page| read(page))
    }

    /// Makes all memory that the process may write, except what it shares, as it was at its start. It keeps its
    /// capabilities. Its first thread is deleted, because nothing else clears its floating-point registers.
    /// The new one has neither handlers, priority, notification nor time, and [`start`](Self::start) starts it.
    ///
    /// # Errors
    /// If the process cannot be reset, or `program` is not its program.
    pub fn reset(&self, environment: &mut Environment, program: &Program) -> Result {
        let parts = self.writable.parts()?;
        let slot = environment.allocator.slot(self.tcb);
        slot.delete()?;
        environment
            .allocator
            .make::<Tcb>(self.thread_memory, 0, slot)?;
        let (address, buffer) = (IPC_BUFFER, self.ipc_buffer);
        self.tcb
            .configure(self.cnode, 0, self.vspace, address, buffer)?;
        let mut frames = parts.iter().flat_map(|part| part.iter());
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

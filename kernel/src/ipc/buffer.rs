//! IPC buffers, accessed by the kernel's mapping of the thread's frame, never by the user's mapping.

use abi::{IpcBuffer, Rights};
use core::mem::offset_of;

use super::Ipc;
use crate::arch::{Arch, ArchCap};
use crate::object::{Thread, ThreadSlot};
use crate::token::Ptr;

const MESSAGE: usize = offset_of!(IpcBuffer, message) / size_of::<usize>();
const CAPS: usize = offset_of!(IpcBuffer, caps_or_badges) / size_of::<usize>();
const RECEIVE: usize = offset_of!(IpcBuffer, receive_cnode) / size_of::<usize>();

/// The IPC buffer of a thread in the kernel's address space. Its content is user memory and may change at
/// any time, so each word is read or written once.
#[derive(Clone, Copy)]
pub struct Buffer {
    words: *mut usize,
}

impl Buffer {
    fn read(self, word: usize) -> usize {
        // SAFETY: `Ipc::buffer` has checked that the whole buffer lies in one frame of RAM to which a
        // capability exists; the access is volatile, because users write to it.
        unsafe { self.words.add(word).read_volatile() }
    }

    fn write(self, word: usize, value: usize) {
        // SAFETY: as for `read`; user memory has no kernel data.
        unsafe { self.words.add(word).write_volatile(value) }
    }

    /// Word `index` of the message. IPC passes the first words in registers instead.
    pub fn message(self, index: usize) -> usize {
        self.read(MESSAGE + index)
    }

    /// Sets word `index` of the message.
    pub fn set_message(self, index: usize, value: usize) {
        self.write(MESSAGE + index, value);
    }

    /// Address of extra capability `index`.
    pub fn extra_cap(self, index: usize) -> usize {
        self.read(CAPS + index)
    }

    /// Writes the badge of an unwrapped capability.
    pub fn set_badge(self, index: usize, badge: usize) {
        self.write(CAPS + index, badge);
    }

    /// The receive slot: CNode, index, depth.
    pub fn receive_slot(self) -> (usize, usize, usize) {
        (
            self.read(RECEIVE),
            self.read(RECEIVE + 1),
            self.read(RECEIVE + 2),
        )
    }
}

impl<A: Arch> Ipc<A> {
    /// The IPC buffer of a thread, if it has a frame with these rights.
    pub(crate) fn buffer(&self, thread: Ptr<Thread<A>>, rights: Rights) -> Option<Buffer> {
        let frame = A::Cap::packed_frame(self[thread].slots[ThreadSlot::Buffer as usize].raw())?;
        if frame.device || !frame.rights.contains(rights) {
            return None;
        }
        let offset = self[thread].buffer_address & ((1 << frame.bits) - 1);
        Some(Buffer {
            words: (A::to_virtual(frame.address) + offset) as *mut usize,
        })
    }

    /// The buffer that a thread sends from.
    pub(crate) fn send_buffer(&self, thread: Ptr<Thread<A>>) -> Option<Buffer> {
        self.buffer(thread, Rights::READ)
    }

    /// The buffer that a thread receives into.
    pub(crate) fn receive_buffer(&self, thread: Ptr<Thread<A>>) -> Option<Buffer> {
        self.buffer(thread, Rights::READ_WRITE)
    }
}

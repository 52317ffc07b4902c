//! The part of a thread's memory that carries messages beyond the registers.

use crate::message::{MAX_EXTRA_CAPS, MAX_MESSAGE_LENGTH};

/// log2 of size and alignment of an IPC buffer.
pub const IPC_BUFFER_BITS: usize = if crate::WORD_BITS == 64 { 10 } else { 9 };

/// Layout of the IPC buffer.
#[repr(C)]
#[cfg_attr(target_pointer_width = "64", repr(align(1024)))]
#[cfg_attr(target_pointer_width = "32", repr(align(512)))]
pub struct IpcBuffer {
    /// Left to libraries: the kernel never touches it.
    pub tag: usize,
    /// The message; words that have a register are left alone.
    pub message: [usize; MAX_MESSAGE_LENGTH],
    /// Left to libraries.
    pub user_data: usize,
    /// Out: capability addresses. In: badges of the capabilities that were unwrapped.
    pub caps_or_badges: [usize; MAX_EXTRA_CAPS],
    /// Where a received capability goes: address of the CNode,
    pub receive_cnode: usize,
    /// index of the slot in it,
    pub receive_index: usize,
    /// and the number of index bits.
    pub receive_depth: usize,
}

const _: () = assert!(size_of::<IpcBuffer>() == 1 << IPC_BUFFER_BITS);

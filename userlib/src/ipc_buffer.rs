//! The calling thread's IPC buffer.
//!
//! The TLS register of a thread points at its IPC buffer (x86-64: FS, and the buffer's first word holds its
//! own address; Arm: TPIDRURW). The runtime of each thread sets it before any other code runs. All accesses
//! are volatile, because the kernel reads and writes the buffer in system calls.

use crate::cap::{CPtr, Slot};
use abi::IpcBuffer;
use core::ptr::{addr_of, addr_of_mut};

fn buffer() -> *mut IpcBuffer {
    crate::arch::ipc_buffer_address() as *mut IpcBuffer
}

/// Reads message word `index`.
pub fn message_word(index: usize) -> usize {
    assert!(index < abi::MAX_MESSAGE_LENGTH);
    // SAFETY: the buffer is mapped for as long as the thread lives, and the index is in range.
    unsafe { addr_of!((*buffer()).message[index]).read_volatile() }
}

/// Writes message word `index`.
pub fn set_message_word(index: usize, value: usize) {
    assert!(index < abi::MAX_MESSAGE_LENGTH);
    // SAFETY: as for `message_word`.
    unsafe { addr_of_mut!((*buffer()).message[index]).write_volatile(value) }
}

/// Writes message words from `start` on.
pub(crate) fn set_message_words(start: usize, words: &[usize]) {
    assert!(start <= abi::MAX_MESSAGE_LENGTH && words.len() <= abi::MAX_MESSAGE_LENGTH - start);
    let buffer = buffer();
    for (index, &word) in words.iter().enumerate() {
        // SAFETY: as for `message_word`; all indices are in range.
        unsafe {
            let message = addr_of_mut!((*buffer).message).cast::<usize>();
            message.add(start + index).write_volatile(word);
        }
    }
}

/// The badge of received capability `index`, if it was unwrapped.
pub fn unwrapped_badge(index: usize) -> usize {
    assert!(index < abi::MAX_EXTRA_CAPS);
    // SAFETY: as for `message_word`.
    unsafe { addr_of!((*buffer()).caps_or_badges[index]).read_volatile() }
}

/// Sets capability `index` of the next message.
pub fn set_capability(index: usize, capability: CPtr) {
    assert!(index < abi::MAX_EXTRA_CAPS);
    // SAFETY: as for `message_word`.
    unsafe { addr_of_mut!((*buffer()).caps_or_badges[index]).write_volatile(capability.0) }
}

/// Sets the slot for the next received capability. `slot.root` is looked up in the thread's own CSpace.
pub fn set_receive_slot(slot: Slot) {
    let buffer = buffer();
    // SAFETY: as for `message_word`.
    unsafe {
        addr_of_mut!((*buffer).receive_cnode).write_volatile(crate::Capability::cptr(slot.root).0);
        addr_of_mut!((*buffer).receive_index).write_volatile(slot.index);
        addr_of_mut!((*buffer).receive_depth).write_volatile(slot.depth);
    }
}

/// Writes `name`, truncated to fit, as a NUL-terminated string at the start of the message words.
pub(crate) fn set_string(name: &str) {
    const ROOM: usize = abi::MAX_MESSAGE_LENGTH * size_of::<usize>() - 1;
    let length = name.len().min(ROOM);
    // SAFETY: as for `message_word`; the string fits into the message words.
    unsafe {
        let start = addr_of_mut!((*buffer()).message).cast::<u8>();
        for (index, byte) in name.bytes().take(length).enumerate() {
            start.add(index).write_volatile(byte);
        }
        start.add(length).write_volatile(0);
    }
}

//! Going back to an earlier moment, for searches that try everything.

use std::mem::MaybeUninit;
use std::ptr;

use kernel::Kernel;

use super::Machine;
use crate::arch::Host;

/// A moment of a machine: its memory, and the kernel's own state.
pub struct Snapshot {
    memory: Box<[u8]>,
    kernel: Box<MaybeUninit<Kernel<Host>>>,
    next_slot: usize,
}

impl Machine {
    /// This moment.
    pub fn snapshot(&mut self) -> Snapshot {
        let mut kernel = Box::new(MaybeUninit::uninit());
        // SAFETY: a copy that nobody uses as a kernel before it is put back, see `restore`.
        unsafe { ptr::copy_nonoverlapping(&raw const *self.kernel, kernel.as_mut_ptr(), 1) };
        Snapshot {
            memory: self.arena.bytes().into(),
            kernel,
            next_slot: self.next_slot,
        }
    }

    /// Goes back to a moment of this machine.
    pub fn restore(&mut self, snapshot: &Snapshot) {
        self.arena.bytes().copy_from_slice(&snapshot.memory);
        // SAFETY: the bytes were this kernel's. It and its architecture own nothing that would have to
        // be freed, all objects lie in the memory that was put back to the same place, and so the only
        // reference, to the table of interrupt lines, is that of before.
        unsafe { ptr::copy_nonoverlapping(snapshot.kernel.as_ptr(), &raw mut *self.kernel, 1) };
        self.next_slot = snapshot.next_slot;
    }
}

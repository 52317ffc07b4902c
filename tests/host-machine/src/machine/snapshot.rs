//! Restoring an earlier state, for exhaustive searches.

use std::mem::MaybeUninit;
use std::ptr;

use kernel::Kernel;

use super::Machine;
use crate::arch::Host;

/// A saved state of a machine: its memory and the kernel's own state.
pub struct Snapshot {
    memory: Box<[u8]>,
    kernel: Box<MaybeUninit<Kernel<Host>>>,
    next_slot: usize,
}

impl Machine {
    /// Saves the current state.
    pub fn snapshot(&mut self) -> Snapshot {
        let mut kernel = Box::new(MaybeUninit::uninit());
        // SAFETY: the copy is not used as a kernel before it is written back, see `restore`.
        unsafe { ptr::copy_nonoverlapping(&raw const *self.kernel, kernel.as_mut_ptr(), 1) };
        Snapshot {
            memory: self.arena.bytes().into(),
            kernel,
            next_slot: self.next_slot,
        }
    }

    /// Restores a saved state of this machine.
    pub fn restore(&mut self, snapshot: &Snapshot) {
        self.arena.bytes().copy_from_slice(&snapshot.memory);
        // SAFETY: the bytes are from this kernel. It and its architecture own nothing that must be
        // freed, all objects lie in memory that was restored at the same address, and so the only
        // reference, to the table of interrupt lines, is the same as before.
        unsafe { ptr::copy_nonoverlapping(snapshot.kernel.as_ptr(), &raw mut *self.kernel, 1) };
        self.next_slot = snapshot.next_slot;
    }
}

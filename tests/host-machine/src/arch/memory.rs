//! Memory for kernel objects and frames.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::Range;

use kernel::arch::PhysAddr;

/// Initial content of memory, so that code that forgets to clear memory fails.
const JUNK: u8 = 0xa5;

/// The RAM of a machine: host memory, aligned to its size. Physical addresses are those of the host.
#[derive(Debug)]
pub struct Arena {
    start: *mut u8,
    layout: Layout,
}

impl Arena {
    /// RAM of `2^bits` bytes.
    ///
    /// # Panics
    /// For a size that the host cannot have.
    pub fn new(bits: usize) -> Self {
        let size = 1 << bits;
        let layout =
            Layout::from_size_align(size, size).expect("a size below half the address space");
        // SAFETY: the size is not zero.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: just allocated.
        unsafe { start.write_bytes(JUNK, size) };
        Self { start, layout }
    }

    /// The content of the memory.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: allocated with this size and initialised in `new`; the kernel, which writes to it,
        // does not run while the arena is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.layout.size()) }
    }

    /// The physical addresses.
    pub fn range(&self) -> Range<PhysAddr> {
        let start = self.start as usize;
        PhysAddr(start)..PhysAddr(start + self.layout.size())
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`. The kernel with its objects in this memory no
        // longer exists: a machine owns both and drops the kernel first.
        unsafe { dealloc(self.start, self.layout) };
    }
}

//! A heap for programs that use the crate `alloc`.
//!
//! It is memory of a fixed size, which the description says, so that a component's memory use is known at build
//! time. The lock does not wait: threads of one component that allocate at the same time are an error in a
//! real-time system, and cause a panic instead of a priority inversion.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};
use linked_list_allocator::Heap;

struct ProgramHeap {
    taken: AtomicBool,
    heap: UnsafeCell<Heap>,
}

// SAFETY: only the holder of `taken` accesses the cell.
unsafe impl Sync for ProgramHeap {}

#[global_allocator]
static HEAP: ProgramHeap = ProgramHeap {
    taken: AtomicBool::new(false),
    heap: UnsafeCell::new(Heap::empty()),
};

impl ProgramHeap {
    fn with<T>(&self, work: impl FnOnce(&mut Heap) -> T) -> T {
        let taken = self.taken.swap(true, Ordering::Acquire);
        assert!(!taken, "two threads of a component allocate at once");
        // SAFETY: `taken` was free, so this thread now accesses the cell exclusively.
        let result = work(unsafe { &mut *self.heap.get() });
        self.taken.store(false, Ordering::Release);
        result
    }
}

/// Makes memory the heap. Until then, nothing can be allocated.
///
/// # Safety
/// It is mapped permanently, without another use.
///
/// # Panics
/// If there is a heap already.
pub(crate) unsafe fn set_heap(address: usize, bytes: usize) {
    HEAP.with(|heap| {
        assert!(heap.size() == 0, "there is a heap already");
        // SAFETY: by contract.
        unsafe { heap.init(address as *mut u8, bytes) };
    });
}

// SAFETY: allocation and deallocation are those of `Heap`.
unsafe impl GlobalAlloc for ProgramHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.with(|heap| heap.allocate_first_fit(layout))
            .map_or(core::ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if let Some(memory) = NonNull::new(memory) {
            // SAFETY: by contract, it came from `alloc` with the same layout.
            self.with(|heap| unsafe { heap.deallocate(memory, layout) });
        }
    }
}

//! A heap for components that use the crate `alloc`.
//!
//! The heap is a fixed-size array, so that a component's memory use is known at build time. The lock does not
//! wait: threads of one component that allocate at the same time are an error in a real-time system, and
//! cause a panic instead of a priority inversion.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};
use linked_list_allocator::Heap;

const BYTES: usize = 256 * 1024;

struct ComponentHeap {
    taken: AtomicBool,
    heap: UnsafeCell<Option<Heap>>,
    memory: UnsafeCell<[MaybeUninit<u8>; BYTES]>,
}

// SAFETY: only the holder of `taken` accesses the cells.
unsafe impl Sync for ComponentHeap {}

#[global_allocator]
static HEAP: ComponentHeap = ComponentHeap {
    taken: AtomicBool::new(false),
    heap: UnsafeCell::new(None),
    memory: UnsafeCell::new([MaybeUninit::uninit(); BYTES]),
};

impl ComponentHeap {
    fn with<T>(&self, work: impl FnOnce(&mut Heap) -> T) -> T {
        let taken = self.taken.swap(true, Ordering::Acquire);
        assert!(!taken, "two threads of a component allocate at once");
        // SAFETY: `taken` was free, so this thread now accesses the cells exclusively.
        let heap = unsafe { &mut *self.heap.get() };
        let heap = heap.get_or_insert_with(|| {
            let mut heap = Heap::empty();
            // SAFETY: only this heap uses the array, and this happens once.
            unsafe { heap.init(self.memory.get().cast(), BYTES) };
            heap
        });
        let result = work(heap);
        self.taken.store(false, Ordering::Release);
        result
    }
}

// SAFETY: allocation and deallocation are those of `Heap`.
unsafe impl GlobalAlloc for ComponentHeap {
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

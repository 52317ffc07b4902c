//! A heap for components that use the crate `alloc`.
//!
//! The memory is an array, so that what a component can take is known when it is built. The lock does
//! not wait: threads of one component that allocate at the same time are a mistake in a real-time
//! system, and end in a panic instead of an inversion of priorities.

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

// SAFETY: the cells are reached only by the holder of `taken`.
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
        // SAFETY: `taken` was free, so nobody else holds references into the cells.
        let heap = unsafe { &mut *self.heap.get() };
        let heap = heap.get_or_insert_with(|| {
            let mut heap = Heap::empty();
            // SAFETY: the array is the heap's alone, for good, and this happens once.
            unsafe { heap.init(self.memory.get().cast(), BYTES) };
            heap
        });
        let result = work(heap);
        self.taken.store(false, Ordering::Release);
        result
    }
}

// SAFETY: the heap hands out memory as `Heap` does.
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

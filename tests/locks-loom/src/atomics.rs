//! The interface of the kernel's `sync/atomic.rs`, on loom's atomics.

use std::cell::{Cell, RefCell};

pub use loom::cell::UnsafeCell;
pub use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};

loom::thread_local! {
    /// A hook that runs when the core of this thread begins to wait.
    pub static WHEN_WAITING: RefCell<Option<Box<dyn FnOnce()>>> = RefCell::new(None);
    static SPINS: Cell<usize> = Cell::new(0);
}

/// How many spins of a core are explored in all interleavings: two waiting cores could alternate for
/// ever. After that, the cores run in turn, so that a core that waits for ever is still found.
const MAX_SPINS: usize = 4;

/// Lets another core run.
pub fn spin_loop() {
    if let Some(event) = WHEN_WAITING.with(|event| event.borrow_mut().take()) {
        event();
    }
    let spins = SPINS.with(|spins| spins.replace(spins.get() + 1));
    if spins >= MAX_SPINS {
        loom::skip_branch();
    }
    loom::thread::yield_now();
}

/// Lets `work` use the content of a cell.
///
/// # Safety
/// No other access happens meanwhile, which loom checks.
pub unsafe fn with_mut<T, R>(cell: &UnsafeCell<T>, work: impl FnOnce(&mut T) -> R) -> R {
    // SAFETY: guaranteed by the caller.
    cell.with_mut(|value| work(unsafe { &mut *value }))
}

/// A plain function; loom's atomics can't be made at compile time.
#[macro_export]
macro_rules! constant {
    ($($function:tt)*) => { $($function)* };
}

/// An array of values that are made one by one.
#[macro_export]
macro_rules! each {
    ($value:expr; $count:expr) => {
        core::array::from_fn::<_, { $count }, _>(|_| $value)
    };
}

pub use crate::{constant, each};

/// Atomics with weaker effects: `$order` maps an ordering to the one used, `$torn` splits
/// read-modify-write operations into a load and a store, `$mute` omits stores.
macro_rules! weak {
    ($order:expr, $torn:expr, $mute:expr) => {
        pub use super::{Ordering, UnsafeCell, constant, each, fence, spin_loop, with_mut};

        weak!(AtomicUsize, usize, $order, $torn, $mute);
        weak!(AtomicBool, bool, $order, $torn, $mute);

        #[allow(missing_docs, dead_code, reason = "as the true one")]
        impl AtomicUsize {
            pub fn fetch_add(&self, more: usize, order: Ordering) -> usize {
                if $torn {
                    let old = self.0.load(Ordering::Relaxed);
                    self.0.store(old + more, Ordering::Relaxed);
                    return old;
                }
                self.0.fetch_add(more, $order(order))
            }
        }
    };
    ($name:ident, $value:ty, $order:expr, $torn:expr, $mute:expr) => {
        #[allow(missing_docs, reason = "as the true one")]
        #[derive(Debug)]
        pub struct $name(loom::sync::atomic::$name);

        #[allow(missing_docs, dead_code, reason = "as the true one")]
        impl $name {
            pub fn new(value: $value) -> Self {
                Self(loom::sync::atomic::$name::new(value))
            }

            pub fn load(&self, order: Ordering) -> $value {
                self.0.load($order(order))
            }

            pub fn store(&self, value: $value, order: Ordering) {
                if !$mute {
                    self.0.store(value, $order(order));
                }
            }

            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                if $torn {
                    let old = self.0.load(Ordering::Relaxed);
                    self.0.store(value, Ordering::Relaxed);
                    return old;
                }
                self.0.swap(value, $order(order))
            }

            pub fn compare_exchange(
                &self,
                old: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.0.compare_exchange(old, new, $order(success), failure)
            }
        }
    };
}

/// Without release ordering.
pub mod without_release {
    weak!(
        |order| match order {
            Ordering::Release => Ordering::Relaxed,
            Ordering::AcqRel => Ordering::Acquire,
            other => other,
        },
        false,
        false
    );
}

/// Without acquire ordering.
pub mod without_acquire {
    weak!(
        |order| match order {
            Ordering::Acquire => Ordering::Relaxed,
            Ordering::AcqRel => Ordering::Release,
            other => other,
        },
        false,
        false
    );
}

/// Read-modify-write operations are not atomic.
pub mod torn {
    weak!(|order| order, true, false);
}

/// Stores have no effect.
pub mod mute {
    weak!(|order| order, false, true);
}

/// Fences have no effect.
pub mod without_fence {
    pub use super::{
        AtomicBool, AtomicUsize, Ordering, UnsafeCell, constant, each, spin_loop, with_mut,
    };

    /// Has no effect.
    pub fn fence(_: Ordering) {}
}

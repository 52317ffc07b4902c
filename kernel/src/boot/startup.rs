//! The start of several cores.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::arch::Arch;
use crate::cores::CoreHandle;
use crate::sync::spin_loop;

/// What the cores signal to each other until all of them can run threads. The boot core starts one core after the
/// other; each makes its kernel, reports that it is ready, and waits. When all are ready, the boot core releases them.
pub struct Startup {
    /// Number of cores that are ready.
    ready: AtomicUsize,
    /// Whether the secondary cores may continue.
    released: AtomicBool,
    /// Number of secondary cores that can run threads.
    joined: AtomicUsize,
}

impl Startup {
    /// Only the boot core is ready.
    #[expect(clippy::new_without_default, reason = "a const function")]
    pub const fn new() -> Self {
        Self {
            ready: AtomicUsize::new(1),
            released: AtomicBool::new(false),
            joined: AtomicUsize::new(0),
        }
    }

    /// Whether a core is ready; cores are started in the order of their numbers.
    pub fn is_ready(&self, core: usize) -> bool {
        self.ready.load(Ordering::Acquire) > core
    }

    /// A secondary core is ready: waits until the boot core releases it, and lets its kernel join the others.
    pub fn join<A: Arch>(&self, core: usize, handle: &mut CoreHandle<A>) {
        self.ready.store(core + 1, Ordering::Release);
        while !self.released.load(Ordering::Acquire) {
            spin_loop();
        }
        handle.join();
        self.joined.fetch_add(1, Ordering::Release);
    }

    /// Releases the secondary cores, and waits until all of them can run threads: a root task that starts threads on
    /// them would not know how long these wait.
    pub fn release(&self) {
        self.released.store(true, Ordering::Release);
        while self.joined.load(Ordering::Acquire) + 1 < self.ready.load(Ordering::Acquire) {
            spin_loop();
        }
    }
}

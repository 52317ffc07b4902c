//! A busy host: as many endless loops as it has processors.

use std::hint::spin_loop;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Keeps the host busy until it is dropped.
pub(super) struct Busy(Arc<AtomicBool>);

impl Busy {
    pub(super) fn begin() -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            let ends = Arc::clone(&ends);
            thread::spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    spin_loop();
                }
            });
        }
        Self(ends)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

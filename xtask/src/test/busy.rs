//! A busy host: one endless loop on each of its processors.

use std::hint::spin_loop;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

/// The loops that run now, however many runs of tests want them.
static LOOPS: Mutex<Weak<()>> = Mutex::new(Weak::new());

/// Keeps the host busy until the last one is dropped.
pub(super) struct Busy(#[allow(dead_code, reason = "its count ends the loops")] Arc<()>);

impl Busy {
    pub(super) fn begin() -> Self {
        let mut loops = LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wanted) = loops.upgrade() {
            return Self(wanted);
        }
        let wanted = Arc::new(());
        *loops = Arc::downgrade(&wanted);
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            let wanted = Arc::downgrade(&wanted);
            thread::spawn(move || {
                while wanted.strong_count() > 0 {
                    spin_loop();
                }
            });
        }
        Self(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_share_the_loops() {
        let (one, other) = (Busy::begin(), Busy::begin());
        assert!(Arc::ptr_eq(&one.0, &other.0));
        drop(one);
        assert_eq!(Arc::strong_count(&other.0), 1);
    }
}

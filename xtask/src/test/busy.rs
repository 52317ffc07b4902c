//! A busy host: beside the emulator there is work for each of its processors. Endless loops make up for what other
//! programs, such as the builds of the next tests, do not provide.

use std::fs;
use std::hint::spin_loop;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// The loops that run now, however many runs of tests want them.
static LOOPS: Mutex<Weak<()>> = Mutex::new(Weak::new());
/// The number of loops that are not paused.
static SPINNING: AtomicUsize = AtomicUsize::new(0);
/// How long a loop spins or pauses until it decides again.
const SLICE: Duration = Duration::from_millis(20);

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
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        for _ in 0..processors {
            let wanted = Arc::downgrade(&wanted);
            thread::spawn(move || {
                while wanted.strong_count() > 0 {
                    if is_needed(runnable(), SPINNING.load(Relaxed), processors) {
                        spin();
                    } else {
                        thread::sleep(SLICE);
                    }
                }
            });
        }
        Self(wanted)
    }
}

/// Whether fewer threads can run than an emulator and one for each processor. `runnable` counts those of the loops
/// that spin and the one that asks, too.
fn is_needed(runnable: Option<usize>, spinning: usize, processors: usize) -> bool {
    runnable.is_none_or(|runnable| runnable.saturating_sub(spinning + 1) < processors + 1)
}

/// The number of threads on the host that can run now (proc(5), `/proc/loadavg`); none on other systems than Linux.
fn runnable() -> Option<usize> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    let (runnable, _) = load.split(' ').nth(3)?.split_once('/')?;
    runnable.parse().ok()
}

fn spin() {
    let begin = Instant::now();
    SPINNING.fetch_add(1, Relaxed);
    while begin.elapsed() < SLICE {
        spin_loop();
    }
    SPINNING.fetch_sub(1, Relaxed);
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

    #[test]
    fn loops_pause_while_others_have_enough_work() {
        // Two processors; the loop that asks can run, too.
        assert!(is_needed(Some(1), 0, 2));
        assert!(is_needed(Some(3), 0, 2));
        assert!(is_needed(Some(4), 1, 2));
        assert!(!is_needed(Some(4), 0, 2));
        assert!(!is_needed(Some(7), 1, 2));
        assert!(is_needed(None, 0, 2));
    }
}

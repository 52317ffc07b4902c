//! Threads that work once in each period.

use super::Microseconds;
use crate::syscall;

/// A replenishment may come early by this part of a period, by the clock of the thread, and still be the
/// release: that clock and the kernel's are not read in the same moment, and round differently.
const EARLY: u64 = 16;

/// The releases of a thread that works once in each period of its scheduling context, which should be
/// sporadic: then a replenishment comes one period after the last, however late the thread got the processor.
///
/// `Yield` alone gives up the rest of the current replenishment, whichever that is. After a job that took
/// longer than the budget, it is that of the next release already, and the next job would be missed.
#[derive(Clone, Copy, Debug)]
pub struct Periodic {
    period: Microseconds,
    next: Microseconds,
}

impl Periodic {
    /// The first release is `now`.
    pub fn new(period: Microseconds, now: Microseconds) -> Self {
        Self {
            period,
            next: now + period,
        }
    }

    /// Waits for the next release; says how late the thread has come to it. If the release has passed, the
    /// thread goes on at once, with what there is of the current replenishment. So releases that were missed
    /// are made up for, one by one; a thread that wants to leave some out can tell them by the answer.
    pub fn wait(&mut self, now: impl Fn() -> Microseconds) -> Microseconds {
        let mut time = now();
        while time < self.next {
            syscall::yield_now();
            time = now();
            if time < self.next && self.next.0 - time.0 <= self.period.0 / EARLY {
                // From here on the kernel's clock counts.
                self.next = time;
            }
        }
        let late = time - self.next;
        self.next = self.next + self.period;
        late
    }
}

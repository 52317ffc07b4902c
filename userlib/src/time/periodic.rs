//! Periodic threads.

use super::Microseconds;
use crate::{syscall, trace};

/// By the thread's clock, a replenishment may be early by this fraction of a period and still count as the
/// release: the thread's and the kernel's clock are read at different times and rounded differently.
const EARLY: u64 = 16;

/// The releases of a thread with one job in each period of its scheduling context, which should be sporadic:
/// then a replenishment comes one period after the last, however late the thread was scheduled.
///
/// `Yield` alone gives up the remaining budget of the head replenishment, whichever that is. After a job that
/// took longer than the budget, the head replenishment is that of the next release already, and the next job
/// would be missed.
///
/// The jobs are marked in a trace of the kernel (see [`trace`]). The deadline of each is the next release.
#[derive(Clone, Copy, Debug)]
pub struct Periodic {
    period: Microseconds,
    next: Microseconds,
    /// The number of the current job.
    job: u64,
}

impl Periodic {
    /// Creates the sequence with its first release at `now`.
    pub fn new(period: Microseconds, now: Microseconds) -> Self {
        trace::begun(0, 0);
        Self {
            period,
            next: now + period,
            job: 0,
        }
    }

    /// The release of the current job.
    pub fn release(&self) -> Microseconds {
        self.next - self.period
    }

    /// Waits for the next release; returns how late the thread has reached it. If the release has passed, the
    /// thread continues at once, with the remaining budget of the head replenishment. So missed releases are
    /// made up for, one by one; a thread can skip jobs depending on the returned value.
    pub fn wait(&mut self, now: impl Fn() -> Microseconds) -> Microseconds {
        let mut time = now();
        trace::done(0, self.job);
        if time > self.next {
            trace::missed(0, self.job);
        }
        while time < self.next {
            syscall::yield_now();
            time = now();
            if time < self.next && self.next.0 - time.0 <= self.period.0 / EARLY {
                // The kernel's clock decides; later releases are relative to this one.
                self.next = time;
            }
        }
        let late = time - self.next;
        self.next = self.next + self.period;
        self.job += 1;
        trace::begun(0, self.job);
        late
    }
}

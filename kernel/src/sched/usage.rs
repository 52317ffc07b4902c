//! How much processor time threads use: for benchmarks, in kernels of kind `bench` only.
//!
//! Unlike the time charged to scheduling contexts this is a measurement: it includes idle time, counts
//! switches and kernel entries, and nothing depends on it. Other kernels never start it.

use super::Scheduler;
use crate::arch::{Arch, Interrupt};
use crate::instruments::Usage;
use crate::object::{Fault, Thread};
use crate::token::Ptr;
use abi::Syscall;

use super::entry_log::EntryLog;

/// The reason for a kernel entry.
pub(crate) enum EntryReason {
    /// A system call; `None` for an unknown number.
    Syscall(Option<Syscall>),
    /// A fault of the current thread.
    Fault(Fault),
    /// An interrupt.
    Interrupt(Interrupt),
}

/// The measurement of one core.
#[derive(Debug, Default)]
pub(super) struct Measurement {
    running: bool,
    start: u64,
    end: u64,
    /// When the current thread was switched to, and when the kernel was entered last.
    switched: u64,
    entered: u64,
    idle: Usage,
    total: Usage,
    pub(super) log: EntryLog,
}

impl<A: Arch> Scheduler<A> {
    fn counters(&mut self, thread: Option<Ptr<Thread<A>>>) -> &mut Usage {
        match thread {
            #[cfg(feature = "bench")]
            Some(thread) => &mut self[thread].instruments.usage,
            _ => &mut self.core.measurement.idle,
        }
    }

    /// Whether a measurement is running.
    #[inline(always)]
    pub(crate) fn is_measured(&self) -> bool {
        cfg!(feature = "bench") && self.core.measurement.running
    }

    /// Whether entries are measured or traced, so that none takes a fast path. Kernels without tracing do not read the
    /// field: where it is read, LLVM no longer finds that all callers pass the same kernel, and slow paths on ARMv7 take
    /// up to 19 instructions more.
    #[inline(always)]
    pub(crate) fn is_observed(&self) -> bool {
        match cfg!(feature = "tracing") {
            true => self.core.is_observed,
            false => self.is_measured(),
        }
    }

    /// Entries are measured or traced from now on, or are no longer.
    pub(crate) fn observe(&mut self) {
        self.core.is_observed = self.is_measured() || self.is_traced();
        self.core.check_threshold = self.check_threshold(&self.budget());
    }

    /// Called at kernel entry.
    #[inline(always)]
    pub(crate) fn measure_entry(&mut self, entry: EntryReason) {
        if self.is_measured() {
            self.core.measurement.entered = self.arch.now().0;
            self.describe_entry(&entry);
        }
    }

    /// Called at kernel exit; `before` is the thread that ran at the entry.
    #[inline(always)]
    pub(crate) fn measure_exit(&mut self, before: Option<Ptr<Thread<A>>>) {
        if self.is_measured() {
            self.count_entry(before);
        }
    }

    fn count_entry(&mut self, before: Option<Ptr<Thread<A>>>) {
        let now = self.arch.now().0;
        let entered = self.core.measurement.entered;
        let duration = now.saturating_sub(entered);
        self.core.measurement.log.write::<A>(entered, duration);
        let total = &mut self.core.measurement.total;
        total.kernel_time += duration;
        total.kernel_entries += 1;
        let counters = self.counters(before);
        counters.kernel_time += duration;
        counters.kernel_entries += 1;
        if before != self.core.current {
            self.measure_switch(before, now);
        }
    }

    fn measure_switch(&mut self, before: Option<Ptr<Thread<A>>>, now: u64) {
        let ran = now.saturating_sub(self.core.measurement.switched);
        self.core.measurement.switched = now;
        self.counters(before).time += ran;
        let current = self.core.current;
        self.counters(current).schedules += 1;
        self.core.measurement.total.schedules += 1;
    }

    /// Restarts the measurement (`BenchmarkResetLog`).
    pub(crate) fn start_measuring(&mut self) {
        let now = self.arch.now().0;
        let mut log = core::mem::take(&mut self.core.measurement.log);
        log.clear();
        self.core.measurement = Measurement {
            log,
            ..Measurement::default()
        };
        let measurement = &mut self.core.measurement;
        (measurement.running, measurement.start, measurement.switched) = (true, now, now);
        measurement.entered = now;
        self.observe();
        if let Some(thread) = self.core.current {
            self.reset_usage(thread);
        }
    }

    /// Stops measuring (`BenchmarkFinalizeLog`); returns the number of entries in the log.
    pub(crate) fn stop_measuring(&mut self) -> usize {
        let now = self.arch.now().0;
        let current = self.core.current;
        if self.core.measurement.running {
            self.measure_switch(current, now);
            self.core.measurement.running = false;
            self.core.measurement.end = now;
            self.observe();
        }
        self.core.measurement.log.len()
    }

    /// The counters of a thread, of the idle loop and of all threads, in the ABI's order.
    pub(crate) fn usage_words(&mut self, thread: Ptr<Thread<A>>) -> [u64; 13] {
        let usage = *self.counters(Some(thread));
        let measurement = &self.core.measurement;
        let end = if measurement.running {
            self.arch.now().0
        } else {
            measurement.end
        };
        let total = Usage {
            time: end.saturating_sub(measurement.start),
            ..measurement.total
        };
        let mut words = [0; 13];
        words[..4].copy_from_slice(&usage.words());
        words[4] = measurement.idle.time;
        words[5..9].copy_from_slice(&measurement.idle.words());
        words[9..].copy_from_slice(&total.words());
        words
    }

    /// Resets the counters of a thread.
    pub(crate) fn reset_usage(&mut self, thread: Ptr<Thread<A>>) {
        *self.counters(Some(thread)) = Usage::default();
    }
}

//! The state of one processor.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::path::{Path, Step};

/// One processor.
#[derive(Default)]
pub struct Processor {
    /// Its time when a user ran last: its own instructions, and those that it had waited for.
    user_time: AtomicU64,
    /// Both since then.
    way: Path,
    /// The length of `way` when a user ran again.
    way_back: AtomicUsize,
    /// The length of `way` when the current interrupts-disabled section began.
    begin: AtomicUsize,
    /// The instructions of this section that the processor has waited for.
    wait: AtomicUsize,
    /// The processors in the kernel for which it waits, one bit each.
    awaited: AtomicU64,
    /// An interrupt that was not taken yet has arrived after this time.
    since: AtomicU64,
    /// The time of the last preemption point since the kernel entry, or 0.
    looked: AtomicU64,
    /// Whether the kernel has stopped an operation since then, because an interrupt may be pending.
    stopped: AtomicBool,
    /// Whether the kernel has exited, and no user instruction was executed yet.
    is_back: AtomicBool,
    /// The longest time that an interrupt may have waited when a user ran again; computed from `since`.
    waited: AtomicU64,
}

/// An interrupts-disabled section that has ended.
pub struct Section<'a> {
    way: &'a Path,
    range: Range<usize>,
    /// The number of instructions that the processor has waited for.
    pub wait: usize,
}

impl Section<'_> {
    /// The number of the processor's own instructions.
    pub fn length(&self) -> usize {
        self.range.len() - self.wait
    }

    /// The kept addresses of its own instructions, or of those that it has waited for; valid until it executes
    /// another one.
    pub fn addresses(&self, are_waited_for: bool) -> Vec<u64> {
        let steps = self.way.copy(self.range.clone());
        let chosen = steps.filter(|step| step.is_waited_for == are_waited_for);
        chosen.map(|step| step.address).collect()
    }
}

impl Processor {
    /// Its time: its own instructions, and those that it has waited for.
    #[inline]
    fn now(&self) -> u64 {
        self.user_time.load(Relaxed) + self.way.length() as u64
    }

    /// Executes user instructions: any interrupt would have been taken before the first.
    #[inline]
    pub fn user(&self, count: u64) {
        let now = self.now();
        if self.way.length() > 0 || self.is_back.load(Relaxed) {
            self.is_back.store(false, Relaxed);
            self.waited.store(now - self.since.load(Relaxed), Relaxed);
            self.way_back.store(self.way.restart(), Relaxed);
            self.begin.store(0, Relaxed);
        }
        self.user_time.store(now + count, Relaxed);
        self.since.store(now + count, Relaxed);
        self.looked.store(0, Relaxed);
        self.stopped.store(false, Relaxed);
    }

    /// Executes a kernel instruction.
    #[inline]
    pub fn kernel(&self, address: u64) {
        self.way.push(Step {
            address,
            is_waited_for: false,
        });
    }

    /// The processor could take an interrupt now: ends its interrupts-disabled section, if there is one.
    #[inline]
    pub fn close(&self) -> Option<Section<'_>> {
        let range = self.begin.load(Relaxed)..self.way.length();
        if range.is_empty() {
            return None;
        }
        self.begin.store(range.end, Relaxed);
        Some(Section {
            way: &self.way,
            range,
            wait: self.wait.swap(0, Relaxed),
        })
    }

    /// The kernel reaches a preemption point. At an earlier one there was no interrupt, because the kernel
    /// continued.
    pub fn look(&self) {
        let before = self.looked.swap(self.now(), Relaxed);
        if before != 0 {
            self.since.store(before, Relaxed);
        }
    }

    /// The kernel stops an operation at a preemption point. An interrupt may be the reason.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// The kernel exits, or waits for an interrupt. If it has stopped no operation, there was no interrupt at
    /// the last preemption point.
    pub fn leave(&self) {
        let looked = self.looked.swap(0, Relaxed);
        if !self.stopped.swap(false, Relaxed) && looked != 0 {
            self.since.store(looked, Relaxed);
        }
        self.is_back.store(true, Relaxed);
    }

    /// The longest time that the interrupt which made the user run again may have waited.
    pub fn waited(&self) -> u64 {
        self.waited.load(Relaxed)
    }

    /// The instructions executed in that time; valid while a user runs.
    pub fn way(&self) -> Vec<u64> {
        let end = self.way_back.load(Relaxed);
        let steps = self
            .way
            .copy(end.saturating_sub(self.waited() as usize)..end);
        steps.map(|step| step.address).collect()
    }

    /// From now on this processor waits for others.
    pub fn wait_for(&self, others: u64) {
        self.awaited.store(others, Relaxed);
    }

    /// This processor no longer waits for some of them.
    pub fn forget(&self, others: u64) {
        let awaited = self.awaited.load(Relaxed);
        if awaited & others != 0 {
            self.awaited.store(awaited & !others, Relaxed);
        }
    }

    /// Another processor has executed a kernel instruction.
    pub fn let_go_on(&self, other: u64, address: u64) {
        if self.awaited.load(Relaxed) & other != 0 {
            self.way.push(Step {
                address,
                is_waited_for: true,
            });
            self.wait.store(self.wait.load(Relaxed) + 1, Relaxed);
        }
    }
}

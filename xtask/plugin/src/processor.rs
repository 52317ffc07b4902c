//! The state of one processor.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::path::Path;

/// One processor.
#[derive(Default)]
pub struct Processor {
    /// Its time: its own instructions, and those that it has waited for.
    now: AtomicU64,
    /// The current interrupts-disabled section.
    pub stretch: Path,
    /// The instructions that it has waited for in this section.
    pub wait: Path,
    /// Both of these since a user has run.
    way: Path,
    /// The length of `way` when a user ran again.
    way_back: AtomicUsize,
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

impl Processor {
    /// Executes user instructions: any interrupt would have been taken before the first. Returns whether an
    /// interrupts-disabled section has ended.
    pub fn user(&self, count: u64) -> bool {
        let now = self.now.load(Relaxed);
        let has_ended = self.stretch.length() > 0 || self.is_back.load(Relaxed);
        if has_ended {
            self.is_back.store(false, Relaxed);
            self.waited.store(now - self.since.load(Relaxed), Relaxed);
            self.way_back.store(self.way.restart(), Relaxed);
        }
        self.now.store(now + count, Relaxed);
        self.since.store(now + count, Relaxed);
        self.looked.store(0, Relaxed);
        self.stopped.store(false, Relaxed);
        has_ended
    }

    /// Executes a kernel instruction.
    pub fn kernel(&self, address: u64) {
        self.pass(address);
        self.stretch.push(address);
    }

    /// The kernel reaches a preemption point. At an earlier one there was no interrupt, because the kernel
    /// continued.
    pub fn look(&self) {
        let before = self.looked.swap(self.now.load(Relaxed), Relaxed);
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
        self.way
            .copy(end.saturating_sub(self.waited() as usize)..end)
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
            self.pass(address);
            self.wait.push(address);
        }
    }

    fn pass(&self, address: u64) {
        self.way.push(address);
        self.now.store(self.now.load(Relaxed) + 1, Relaxed);
    }
}

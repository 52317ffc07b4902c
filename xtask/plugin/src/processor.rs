//! What is kept of one processor.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::path::Path;

/// One processor.
#[derive(Default)]
pub struct Processor {
    /// Its time: its own instructions, and those that it has waited for.
    now: AtomicU64,
    /// The stretch that goes on.
    pub stretch: Path,
    /// What it has waited for in this stretch.
    pub wait: Path,
    /// Both, since a user has run, and how many there were when one ran again.
    way: Path,
    way_back: AtomicUsize,
    /// Those whose work in the kernel it waits for, a bit each.
    awaited: AtomicU64,
    /// An interrupt that was not taken yet has come after this moment.
    since: AtomicU64,
    /// When the kernel has looked for one last, in this stay; or 0.
    looked: AtomicU64,
    /// Whether the kernel has left, and no user has run yet.
    is_back: AtomicBool,
    /// What `since` told when a user ran again: how long an interrupt may have waited.
    waited: AtomicU64,
}

impl Processor {
    /// Instructions of a user: before the first, any interrupt would have been taken. Returns whether a
    /// stretch has ended.
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
        has_ended
    }

    /// An instruction of the kernel.
    pub fn kernel(&self, address: u64) {
        self.pass(address);
        self.stretch.push(address);
    }

    /// The kernel looks whether an interrupt waits. If it has looked before, there was none then, since it
    /// went on.
    pub fn look(&self) {
        let before = self.looked.swap(self.now.load(Relaxed), Relaxed);
        if before != 0 {
            self.since.store(before, Relaxed);
        }
    }

    /// The kernel returns to a user, or waits for an interrupt. It may do so because it has seen one.
    pub fn leave(&self) {
        self.looked.store(0, Relaxed);
        self.is_back.store(true, Relaxed);
    }

    /// How long an interrupt has waited at most that let the user run again.
    pub fn waited(&self) -> u64 {
        self.waited.load(Relaxed)
    }

    /// What was done meanwhile, while a user runs.
    pub fn way(&self) -> Vec<u64> {
        let end = self.way_back.load(Relaxed);
        self.way
            .copy(end.saturating_sub(self.waited() as usize)..end)
    }

    /// From now on it waits for others.
    pub fn wait_for(&self, others: u64) {
        self.awaited.store(others, Relaxed);
    }

    /// It waits no longer for some of them.
    pub fn forget(&self, others: u64) {
        let awaited = self.awaited.load(Relaxed);
        if awaited & others != 0 {
            self.awaited.store(awaited & !others, Relaxed);
        }
    }

    /// Another one has executed an instruction of the kernel.
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

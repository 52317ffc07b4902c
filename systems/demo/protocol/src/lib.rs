//! The protocols of the demo's components.
//!
//! Requests to the server are messages. A component and the screen communicate through a shared page.
#![no_std]

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use userlib::Microseconds;
use userlib::arch::nops;
use userlib::time::Clock;

/// Labels of requests to the server.
pub mod request {
    /// A small amount of work, given in word 0.
    pub const WORK: usize = 1;
    /// Work without an end.
    pub const ENDLESS: usize = 2;
}

/// Labels of the server's replies. If the caller's budget is used up first, the supervisor replies with another
/// one.
pub mod answer {
    /// Done.
    pub const DONE: usize = 0;
}

/// A page of words that the screen shares with a client or the hog.
#[derive(Clone, Copy, Debug)]
pub struct Report(pub &'static [AtomicUsize]);

impl Report {
    const ATTACK: usize = 0;
    const DONE: usize = 1;
    const OUT_OF_TIME: usize = 2;
    const BLACKOUT: usize = 3;

    /// Makes the hog overrun in the server, or ends that.
    pub fn set_attack(self, on: bool) {
        self.0[Self::ATTACK].store(on as usize, Relaxed);
    }

    /// Whether the hog must overrun in the server.
    pub fn attack(self) -> bool {
        self.0[Self::ATTACK].load(Relaxed) != 0
    }

    /// Counts a reply.
    pub fn count(self, label: usize) {
        let counter = if label == answer::DONE {
            Self::DONE
        } else {
            Self::OUT_OF_TIME
        };
        self.0[counter].fetch_add(1, Relaxed);
    }

    /// Number of requests that were completed.
    pub fn done(self) -> usize {
        self.0[Self::DONE].load(Relaxed)
    }

    /// Number of requests that were aborted because the budget was used up.
    pub fn out_of_time(self) -> usize {
        self.0[Self::OUT_OF_TIME].load(Relaxed)
    }

    /// Records that the component was without the processor for so many microseconds.
    pub fn blackout(self, microseconds: u64) {
        self.0[Self::BLACKOUT].fetch_max(microseconds as usize, Relaxed);
    }

    /// The longest time without the processor, in microseconds.
    pub fn longest_blackout(self) -> u64 {
        self.0[Self::BLACKOUT].load(Relaxed) as u64
    }
}

/// A component that wants the whole processor, and records the longest time it was without it.
pub struct Busy<'a> {
    report: Report,
    clock: &'a Clock,
    /// When it last read the clock.
    last: Microseconds,
}

impl<'a> Busy<'a> {
    /// Work between two readings of the clock.
    const ROUNDS: usize = 340;

    /// A component that has the processor now.
    pub fn new(report: Report, clock: &'a Clock) -> Self {
        let last = clock.now();
        Self {
            report,
            clock,
            last,
        }
    }

    /// Keeps the processor busy until so much time has passed, however much of it the component had the
    /// processor: the speed of a loop would say nothing about an emulator.
    pub fn compute(&mut self, time: Microseconds) {
        let end = self.clock.now() + time;
        loop {
            work(Self::ROUNDS);
            self.read_clock();
            if self.last >= end {
                return;
            }
        }
    }

    /// Records the time since the last reading.
    pub fn read_clock(&mut self) {
        let now = self.clock.now();
        self.report.blackout((now - self.last).0);
        self.last = now;
    }
}

/// Keeps the processor busy.
pub fn work(rounds: usize) {
    for _ in 0..rounds {
        nops();
    }
}

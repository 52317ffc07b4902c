//! What the components of the demo say to one another.
//!
//! Requests go to the server in messages. What a component tells the root task, and the other way
//! round, stands in a page that it shares with it.
#![no_std]

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Labels of requests to the server.
pub mod request {
    /// A little work; word 0 says how much.
    pub const WORK: usize = 1;
    /// Work without an end: what a well-meant server must survive.
    pub const ENDLESS: usize = 2;
}

/// Labels of the server's answers.
pub mod answer {
    /// Done.
    pub const DONE: usize = 0;
    /// Not done: the caller's time was used up first.
    pub const OUT_OF_TIME: usize = 1;
}

/// A page of words that the root task shares with a client or the hog.
#[derive(Clone, Copy, Debug)]
pub struct Report(pub &'static [AtomicUsize]);

impl Report {
    const ATTACK: usize = 0;
    const DONE: usize = 1;
    const OUT_OF_TIME: usize = 2;
    const BLACKOUT: usize = 3;

    /// The root task lets the hog overrun inside the server, or ends that.
    pub fn set_attack(self, on: bool) {
        self.0[Self::ATTACK].store(on as usize, Relaxed);
    }

    /// Whether the hog is to overrun inside the server.
    pub fn attack(self) -> bool {
        self.0[Self::ATTACK].load(Relaxed) != 0
    }

    /// A component counts an answer.
    pub fn count(self, label: usize) {
        let counter = if label == answer::DONE {
            Self::DONE
        } else {
            Self::OUT_OF_TIME
        };
        self.0[counter].fetch_add(1, Relaxed);
    }

    /// Requests that were done.
    pub fn done(self) -> usize {
        self.0[Self::DONE].load(Relaxed)
    }

    /// Requests that were cut off because the time was used up.
    pub fn out_of_time(self) -> usize {
        self.0[Self::OUT_OF_TIME].load(Relaxed)
    }

    /// A component has found itself without the processor for so many microseconds.
    pub fn blackout(self, microseconds: u64) {
        self.0[Self::BLACKOUT].fetch_max(microseconds as usize, Relaxed);
    }

    /// The longest time without the processor, in microseconds.
    pub fn longest_blackout(self) -> u64 {
        self.0[Self::BLACKOUT].load(Relaxed) as u64
    }
}

/// Keeps the processor busy.
pub fn work(rounds: usize) {
    for round in 0..rounds {
        core::hint::black_box(round);
    }
}

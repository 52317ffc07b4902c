//! A crew: one thread per core, which all do the same at the same time, and a measurement of how long that
//! takes.
//!
//! An emulator with one host thread per core does not count instructions, so this measures time, and other
//! programs use the host, too. Therefore rounds are short, and numbers of cores alternate from round to
//! round, so that a disturbance affects all of them alike. A round ends for all threads when the first one
//! has completed its turns; the result is the number of turns that all have completed by then, so that no
//! thread is measured without the load of the others.

use crate::bench::{Bench, MAX_CORES};
use crate::measure::Counter;
use core::sync::atomic::{AtomicUsize, Ordering};
use userlib::cap::Notification;
use userlib::{CPtr, Capability, Result};

/// Rounds that are not counted.
const WARM_UP: usize = 2;
/// Measured rounds.
pub const ROUNDS: usize = 31;

/// How often a round is repeated in which the host does not run all cores.
const ATTEMPTS: usize = 10;

/// One sample per round.
pub type Samples = [usize; ROUNDS];

/// Results of several cores, one per round.
#[derive(Clone, Copy)]
pub struct Pace {
    /// Turns per second, of all cores together.
    pub rate: Samples,
    /// Picoseconds per turn, the mean of the cores.
    pub time: Samples,
}

/// A word in a cache line of its own, against false sharing.
#[repr(align(64))]
struct Line(AtomicUsize);

impl Line {
    const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }
}

/// Number of threads in this round.
static ACTIVE: Line = Line::new();
/// How many of them have started.
static COME: Line = Line::new();
/// How many of them have stopped.
static STOPPED: Line = Line::new();
/// Ticks that the first thread to complete its turns took; 0 until then.
static TICKS: Line = Line::new();
/// Turns that all threads together have completed by then.
static DONE: Line = Line::new();
/// Turns that the slowest thread has completed by then.
static LEAST: Line = Line::new();

/// A thread on each core.
pub struct Crew {
    size: usize,
    turns: usize,
    megahertz: usize,
    start: [Notification; MAX_CORES],
    stopped: Notification,
}

impl Crew {
    /// Creates a thread on each core. `member` returns the operation of a core's turn. Each thread does at
    /// most `turns` turns per round.
    pub fn gather<F: FnMut() + Send + 'static>(
        bench: &mut Bench,
        turns: usize,
        mut member: impl FnMut(&mut Bench, usize) -> Result<F>,
    ) -> Result<Self> {
        let (counter, stopped) = (bench.counter(), bench.allocator.create()?);
        let mut crew = Self {
            size: bench.cores,
            turns,
            megahertz: bench.megahertz,
            start: [Notification::at(CPtr::NULL); MAX_CORES],
            stopped,
        };
        for core in 0..crew.size {
            let start: Notification = bench.allocator.create()?;
            let mut turn = member(bench, core)?;
            bench.run_on(core, move || {
                loop {
                    start.wait();
                    work(counter, turns, &mut turn);
                    stopped.signal();
                }
            })?;
            crew.start[core] = start;
        }
        Ok(crew)
    }

    /// Measures one active core, two, and so on up to all, in each round; calls `report` for each number.
    pub fn measure(&self, mut report: impl FnMut(usize, &Pace)) {
        const NOTHING: Pace = Pace {
            rate: [0; ROUNDS],
            time: [0; ROUNDS],
        };
        let mut paces = [NOTHING; MAX_CORES];
        for round in 0..WARM_UP + ROUNDS {
            for (index, pace) in paces[..self.size].iter_mut().enumerate() {
                let (rate, time) = self.fair_round(index + 1);
                if let Some(sample) = round.checked_sub(WARM_UP) {
                    (pace.rate[sample], pace.time[sample]) = (rate, time);
                }
            }
        }
        for (index, pace) in paces[..self.size].iter().enumerate() {
            report(index + 1, pace);
        }
    }

    /// Runs a round in which each core did at least half of its turns. If no attempt succeeds because of the
    /// host's scheduling, returns the last one.
    fn fair_round(&self, active: usize) -> (usize, usize) {
        for _ in 1..ATTEMPTS {
            let pace = self.round(active);
            if 2 * LEAST.0.load(Ordering::Relaxed) >= self.turns {
                return pace;
            }
        }
        self.round(active)
    }

    /// Runs a round with so many active cores. Returns turns per second, and picoseconds per turn.
    fn round(&self, active: usize) -> (usize, usize) {
        for line in [&COME, &STOPPED, &TICKS, &DONE] {
            line.0.store(0, Ordering::Relaxed);
        }
        LEAST.0.store(usize::MAX, Ordering::Relaxed);
        // Release: the signals publish the stores above.
        ACTIVE.0.store(active, Ordering::Release);
        for start in &self.start[..active] {
            start.signal();
        }
        while STOPPED.0.load(Ordering::Acquire) < active {
            self.stopped.wait();
        }
        let [ticks, done] = [&TICKS, &DONE].map(|line| line.0.load(Ordering::Relaxed) as u64);
        let (megahertz, active) = (self.megahertz as u64, active as u64);
        let rate = done * megahertz * 1_000_000 / ticks;
        let time = ticks * active * 1_000_000 / (done * megahertz);
        (rate as usize, time as usize)
    }
}

/// Does the turns of one thread in a round.
#[expect(
    clippy::missing_spin_loop,
    reason = "emulators would pause, and one core could finish before the next starts"
)]
fn work(counter: Counter, turns: usize, turn: &mut impl FnMut()) {
    let active = ACTIVE.0.load(Ordering::Acquire);
    // Relaxed, because no data are published before the last line.
    COME.0.fetch_add(1, Ordering::Relaxed);
    while COME.0.load(Ordering::Relaxed) < active {}
    let from = counter.now();
    let mut done = 0;
    while done < turns && TICKS.0.load(Ordering::Relaxed) == 0 {
        turn();
        done += 1;
    }
    if done == turns {
        let ticks = counter.between(from, counter.now()).max(1);
        // If two threads finish at the same time, the first one counts.
        let _ = TICKS
            .0
            .compare_exchange(0, ticks, Ordering::Relaxed, Ordering::Relaxed);
    }
    DONE.0.fetch_add(done, Ordering::Relaxed);
    LEAST.0.fetch_min(done, Ordering::Relaxed);
    // Release: publishes the stores above.
    STOPPED.0.fetch_add(1, Ordering::Release);
}

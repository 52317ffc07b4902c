//! A crew: on each core a thread, all of which do the same at the same time, and how long that takes.
//!
//! An emulator that gives each core a thread of the host counts no instructions. What is measured is time,
//! and others use the host, too. So rounds are short, and numbers of cores take turns from round to round: what
//! disturbs one disturbs the others as well. A round ends for all when the first is through with its turns; what
//! counts is what all have done until then, so that nobody is measured in quiet.

use crate::bench::{Bench, MOST_CORES};
use crate::measure::Counter;
use core::sync::atomic::{AtomicUsize, Ordering};
use userlib::cap::Notification;
use userlib::{CPtr, Capability, Result};

/// Rounds that are not counted.
const WARM_UP: usize = 2;
/// Rounds that are counted.
pub const ROUNDS: usize = 31;

/// How often a round is tried in which the host does not let all cores run.
const ATTEMPTS: usize = 10;

/// One sample a round.
pub type Samples = [usize; ROUNDS];

/// What several cores did, each as the number of the round.
#[derive(Clone, Copy)]
pub struct Pace {
    /// Turns a second, of all cores together.
    pub rate: Samples,
    /// Picoseconds a turn, the mean of the cores.
    pub time: Samples,
}

/// A word by itself, so that nobody is disturbed by others.
#[repr(align(64))]
struct Line(AtomicUsize);

impl Line {
    const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }
}

/// How many take part in this round.
static ACTIVE: Line = Line::new();
/// How many of them have come,
static COME: Line = Line::new();
/// and have stopped.
static STOPPED: Line = Line::new();
/// How long the first took for its turns; 0 while nobody is through with them.
static TICKS: Line = Line::new();
/// What all have done until then.
static DONE: Line = Line::new();
/// What the slowest has done until then.
static LEAST: Line = Line::new();

/// A thread on each core.
pub struct Crew {
    size: usize,
    turns: usize,
    megahertz: usize,
    start: [Notification; MOST_CORES],
    stopped: Notification,
}

impl Crew {
    /// Puts a thread on each core. `member` says what the one of a core does in each turn. There are at most
    /// so many turns a round for each.
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
            start: [Notification::at(CPtr::NULL); MOST_CORES],
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

    /// Lets one core work, two, and so on up to all, again and again; `report` is called with each number.
    pub fn measure(&self, mut report: impl FnMut(usize, &Pace)) {
        const NOTHING: Pace = Pace {
            rate: [0; ROUNDS],
            time: [0; ROUNDS],
        };
        let mut paces = [NOTHING; MOST_CORES];
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

    /// A round in which all cores had their part, if the host lets them: each did half as much as it
    /// could at least. If it never does, the last one counts.
    fn fair_round(&self, active: usize) -> (usize, usize) {
        for _ in 1..ATTEMPTS {
            let pace = self.round(active);
            if 2 * LEAST.0.load(Ordering::Relaxed) >= self.turns {
                return pace;
            }
        }
        self.round(active)
    }

    /// Lets so many cores work. Returns turns a second, and picoseconds a turn.
    fn round(&self, active: usize) -> (usize, usize) {
        for line in [&COME, &STOPPED, &TICKS, &DONE] {
            line.0.store(0, Ordering::Relaxed);
        }
        LEAST.0.store(usize::MAX, Ordering::Relaxed);
        // What is said by signals comes behind this.
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

/// Does its turns together with the others.
#[expect(
    clippy::missing_spin_loop,
    reason = "emulators would pause, and one core could be through before the next begins"
)]
fn work(counter: Counter, turns: usize, turn: &mut impl FnMut()) {
    let active = ACTIVE.0.load(Ordering::Acquire);
    // Relaxed, as nothing is handed over before the last line.
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
        // If two are through at the same time, the first counts.
        let _ = TICKS
            .0
            .compare_exchange(0, ticks, Ordering::Relaxed, Ordering::Relaxed);
    }
    DONE.0.fetch_add(done, Ordering::Relaxed);
    LEAST.0.fetch_min(done, Ordering::Relaxed);
    // Release: all of that.
    STOPPED.0.fetch_add(1, Ordering::Release);
}

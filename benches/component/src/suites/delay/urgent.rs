//! The thread that wants to run, and what it has around it where it has a core of its own.

use crate::bench::{self, Bench};
use crate::mark::{DONE, RELEASED, WATCH, mark};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use userlib::cap::{SchedParameters, Tcb};
use userlib::{Microseconds, Result, syscall};

/// More urgent than all others.
const PRIORITY: u8 = 254;
/// It asks for little more than the smallest budget, which must be left when it enters the kernel, and is
/// in step with nothing.
const TIME: SchedParameters = SchedParameters::new(Microseconds(26), Microseconds(31)).sporadic();
/// What it asks for where it has a core of its own. For an emulator that plays the cores in turns, time
/// passes on all of them while one has its turn: there must be enough of it for that, too.
const TIME_ALONE: SchedParameters =
    SchedParameters::new(Microseconds(120), Microseconds(127)).sporadic();
/// The priority of a thread for which a core of its own is left.
const LEAST: u8 = 1;
/// The time of the clock of [`tick`], which is in step with nothing, either.
const CLOCK: SchedParameters = SchedParameters::new(Microseconds(26), Microseconds(29)).sporadic();
/// Releases until everything has its place.
const WARM_UP: usize = 4;
/// How many releases there must be while something happens.
const ENOUGH: usize = 64;

/// Releases so far, and microseconds between them.
static RELEASES: AtomicUsize = AtomicUsize::new(0);
static PERIOD: AtomicUsize = AtomicUsize::new(TIME.period.0 as usize);

/// The urgent thread, as the first one sees it.
pub struct Urgent {
    tcb: Tcb,
    others: Option<[Tcb; 2]>,
    start: usize,
}

impl Urgent {
    /// Starts it. If there are several cores, it has the first for itself, and all others are on the last:
    /// an emulator that plays the cores in turns looks at the timers before it begins with the first, so
    /// that this finds the last in the middle of what it does.
    pub fn start(bench: &mut Bench) -> Result<Self> {
        let (tcb, others) = match bench.cores {
            0 | 1 => (bench.run_with(0, PRIORITY, &TIME, run)?.0, None),
            cores => {
                PERIOD.store(TIME_ALONE.period.0 as usize, Relaxed);
                bench.move_to(cores - 1)?;
                let clock = bench.run_with(cores - 1, PRIORITY, &CLOCK, tick)?.0;
                let idler = bench.run_with(0, LEAST, &bench::TIME, idle)?.0;
                let urgent = bench.run_with(0, PRIORITY, &TIME_ALONE, run)?.0;
                (urgent, Some([idler, clock]))
            }
        };
        wait_for(WARM_UP);
        mark::<WATCH>();
        Ok(Self {
            tcb,
            others,
            start: RELEASES.load(Relaxed),
        })
    }

    /// Whether there were enough releases.
    pub fn is_content(&self) -> bool {
        RELEASES.load(Relaxed) - self.start >= ENOUGH
    }

    /// Ends the measurement: how many releases there were.
    pub fn end(self, bench: &mut Bench) -> Result<usize> {
        let releases = RELEASES.load(Relaxed) - self.start;
        mark::<DONE>();
        self.tcb.suspend()?;
        for tcb in self.others.into_iter().flatten() {
            tcb.suspend()?;
        }
        bench.settle()?;
        Ok(releases)
    }
}

/// Asks nothing of the kernel until there were so many releases more.
fn wait_for(releases: usize) {
    let until = RELEASES.load(Relaxed) + releases;
    // No hint that this is a loop: the emulator would leave its own loop for each.
    #[expect(clippy::missing_spin_loop, reason = "see above")]
    while RELEASES.load(Relaxed) < until {}
}

/// Lets so much time pass, roughly.
pub fn pass(time: Microseconds) {
    wait_for(time.0 as usize / PERIOD.load(Relaxed) + 1);
}

/// Yields until the next release, again and again.
fn run() {
    loop {
        syscall::yield_now();
        mark::<RELEASED>();
        RELEASES.fetch_add(1, Relaxed);
    }
}

/// Has nothing to do, in a program and not in the kernel: from there no interrupt waits. And says so, whereupon
/// an emulator that plays the cores in turns goes on with another.
fn idle() {
    loop {
        #[cfg(target_arch = "aarch64")]
        // SAFETY: a hint. The library has another instruction, of which emulators think nothing.
        unsafe {
            core::arch::asm!("yield", options(nomem, nostack, preserves_flags));
        }
        #[cfg(not(target_arch = "aarch64"))]
        core::hint::spin_loop();
    }
}

/// Yields, and is released again, again and again, while others want to run on this core.
///
/// An emulator that plays the cores in turns ends a turn when the moment of some timer has come. Without
/// this one the turns of the attackers' core would be long, and the time of the urgent thread over until it
/// has its own again.
fn tick() {
    loop {
        syscall::yield_now();
    }
}

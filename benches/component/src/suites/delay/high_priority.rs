//! The high-priority thread, and the threads that accompany it if it has a core of its own.

use crate::bench::{self, Bench};
use crate::mark::{DONE, RELEASED, WATCH, mark};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use userlib::cap::{SchedParameters, Tcb};
use userlib::{Microseconds, Result, syscall};

/// Higher than all others.
const PRIORITY: u8 = 254;
/// Its budget is slightly more than the smallest budget, which must be left when it enters the kernel. Its
/// period is not synchronised with anything.
const TIME: SchedParameters = SchedParameters::new(Microseconds(26), Microseconds(31)).sporadic();
/// Its parameters on a core of its own. If an emulator runs the cores by turns, time passes on all of them
/// during the turn of one; the budget must suffice for that, too.
const TIME_ALONE: SchedParameters =
    SchedParameters::new(Microseconds(120), Microseconds(127)).sporadic();
/// The priority of [`idle`], which otherwise runs on that core.
const LEAST: u8 = 1;
/// Parameters of the thread [`tick`], not synchronised with anything either.
const CLOCK: SchedParameters = SchedParameters::new(Microseconds(26), Microseconds(29)).sporadic();
/// Releases before the measurement, until the system is in a steady state.
const WARM_UP: usize = 4;
/// Least number of releases during a scenario.
const ENOUGH: usize = 64;

/// Number of releases so far, and microseconds between them.
static RELEASES: AtomicUsize = AtomicUsize::new(0);
static PERIOD: AtomicUsize = AtomicUsize::new(TIME.period.0 as usize);

/// Handle of the high-priority thread.
pub struct HighPriority {
    tcb: Tcb,
    others: Option<[Tcb; 2]>,
    start: usize,
}

impl HighPriority {
    /// Starts the thread. If there are several cores, it has the first for itself, and all other threads are
    /// on the last: an emulator that runs the cores by turns checks the timers before the turn of the first
    /// core, so that a release interrupts the last core in the middle of its work.
    pub fn start(bench: &mut Bench) -> Result<Self> {
        let (tcb, others) = match bench.cores {
            0 | 1 => (bench.run_with(0, PRIORITY, &TIME, run)?.0, None),
            cores => {
                PERIOD.store(TIME_ALONE.period.0 as usize, Relaxed);
                bench.move_to(cores - 1)?;
                let clock = bench.run_with(cores - 1, PRIORITY, &CLOCK, tick)?.0;
                let idler = bench.run_with(0, LEAST, &bench::TIME, idle)?.0;
                let high_priority = bench.run_with(0, PRIORITY, &TIME_ALONE, run)?.0;
                (high_priority, Some([idler, clock]))
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

    /// Ends the measurement; returns the number of releases.
    pub fn end(self, bench: &mut Bench) -> Result<usize> {
        let releases = RELEASES.load(Relaxed) - self.start;
        mark::<DONE>();
        self.tcb.suspend()?;
        for tcb in self.others.into_iter().flatten() {
            tcb.suspend()?;
        }
        bench.let_others_run()?;
        Ok(releases)
    }
}

/// Waits for so many further releases, without system calls.
fn wait_for(releases: usize) {
    let until = RELEASES.load(Relaxed) + releases;
    // Without a spin-loop hint, because on each the emulator would leave its main loop.
    #[expect(clippy::missing_spin_loop, reason = "see above")]
    while RELEASES.load(Relaxed) < until {}
}

/// Waits approximately so long.
pub fn pass(time: Microseconds) {
    wait_for(time.0 as usize / PERIOD.load(Relaxed) + 1);
}

/// Yields until the next release, repeatedly.
fn run() {
    loop {
        syscall::yield_now();
        mark::<RELEASED>();
        RELEASES.fetch_add(1, Relaxed);
    }
}

/// Idles in user mode instead of in the kernel, where it could delay interrupts. The hint makes an emulator
/// that runs the cores by turns continue with another.
fn idle() {
    loop {
        #[cfg(target_arch = "aarch64")]
        // SAFETY: a hint. The library uses another instruction, which emulators ignore.
        unsafe {
            core::arch::asm!("yield", options(nomem, nostack, preserves_flags));
        }
        #[cfg(not(target_arch = "aarch64"))]
        core::hint::spin_loop();
    }
}

/// Yields and is released again, repeatedly, while other threads are ready on this core.
///
/// An emulator that runs the cores by turns ends a turn when a timer expires. Without this thread, the turns
/// of the attackers' core would be long, and the high-priority thread would be out of budget before its own
/// core's next turn.
fn tick() {
    loop {
        syscall::yield_now();
    }
}

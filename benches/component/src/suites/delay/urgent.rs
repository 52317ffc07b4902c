//! The thread that wants to run.

use crate::bench::Bench;
use crate::mark::{DONE, RELEASED, WATCH, mark};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use userlib::cap::{SchedParameters, Tcb};
use userlib::thread::ThreadParameters;
use userlib::{CPtr, Microseconds, Result, syscall};

/// More urgent than all others.
const PRIORITY: u8 = 254;
/// It asks for little more than the smallest budget, which must be left when it enters the kernel, and is
/// in step with nothing.
const TIME: SchedParameters = SchedParameters::new(Microseconds(26), Microseconds(31)).sporadic();
/// Releases until everything has its place.
const WARM_UP: usize = 4;
/// How many releases there must be while something happens.
const ENOUGH: usize = 64;

/// Releases so far.
static RELEASES: AtomicUsize = AtomicUsize::new(0);

/// The urgent thread, as the first one sees it.
pub struct Urgent {
    tcb: Tcb,
    start: usize,
}

impl Urgent {
    /// Starts it.
    pub fn start(bench: &mut Bench) -> Result<Self> {
        let parameters = ThreadParameters {
            priority: PRIORITY,
            time: Some(TIME),
            fault_endpoint: CPtr::NULL,
        };
        let tcb = bench.spawn(&parameters, run)?.tcb;
        wait_for(WARM_UP);
        mark::<WATCH>();
        Ok(Self {
            tcb,
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
    wait_for((time.0 / TIME.period.0) as usize + 1);
}

/// Yields until the next release, again and again.
fn run() {
    loop {
        syscall::yield_now();
        mark::<RELEASED>();
        RELEASES.fetch_add(1, Relaxed);
    }
}

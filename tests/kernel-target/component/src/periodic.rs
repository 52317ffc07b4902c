//! Threads that work once in each period.

use crate::support::{ABOVE, Outcome, Test, ms, spin_for, work};
use crate::{check, check_eq};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use userlib::Microseconds;
use userlib::cap::SchedParameters;
use userlib::time::{Clock, Periodic};

tests![a_long_job_costs_no_release, pieces_are_no_releases];

const PERIOD: Microseconds = ms(40);
const TIME: SchedParameters = SchedParameters::new(ms(12), PERIOD).sporadic();
const JOBS: usize = 5;

static STARTS: [AtomicUsize; JOBS] = [const { AtomicUsize::new(0) }; JOBS];
static DONE: AtomicUsize = AtomicUsize::new(0);

/// Lets a thread perform jobs; checks that each begins at its release, or `late` milliseconds later.
fn check_jobs(
    test: &mut Test,
    time: SchedParameters,
    late: [u64; JOBS],
    job: impl Fn(&Clock, usize) + Send + 'static,
) -> Outcome {
    let startup = test.startup;
    let thread = test.timed(ABOVE, time, move || {
        let clock = Clock::from_startup(startup);
        let begin = clock.now();
        let mut periodic = Periodic::new(PERIOD, begin);
        for (index, start) in STARTS.iter().enumerate() {
            start.store((clock.now() - begin).0 as usize, Relaxed);
            DONE.store(index + 1, Relaxed);
            job(&clock, index);
            periodic.wait(|| clock.now());
        }
    })?;
    thread.start()?;
    test.sleep(ms(PERIOD.as_millis() * JOBS as u64))?;
    check_eq!(DONE.load(Relaxed), JOBS);
    for (index, (start, late)) in STARTS.iter().zip(late).enumerate() {
        let start = start.load(Relaxed) as u64;
        let expected = PERIOD.0 * index as u64 + ms(late).0;
        let is_in_time = start + ms(2).0 > expected && start < expected + ms(5).0;
        check!(is_in_time, "job {index} began after {start} us");
    }
    Ok(())
}

fn a_long_job_costs_no_release(test: &mut Test) -> Outcome {
    // The second job takes all of its budget and 6 ms of that of the third.
    check_jobs(test, TIME, [0, 0, 6, 0, 0], |clock, index| {
        // The clock also advances while the thread has no budget, so the work is done in two parts.
        spin_for(clock, ms(2));
        if index == 1 {
            spin_for(clock, PERIOD + ms(4));
        }
    })
}

fn pieces_are_no_releases(test: &mut Test) -> Outcome {
    // The thread gets a part of its budget back in the middle of a period: that is not a release.
    let time = TIME.with_extra_refills(4);
    let other = SchedParameters::new(ms(10), ms(1_000_000));
    let startup = test.startup;
    let high = test.timed(ABOVE + 1, other, move || {
        work(startup, ms(8));
    })?;
    check_jobs(test, time, [0; JOBS], move |clock, index| {
        spin_for(clock, ms(1));
        if index == 1 {
            // It cannot fail: the only effect is that time passes.
            let _ = high.start();
        }
        spin_for(clock, ms(1));
    })
}

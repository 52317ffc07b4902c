//! Does a job in each period. The second takes longer than the budget, and yet ends in its period; the fourth takes
//! longer than budget and extension, and ends in the next one.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::time::Load;
use userlib::{Microseconds, println, syscall, trace};

userlib::component!(main);

/// Its period, in microseconds.
const PERIOD: u64 = 20_000;
/// Within so much time the supervisor has done what it has to.
const DELAY: u64 = 3_000;

fn main(given: Given) {
    let load = Load::calibrate(&given.clock);
    syscall::yield_now();
    let mut job = 0;
    let jobs = [1_000, 2_500, 1_000, 3_500].map(|time| {
        trace::begun(0, job);
        let begin = given.clock.now();
        load.work(Microseconds(time));
        let end = given.clock.now();
        trace::done(0, job);
        job += 1;
        syscall::yield_now();
        (begin.0, end.0)
    });
    for (job, pair) in jobs.windows(2).enumerate() {
        let distance = pair[1].0 - pair[0].0;
        let is_period = (PERIOD - DELAY..PERIOD + DELAY).contains(&distance);
        assert!(is_period, "job {job} begins {distance} us before the next");
    }
    for (job, (begin, end)) in jobs.into_iter().enumerate() {
        let (time, is_last) = (end - begin, job + 1 == jobs.len());
        assert_eq!(time > PERIOD - DELAY, is_last, "job {job} takes {time} us");
    }
    println!("worker: each job but the last ends in its period");
    given.go.signal();
}

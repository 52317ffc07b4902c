//! A guest that is driven by time: it samples at the beginning of each period, and moves in its second half. Its turns
//! come at the same places of each period, whatever the other guests do, so that its response times hardly vary.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::time::{Clock, Load};
use userlib::{Microseconds, println};

userlib::component!(main);

const PERIOD: Microseconds = Microseconds(10_000);
/// From the beginning of a period to the release of the second job.
const OFFSET: Microseconds = Microseconds(5_000);
/// What the jobs take, a little less than the description says.
const SAMPLE: Microseconds = Microseconds(900);
const MOVE: Microseconds = Microseconds(1_800);
/// How much longer a response may be: the beginning of the turn, and reading the clock.
const JITTER: Microseconds = Microseconds(100);
/// Between the turn for moves and that for samples there is less time than this, and between the others more.
const SHORT_PAUSE: Microseconds = Microseconds(3_500);
/// No pause within a turn is as long.
const NO_PAUSE: Microseconds = Microseconds(1_000);
const PERIODS: u64 = 100;

fn main(given: Given) {
    let clock = &given.clock;
    let load = Load::calibrate_often(clock);
    let first = begin_of_period(clock);
    for number in 0..PERIODS {
        let begin = Microseconds(first.0 + number * PERIOD.0);
        for (release, cost) in [(begin, SAMPLE), (begin + OFFSET, MOVE)] {
            wait_until(clock, release);
            load.work(cost);
            let response = clock.now() - release;
            assert!(
                response <= cost + JITTER,
                "{response:?} for {cost:?} in period {number}"
            );
        }
    }
    println!("control: {PERIODS} samples and {PERIODS} moves in time");
}

/// The time of the next turn in which samples are taken: the guest notices the pause before it.
fn begin_of_period(clock: &Clock) -> Microseconds {
    let mut before = clock.now();
    loop {
        let now = clock.now();
        if (NO_PAUSE..SHORT_PAUSE).contains(&(now - before)) {
            return now;
        }
        before = now;
    }
}

/// In its own turns the guest has the processor for itself, so it need not sleep.
fn wait_until(clock: &Clock, time: Microseconds) {
    while clock.now() < time {}
}

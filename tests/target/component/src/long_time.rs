//! Times in which the counters of all boards pass 2^32: what has fewer bits must have been extended, and
//! what has more must be compared in all of them.

use crate::check;
use crate::support::{Outcome, Test, ms};
use userlib::Microseconds;

tests![
    a_deadline_may_be_2_to_the_32_ticks_away,
    deadlines_are_met_while_2_to_the_32_ticks_pass,
];

/// 2^32 ticks take 110 seconds where the clock is slowest: on kzm, 39 MHz.
const LONG: Microseconds = ms(120_000);
const SHORT: Microseconds = ms(250);
/// Clocks tell whole microseconds, and the kernel counts whole ticks.
const ROUNDING: Microseconds = Microseconds(2);
/// What it takes to wake somebody up, and to ask for the time.
const LATE: Microseconds = ms(1);

/// Sleeps, and checks that it was as long as it should be.
fn nap(test: &mut Test, time: Microseconds) -> Outcome {
    let start = test.now();
    test.sleep(time)?;
    let slept = test.now() - start;
    check!(slept + ROUNDING >= time, "{slept} instead of {time}");
    check!(slept < time + LATE, "{slept} instead of {time}");
    Ok(())
}

fn a_deadline_may_be_2_to_the_32_ticks_away(test: &mut Test) -> Outcome {
    test.quiet();
    nap(test, LONG)
}

fn deadlines_are_met_while_2_to_the_32_ticks_pass(test: &mut Test) -> Outcome {
    test.quiet();
    let start = test.now();
    while test.now() - start < LONG {
        nap(test, SHORT)?;
    }
    Ok(())
}

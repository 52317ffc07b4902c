//! Times in which the counters of all boards pass 2^32: shorter counters must have been extended, and longer
//! ones must be compared in all bits.

use crate::check;
use crate::support::timer::KERNEL_KILOHERTZ;
use crate::support::{spin, BELOW, Outcome, Test, ms, us};
use userlib::Microseconds;

tests![
    a_deadline_may_be_2_to_the_32_ticks_away,
    deadlines_are_met_while_2_to_the_32_ticks_pass,
    deadlines_are_met_at_an_overflow_while_others_run,
];

/// 2^32 ticks take 110 seconds with the slowest clock: on kzm, 39 MHz.
const LONG: Microseconds = ms(120_000);
const SHORT: Microseconds = ms(250);
/// Users' clocks return whole microseconds, and the kernel counts whole ticks.
const ROUNDING: Microseconds = Microseconds(2);
/// Time for waking a thread and reading the clock.
const LATE: Microseconds = ms(1);

/// Sleeps, and checks the duration.
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

/// The time in which the lower 32 bits of the kernel's clock overflow.
const ROUND: Microseconds = us((1 << 32) * 1000 / KERNEL_KILOHERTZ);
/// The maximum delay between the start of the kernel's clock and of a user's clock.
const LATER: Microseconds = ms(250);

/// Deadlines at various distances before and after an overflow.
fn deadlines_are_met_at_an_overflow_while_others_run(test: &mut Test) -> Outcome {
    test.quiet();
    let soon = test.now() + LATER + LATER;
    let overflow = us(soon.0.next_multiple_of(ROUND.0));
    test.sleep(overflow - test.now() - LATER)?;
    test.spawn(BELOW, || spin())?;
    let mut distance = 0;
    while test.now() < overflow + ms(10) {
        // Longer than the budget of a nap: with budget equal to the period, the thread would not sleep.
        nap(test, us(1500 + distance))?;
        distance = (distance + 379) % 1000;
    }
    Ok(())
}

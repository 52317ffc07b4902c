//! Works for longer than its budget, once. Whether it continues at once or with its next replenishment is up to its
//! description.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use actions_common::work;
use userlib::Microseconds;

userlib::component!(main);

/// Its work: one and a half of its budgets.
const WORK: Microseconds = Microseconds(1_500);
/// If it continues at once, it takes less, and otherwise more: half of its period.
const SOON: Microseconds = Microseconds::from_millis(25);

fn main(given: Given) {
    let begin = given.clock.now();
    work(&given.clock, WORK);
    let time = given.clock.now() - begin;
    assert_eq!(time < SOON, given.at_once, "its work takes {time}");
}

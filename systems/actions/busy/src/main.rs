//! Works for longer than its budget, once. How long this takes shows when it continues: at once, or with a replenishment,
//! and from when that counts.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use actions_common::work;
use userlib::Microseconds;

userlib::component!(main);

/// One and a half of its budgets.
const WORK: Microseconds = Microseconds(1_500);

fn main(given: Given) {
    let begin = given.clock.now();
    work(&given.clock, WORK);
    let time = given.clock.now() - begin;
    let expected = given.least..=given.most;
    assert!(expected.contains(&(time.0 as usize)), "it takes {time}");
}

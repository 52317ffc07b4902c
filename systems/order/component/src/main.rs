//! Begins at its place among the components, which is that of its priority. The one that may ask the supervisor finds that
//! this has no more time than its description says.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::sync::atomic::Ordering::Relaxed;
use userlib::Microseconds;

userlib::component!(main);

/// So many requests take longer than the supervisor's budget, and are not too many for a second.
const REQUESTS: usize = 16;
/// Most of its period, for which it waits when the budget is used up.
const LEAST: Microseconds = Microseconds(15_000);

fn main(given: Given) {
    let place = given.begun[0].fetch_add(1, Relaxed);
    assert_eq!(place, given.place, "components that begin earlier");
    let Some(supervisor) = given.supervisor else {
        return;
    };
    let begin = given.clock.now();
    for _ in 0..REQUESTS {
        let report = supervisor.report(0);
        assert!(report.is_ok(), "the supervisor answers: {report:?}");
    }
    let time = given.clock.now() - begin;
    assert!(time >= LEAST, "the supervisor has answered after {time}");
}

//! Waits until the others are done, and compares what the supervisor knows of each with the description.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::hint::black_box;
use userlib::supervision::End;
use userlib::{Message, println, syscall};

userlib::component!(main);

/// The components in the order of the description: whether each has stopped, how often it has failed or used up its time
/// as far as the supervisor handles that, and how it ended.
const EXPECTED: [(&str, bool, u32, End); 19] = [
    ("prompt", true, 1, End::Done),
    ("counted", true, 0, End::Done),
    ("stopped", true, 1, End::Timeout),
    ("reported", true, 1, End::Done),
    ("patient", true, 0, End::Done),
    ("steady", true, 0, End::Done),
    ("handled", false, 0, End::None),
    ("flaky", true, 2, End::Done),
    ("handler", false, 0, End::None),
    ("clerk", false, 2, End::Timeout),
    ("keen", false, 2, End::Timeout),
    ("teller", false, 0, End::None),
    ("client-0", true, 0, End::Done),
    ("client-1", true, 0, End::Done),
    ("stranger", true, 0, End::Done),
    ("listener", false, 1, End::Timeout),
    ("taker-0", true, 0, End::Done),
    ("taker-1", true, 0, End::Done),
    ("judge", false, 0, End::None),
];
/// After so many of its periods the others are done.
const PERIODS: usize = 14;

fn main(given: Given) {
    // More than a stack has by default.
    let large = [1_u8; 40 << 10];
    black_box(&large);
    for _ in 0..PERIODS {
        syscall::yield_now();
    }
    // It has used up its time while it waited.
    given.listener.call(Message::empty(0));
    for (index, (name, has_stopped, failures, last)) in EXPECTED.into_iter().enumerate() {
        let report = given.supervisor.report(index);
        let report = report.expect("the supervisor answers");
        let report = report.expect("there are more components");
        assert_eq!(report.name.as_str(), name);
        let found = (report.has_stopped, report.failures, report.last);
        assert_eq!(found, (has_stopped, failures, last), "{name}");
    }
    assert_eq!(given.supervisor.report(EXPECTED.len()), Ok(None));
    println!("judge: all is as described");
}

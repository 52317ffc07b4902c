//! The hog: has a higher priority than the clients, and uses all of its budget. On request it also asks the
//! server for work without an end.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use demo_protocol::{Report, request, work};
use userlib::Message;

/// Iterations of work between two readings of the clock.
const ROUNDS: usize = 340;

userlib::component!(main);

fn main(given: Given) {
    let report = Report(given.report);
    let mut last = given.clock.now();
    loop {
        if report.attack() {
            let answer = given.server.call(Message::empty(request::ENDLESS));
            report.count(answer.label());
        } else {
            work(ROUNDS);
        }
        let now = given.clock.now();
        report.blackout((now - last).0);
        last = now;
    }
}

//! The hog: has a higher priority than the clients, and uses all of its budget. On request it also asks the
//! server for work without an end.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use demo_protocol::{Busy, Report, request};
use userlib::{Message, Microseconds};

/// Time after which the hog looks whether it is to ask the server.
const COMPUTE: Microseconds = Microseconds(100);

userlib::component!(main);

fn main(given: Given) {
    let report = Report(given.report);
    let mut busy = Busy::new(report, &given.clock);
    loop {
        if report.attack() {
            let answer = given.server.call(Message::empty(request::ENDLESS));
            report.count(answer.label());
            busy.read_clock();
        } else {
            busy.compute(COMPUTE);
        }
    }
}

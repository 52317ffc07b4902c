//! A client: computes and calls the server, as fast as its budget allows, and measures how long it is without
//! the processor.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use demo_protocol::{Report, request, work};
use userlib::Message;

/// Iterations of work in the client, and in the server, between two readings of the clock.
const HOME: usize = 860;
const AWAY: usize = 17;

userlib::component!(main);

fn main(given: Given) {
    let report = Report(given.report);
    let mut last = given.clock.now();
    loop {
        work(HOME);
        let answer = given.server.call(Message::new(request::WORK, &[AWAY]));
        report.count(answer.label());
        let now = given.clock.now();
        report.blackout((now - last).0);
        last = now;
    }
}

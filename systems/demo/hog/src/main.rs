//! The hog: has a higher priority than the clients, and uses all of its budget. On request it also asks the
//! server for work without an end.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use demo_protocol::{Report, request, work};
use userlib::cap::Endpoint;
use userlib::time::Clock;
use userlib::{Message, Startup};

/// Iterations of work between two readings of the clock.
const ROUNDS: usize = 20_000;

userlib::entry!(main);

fn main(startup: &'static Startup) {
    let server: Endpoint = startup.capability("server");
    let report = Report(startup.shared("report"));
    let clock = Clock::from_startup(startup);
    let mut last = clock.now();
    loop {
        if report.attack() {
            let answer = server.call(Message::empty(request::ENDLESS));
            report.count(answer.label());
        } else {
            work(ROUNDS);
        }
        let now = clock.now();
        report.blackout((now - last).0);
        last = now;
    }
}

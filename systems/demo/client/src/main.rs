//! A client: computes and calls the server, as fast as its budget allows, and measures how long it is without
//! the processor.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use demo_protocol::{Report, request, work};
use userlib::cap::Endpoint;
use userlib::time::Clock;
use userlib::{Message, Startup};

/// Iterations of work in the client, and in the server, between two readings of the clock.
const HOME: usize = 50_000;
const AWAY: usize = 1_000;

userlib::entry!(main);

fn main(startup: &'static Startup) {
    let server: Endpoint = startup.capability("server");
    let report = Report(startup.shared("report"));
    let clock = Clock::from_startup(startup);
    let mut last = clock.now();
    loop {
        work(HOME);
        let answer = server.call(Message::new(request::WORK, &[AWAY]));
        report.count(answer.label());
        let now = clock.now();
        report.blackout((now - last).0);
        last = now;
    }
}

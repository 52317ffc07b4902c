//! A client: computes and calls the server, as fast as its budget allows, and measures how long it is without
//! the processor.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use demo_protocol::{Busy, Report, request};
use userlib::{Message, Microseconds};

/// Time between two requests. So long that the budget rarely ends during one, also where entries of the kernel
/// are slow: an emulator in the host's time takes a tenth of a millisecond for a request.
const COMPUTE: Microseconds = Microseconds::from_millis(5);
/// Iterations of work that the client asks the server for.
const REQUESTED: usize = 17;

userlib::component!(main);

fn main(given: Given) {
    let report = Report(given.report);
    let mut busy = Busy::new(report, &given.clock);
    loop {
        busy.compute(COMPUTE);
        let answer = given.server.call(Message::new(request::WORK, &[REQUESTED]));
        report.count(answer.label());
        busy.read_clock();
    }
}

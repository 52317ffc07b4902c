//! The controller: handles samples as they arrive, and after every few of them does its job.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::time::Load;
use userlib::{Message, Microseconds, syscall};

/// The time for a sample, and the number of samples before each job.
const SAMPLE: Microseconds = Microseconds(400);
const SAMPLES: usize = 4;
/// The time for a job, and the budget that the controller waits for: slightly more, because clocks are not
/// exact.
const JOB: Microseconds = Microseconds(2_500);
const AMOUNT: Microseconds = Microseconds(2_700);

userlib::component!(main);

fn main(given: Given) {
    let load = Load::calibrate_often(&given.clock);
    let mut way = 0;
    loop {
        for _ in 0..SAMPLES {
            given.signals.wait();
            load.work(SAMPLE);
        }
        match way {
            0 => {}
            1 => syscall::yield_now(),
            _ => {
                syscall::yield_until_budget(AMOUNT).expect("the budget is large enough");
            }
        }
        given.marks.call(Message::empty(0));
        load.work(JOB);
        // The reply says what to do before the next job.
        way = given.marks.call(Message::empty(0)).word(0);
    }
}

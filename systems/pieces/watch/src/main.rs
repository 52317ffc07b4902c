//! A job that must not be split between replenishments.
//!
//! A controller handles samples as they arrive, and after every few of them sets its valves, which takes 2.5
//! ms and should not be interrupted. Its budget suffices for that, but the samples have used it in small
//! amounts, so it is replenished in small amounts: if a replenishment is used up in the middle of the job,
//! the job continues only with the next ones.
//!
//! Beginning the job with a new replenishment does not help, because that may be a small one. Waiting for the
//! needed amount does: the controller sleeps before the job instead of in it.
//!
//! The controller calls here at the beginning and the end of each job, and is told what to do before the next
//! one.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::{Message, Microseconds, println};

/// A job that takes longer was interrupted by other threads than the sampler.
const TORN: Microseconds = Microseconds(3_000);
/// Number of measured jobs.
const JOBS: usize = 20;
/// What the controller does before a job.
const WAYS: [&str; 3] = ["nothing", "Yield", "YieldUntilBudget"];

userlib::component!(main);

fn main(given: Given) -> usize {
    println!("before a job       jobs  torn  longest");
    let mut torn = [0; WAYS.len()];
    let mut mark = given.marks.receive();
    for (way, name) in WAYS.iter().enumerate() {
        let mut longest = Microseconds(0);
        for job in 1..=JOBS {
            let begin = given.clock.now();
            mark = mark.reply_and_receive(Message::empty(0));
            let took = given.clock.now() - begin;
            torn[way] += usize::from(took > TORN);
            longest = longest.max(took);
            let next = if job < JOBS { way } else { way + 1 };
            mark = mark.reply_and_receive(Message::new(0, &[next]));
        }
        println!("{name:18} {JOBS:4} {:5}  {longest}", torn[way]);
    }
    let good = torn[0] > 0 && torn[1] > 0 && torn[2] == 0;
    println!("{}as it should be", if good { "" } else { "not " });
    usize::from(!good)
}

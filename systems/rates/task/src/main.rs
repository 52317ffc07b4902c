//! A periodic task: computes, asks the bus, and waits for its next release.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::time::{Load, Periodic};
use userlib::{Message, Microseconds, println, syscall};

userlib::component!(main);

fn main(given: Given) {
    let clock = &given.clock;
    let load = Load::calibrate_often(clock);
    let [period, work] = [given.period, given.work].map(|time| Microseconds(time as u64));
    // It answers when it has begun, and waits for requests.
    given.bus.call(Message::empty(0));
    // The first job has the whole budget, as all others have.
    let whole = syscall::yield_until_budget(Microseconds(given.budget as u64));
    whole.expect("the budget is that of the description");
    let mut periodic = Periodic::new(period, clock.now());
    for job in 0..given.jobs {
        load.work(work);
        given.bus.call(Message::empty(0));
        let response = clock.now() - periodic.release();
        assert!(response <= period, "job {job} took {response}");
        periodic.wait(|| clock.now());
    }
    println!("{}: {} jobs in time", given.name, given.jobs);
}

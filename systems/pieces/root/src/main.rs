//! A job that must not be split between replenishments.
//!
//! A controller handles samples as they arrive, and after every few of them sets its valves, which takes 2.5
//! ms and should not be interrupted. Its budget suffices for that, but the samples have used it in small
//! amounts, so it is replenished in small amounts: if a replenishment is used up in the middle of the job,
//! the job continues only with the next ones.
//!
//! Beginning the job with a new replenishment does not help, because that may be a small one. Waiting for the
//! needed amount does: the controller sleeps before the job instead of in it.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::cap::{Endpoint, Notification, Reply, SchedParameters};
use userlib::thread::ThreadParameters;
use userlib::time::{Clock, Load};
use userlib::{BootInfo, Environment, Message, Microseconds, Result, println, syscall};

/// The time for a sample, and the number of samples before each job.
const SAMPLE: Microseconds = Microseconds(400);
const SAMPLES: usize = 4;
/// The time for a job, and the budget that the controller waits for: slightly more, because clocks are not
/// exact.
const JOB: Microseconds = Microseconds(2_500);
const AMOUNT: Microseconds = Microseconds(2_700);
/// A job that takes longer was interrupted by other threads than the sampler.
const TORN: Microseconds = Microseconds(3_000);
/// Number of measured jobs.
const JOBS: usize = 20;

/// The controller can have many replenishments, so that none is delayed by merging.
const CONTROLLER: SchedParameters =
    SchedParameters::new(Microseconds::from_millis(4), Microseconds::from_millis(20))
        .with_extra_refills(8);
const CONTROLLER_PRIORITY: u8 = 100;
/// The sampler signals, and sleeps until its next period.
const SAMPLER: SchedParameters =
    SchedParameters::new(Microseconds(100), Microseconds::from_millis(3));
const SAMPLER_PRIORITY: u8 = 120;

/// Messages of the controller to the root task.
const BEGIN: usize = 1;
const END: usize = 2;

/// Operations of the controller before a job.
const WAYS: [(&str, fn()); 3] = [
    ("nothing", || {}),
    ("Yield", || syscall::yield_now()),
    ("YieldUntilBudget", || {
        syscall::yield_until_budget(AMOUNT).expect("the budget is large enough");
    }),
];

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result<usize> {
    let mut environment = Environment::from_boot_info(boot);
    let clock = Clock::start(&mut environment, boot)?;
    let load = Load::calibrate(&clock);
    let sample: Notification = environment.allocator.create()?;
    let sampler = thread(SAMPLER_PRIORITY, SAMPLER);
    environment.spawn(&sampler, move || {
        loop {
            sample.signal();
            syscall::yield_now();
        }
    })?;

    println!("before a job       jobs  torn  longest");
    let mut torn = [0; WAYS.len()];
    for (torn, (name, prepare)) in torn.iter_mut().zip(WAYS) {
        let marks: Endpoint = environment.allocator.create()?;
        let controller = thread(CONTROLLER_PRIORITY, CONTROLLER);
        let controller = environment.spawn(&controller, move || {
            loop {
                for _ in 0..SAMPLES {
                    sample.wait();
                    load.work(SAMPLE);
                }
                prepare();
                marks.call(Message::empty(BEGIN));
                load.work(JOB);
                marks.call(Message::empty(END));
            }
        })?;
        let jobs = watch(&mut environment, &clock, marks)?;
        controller.tcb.suspend()?;
        *torn = jobs.iter().filter(|job| **job > TORN).count();
        let longest = jobs.iter().max().copied().unwrap_or_default();
        println!("{name:18} {JOBS:4} {torn:5}  {longest}");
    }

    let good = torn[0] > 0 && torn[1] > 0 && torn[2] == 0;
    println!("{}as it should be", if good { "" } else { "not " });
    Ok(usize::from(!good))
}

const fn thread(priority: u8, time: SchedParameters) -> ThreadParameters {
    ThreadParameters {
        priority,
        time: Some(time),
        fault_endpoint: userlib::CPtr::NULL,
    }
}

/// Measures how long the next jobs take, from beginning to end.
fn watch(
    environment: &mut Environment,
    clock: &Clock,
    marks: Endpoint,
) -> Result<[Microseconds; JOBS]> {
    let reply: Reply = environment.allocator.create()?;
    let mut jobs = [Microseconds(0); JOBS];
    let mut mark = marks.recv(reply);
    for job in &mut jobs {
        for expected in [BEGIN, END] {
            let label = mark.message.map(|message| message.label());
            assert_eq!(label, Some(expected), "marks come in turn");
            if expected == BEGIN {
                *job = clock.now();
            } else {
                *job = clock.now() - *job;
            }
            mark = marks.reply_recv(Message::empty(0), reply);
        }
    }
    Ok(jobs)
}

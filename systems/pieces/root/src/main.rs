//! A job that must not be torn in two.
//!
//! A controller looks at samples as they come, and after every few of them sets its valves, which takes
//! 2.5 ms and should not stop halfway. It has enough time for that, but the samples have used its budget
//! bit by bit, so it comes back bit by bit: where one replenishment ends in the middle of the job, the
//! rest waits for the next ones.
//!
//! To begin with a fresh replenishment is no help, since that may be a small one. To ask for the amount
//! is: the controller sleeps before the job instead of in it.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::cap::{Endpoint, Notification, Reply, SchedParameters};
use userlib::thread::ThreadParameters;
use userlib::time::{Clock, Load};
use userlib::{BootInfo, Environment, Message, Microseconds, Result, println, syscall};

/// The time for a sample, and how many there are before each job.
const SAMPLE: Microseconds = Microseconds(400);
const SAMPLES: usize = 4;
/// The time for a job, and what the controller asks for: some more, as clocks are not exact.
const JOB: Microseconds = Microseconds(2_500);
const AMOUNT: Microseconds = Microseconds(2_700);
/// A job that takes longer was interrupted by more than the sampler.
const TORN: Microseconds = Microseconds(3_000);
/// How many jobs are watched.
const JOBS: usize = 20;

/// The controller has room for many replenishments, so that none is delayed by merging.
const CONTROLLER: SchedParameters =
    SchedParameters::new(Microseconds::from_millis(4), Microseconds::from_millis(20))
        .with_extra_refills(8);
const CONTROLLER_PRIORITY: u8 = 100;
/// The sampler signals, and sleeps for the rest of its period.
const SAMPLER: SchedParameters =
    SchedParameters::new(Microseconds(100), Microseconds::from_millis(3));
const SAMPLER_PRIORITY: u8 = 120;

/// Messages of the controller to the root task.
const BEGIN: usize = 1;
const END: usize = 2;

/// What the controller does before a job.
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

/// How long the next jobs take, from their beginning to their end.
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

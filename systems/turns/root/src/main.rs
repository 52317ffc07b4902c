//! A user-level scheduler: earliest deadline first.
//!
//! Three tasks have periodic jobs with a utilisation of four fifths of the processor, which is more than
//! fixed priorities can guarantee for these periods. A thread of higher priority, the root task, runs the
//! task with the earliest deadline. A scheduling decision takes one system call, which selects the task and
//! sets a timer, and one receive, which returns the time.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod tasks;

use tasks::{IDLE, Tasks};
use userlib::cap::{Endpoint, Reply};
use userlib::fault::MoreOnTimeout;
use userlib::time::Clock;
use userlib::{BootInfo, Environment, Fault, Microseconds, Result, println};

/// How long the system runs.
const END: Microseconds = Microseconds::from_millis(3000);

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result<usize> {
    let mut environment = Environment::from_boot_info(boot);
    let clock = Clock::start(&mut environment, boot)?;
    let events: Endpoint = environment.allocator.create()?;
    let mut tasks = Tasks::create(&mut environment, &clock, events)?;

    // With a time in the past, the call only returns the current time.
    let context = tasks.list[IDLE].thread.sched_context;
    let mut now = context.yield_to_timeout(Microseconds(0), None)?.now;
    let start = now;
    tasks.begin(start);
    while now - start < END {
        tasks.release(now);
        let next = tasks.earliest_deadline();
        now = turn(&mut tasks, next, now, events)?.unwrap_or(now);
    }
    tasks.report();
    println!("{} turns", tasks.turns);
    let good = tasks.all_in_time();
    println!("{}as it should be", if good { "" } else { "not " });
    Ok(usize::from(!good))
}

/// Runs a task until the next event; returns the time of the event.
fn turn(
    tasks: &mut Tasks,
    next: usize,
    now: Microseconds,
    events: Endpoint,
) -> Result<Option<Microseconds>> {
    let until = tasks.next_release(now);
    let task = &mut tasks.list[next];
    let answered: Option<Reply> = task.waits_for_answer.then_some(task.reply);
    let yielded = task
        .thread
        .sched_context
        .yield_to_timeout(until, answered)?;
    if yielded.now >= until {
        return Ok(Some(yielded.now));
    }
    task.waits_for_answer = false;
    tasks.turns += 1;

    let received = events.recv(tasks.list[next].reply);
    let message = received.message.map(|message| (message.label(), message));
    match message {
        Some((tasks::DONE, _)) => {
            // With a time in the past, the call does not run the task, but returns the current time.
            let context = tasks.list[IDLE].thread.sched_context;
            let now = context.yield_to_timeout(Microseconds(0), None)?.now;
            tasks.list[received.badge].finish(now);
            Ok(Some(now))
        }
        Some((_, message)) => match Fault::from_message(&message) {
            Fault::Timeout {
                more: Some(MoreOnTimeout { now, .. }),
                ..
            } => {
                tasks.list[next].waits_for_answer = true;
                Ok(Some(now))
            }
            fault => {
                println!("task {} has failed: {fault:x?}", received.badge);
                userlib::runtime::exit(1)
            }
        },
        None => Ok(None),
    }
}

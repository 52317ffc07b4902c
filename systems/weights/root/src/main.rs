//! A user-level scheduler from nothing: round robin by weight.
//!
//! Three threads never wait. The root task lets them run in turn, each for a time that is proportional to its weight.
//! The chapter "Your own scheduler" of the book explains it line by line.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::hint::black_box;

use userlib::cap::{Endpoint, Reply, SchedParameters};
use userlib::fault::MoreOnTimeout;
use userlib::thread::ThreadParameters;
use userlib::{
    BootInfo, Capability, Environment, Fault, Microseconds, Result, Rights, Thread, println,
};

/// The weights of the threads.
const WEIGHTS: [u64; 3] = [1, 2, 3];
/// The length of a turn of weight 1.
const UNIT: Microseconds = Microseconds::from_millis(5);
/// Slices longer than any turn: only the scheduler ends turns.
const TIME: SchedParameters = SchedParameters::round_robin(Microseconds::from_millis(10_000));
/// How long the system runs: twenty rounds.
const LENGTH: Microseconds = Microseconds::from_millis(600);

/// What the scheduler knows of a thread.
struct Worker {
    thread: Thread,
    weight: u64,
    /// Holds its timeout fault while it waits for its next turn.
    reply: Reply,
    is_held: bool,
    /// The time that it has had.
    used: Microseconds,
}

impl Worker {
    /// Makes a thread that computes for ever. Its faults and timeouts come to `turns`.
    fn create(environment: &mut Environment, turns: Endpoint, weight: u64) -> Result<Self> {
        let faults = environment.allocator.mint(turns, Rights::ALL, 1)?;
        let parameters = ThreadParameters {
            priority: 100,
            time: Some(TIME),
            fault_endpoint: faults.cptr(),
        };
        let thread = environment.create_thread(&parameters, || {
            loop {
                black_box(());
            }
        })?;
        thread.tcb.set_timeout_endpoint(faults)?;
        thread.start()?;
        Ok(Self {
            thread,
            weight,
            reply: environment.allocator.create()?,
            is_held: false,
            used: Microseconds(0),
        })
    }

    /// Lets the thread run for its turn; returns the time at its end.
    fn run(&mut self, turns: Endpoint, now: Microseconds) -> Result<Microseconds> {
        let until = now + Microseconds(UNIT.0 * self.weight);
        let held = self.is_held.then_some(self.reply);
        let context = self.thread.sched_context;
        // One call replies to the timeout fault of the last turn, sets the timer, and lets the thread run.
        let yielded = context.yield_to_timeout(until, held)?;
        if yielded.now >= until {
            return Ok(yielded.now);
        }
        // The thread runs now. One receive waits for the end of its turn, and tells the time.
        let message = turns.recv(self.reply).message;
        self.is_held = true;
        match message.map(|message| Fault::from_message(&message)) {
            Some(Fault::Timeout {
                consumed,
                more: Some(MoreOnTimeout { now, .. }),
                ..
            }) => {
                self.used = self.used + consumed;
                Ok(now)
            }
            fault => panic!("no timeout, but {fault:?}"),
        }
    }
}

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result<usize> {
    let mut environment = Environment::from_boot_info(boot);
    let turns: Endpoint = environment.allocator.create()?;
    let mut create = |weight| Worker::create(&mut environment, turns, weight);
    let [first, second, third] = WEIGHTS;
    let mut workers = [create(first)?, create(second)?, create(third)?];

    // With a time in the past, the call only tells the time.
    let context = workers[0].thread.sched_context;
    let mut now = context.yield_to_timeout(Microseconds(0), None)?.now;
    let end = now + LENGTH;
    while now < end {
        for worker in &mut workers {
            now = worker.run(turns, now)?;
        }
    }

    let total: u64 = workers.iter().map(|worker| worker.used.0).sum();
    let weights: u64 = WEIGHTS.iter().sum();
    let mut good = true;
    for worker in &workers {
        let (used, weight) = (worker.used, worker.weight);
        let share = used.0 * 1000 / total;
        println!("weight {weight}: {used}, {}.{} %", share / 10, share % 10);
        good &= share.abs_diff(1000 * weight / weights) <= 10;
    }
    println!("{}as it should be", if good { "" } else { "not " });
    Ok(usize::from(!good))
}

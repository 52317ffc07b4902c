//! A user-level scheduler, earliest deadline first: from an event to the first instruction of the job that runs because
//! of it.
//!
//! One task computes for ever. Jobs of the others are released one after the other, 2 ms apart, with earlier deadlines:
//! each preempts it, computes for some microseconds, and is completed. Each job reads the counter in a loop. So a decision took
//! the difference between the last reading of one job and the first of the next, but for the turn of the loop that it
//! interrupted.
//!
//! With several cores, a job that never ends keeps each of the others: its thread waits, without telling the scheduler, as
//! the counter also counts what other cores execute.

use super::benchmarks;
use crate::bench::Bench;
use crate::measure::{Counter, ROUNDS, SAMPLES, WARM_UP};
use core::array;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use dispatcher::source::{Inbox, Local, Source, Turn};
use dispatcher::{Configuration, Dispatcher};
use schedulers::{Arrivals, Cluster, Duration, Instant, LowTasks, Task, Unchecked};
use userlib::abi::config::SMP;
use userlib::cap::{Notification, SchedContext};
use userlib::{Environment, Result};

mod release;
mod remote;
mod sources;

use release::release;
use remote::remote;
use sources::Workload;

benchmarks![
    decision: TASKS.len() * sources::NAMES.len(),
    release: TASKS.len(),
    on_several_cores: TASKS.len() * sources::NAMES.len(),
    remote: 2 * TASKS.len() * sources::NAMES.len(),
];

/// Numbers of tasks.
const TASKS: [usize; 4] = [2, 8, 32, 128];
/// The most of them.
const MOST: usize = 128;
/// The priority of the tasks, below that of the scheduler, which is the benchmark's first thread.
const PRIORITY: u8 = crate::protocol::PRIORITY - 10;

/// The time from the creation of the scheduler to the first release, in which the tasks are made, in microseconds.
const START: u64 = 100_000;
/// The time between two releases.
const APART: u64 = 2_000;
/// How often a short job reads the counter.
const READINGS: usize = 100;

/// The last readings of the counter in the long job, and in short ones.
static LAST: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
/// The task that has read it last.
static READER: AtomicUsize = AtomicUsize::new(0);
/// The task that computes for ever.
const LONG: usize = 0;

/// The time at which the scheduler was last woken, and that at which it last let a task run.
static WOKEN: AtomicUsize = AtomicUsize::new(0);
static DECIDED: AtomicUsize = AtomicUsize::new(0);

/// A source of time that notes both.
struct Stamped<S> {
    source: S,
    counter: Counter,
}

impl<S: Source> Source for Stamped<S> {
    fn now(&mut self) -> Result<Instant> {
        self.source.now()
    }

    fn turn(
        &mut self,
        local: Local,
        idle: Local,
        until: Instant,
        inbox: &mut Inbox,
    ) -> Result<Turn> {
        DECIDED.store(self.counter.now(), Relaxed);
        let turn = self.source.turn(local, idle, until, inbox);
        WOKEN.store(self.counter.now(), Relaxed);
        turn
    }

    fn signalled(&mut self) -> Result<bool> {
        self.source.signalled()
    }

    fn lift(&mut self, local: Local) -> Result {
        self.source.lift(local)
    }
}

/// How long decisions took, and their parts: until the scheduler was woken, until it let a task run, and until that ran.
struct Decisions {
    count: AtomicUsize,
    took: [AtomicUsize; ROUNDS + MOST],
    parts: [[AtomicUsize; ROUNDS + MOST]; PARTS.len()],
}

/// Their names as overheads of a scheduler.
const PARTS: [&str; 3] = ["release_latency", "schedule", "context_switch"];

impl Decisions {
    const fn new() -> Self {
        Self {
            count: AtomicUsize::new(0),
            took: [const { AtomicUsize::new(0) }; ROUNDS + MOST],
            parts: [const { [const { AtomicUsize::new(0) }; ROUNDS + MOST] }; PARTS.len()],
        }
    }

    fn note(&self, took: usize, parts: [usize; PARTS.len()]) {
        let count = self.count.fetch_add(1, Relaxed);
        let noted = [took].into_iter().chain(parts);
        let places = [&self.took].into_iter().chain(&self.parts);
        for (places, value) in places.zip(noted) {
            let place = places.get(count);
            place.inspect(|place| place.store(value, Relaxed));
        }
    }

    /// The samples with so many tasks: after the first job of each, which begins its thread.
    fn samples(&self, tasks: usize, all: &[AtomicUsize; ROUNDS + MOST]) -> [usize; SAMPLES] {
        let first = tasks + WARM_UP;
        assert!(
            self.count.load(Relaxed) >= first + SAMPLES,
            "too few decisions"
        );
        array::from_fn(|index| all[first + index].load(Relaxed))
    }
}

/// The decisions by which a release preempts a job, and those after a job was completed.
static PREEMPTING: Decisions = Decisions::new();
static COOPERATIVE: Decisions = Decisions::new();
/// The cost of a turn of the loop.
static TURN: AtomicUsize = AtomicUsize::new(usize::MAX);

/// One turn of the loop: reads the counter in a job of `task`. It may be preempted anywhere: so it looks first which task
/// has read the counter before, and a decision seems to take a turn longer if it is preempted in between.
fn read(counter: Counter, task: usize) {
    let before = READER.load(Relaxed);
    let now = counter.now();
    let (own, other) = if task == LONG { (0, 1) } else { (1, 0) };
    if before != task {
        READER.store(task, Relaxed);
        let last = LAST[other].load(Relaxed);
        let took = counter.between(last, now);
        let (woken, decided) = (WOKEN.load(Relaxed), DECIDED.load(Relaxed));
        let turn = TURN.load(Relaxed);
        let until_woken = counter.between(last, woken);
        let parts = [
            until_woken - turn.min(until_woken),
            counter.between(woken, decided),
            counter.between(decided, now),
        ];
        let decisions = if task == LONG {
            &COOPERATIVE
        } else {
            &PREEMPTING
        };
        decisions.note(took - turn.min(took), parts);
    } else {
        let took = counter.between(LAST[own].load(Relaxed), now);
        TURN.fetch_min(took, Relaxed);
    }
    LAST[own].store(now, Relaxed);
}

/// Measures decisions on one core.
fn decision(bench: &mut Bench, variant: usize) -> Result {
    measure::<1>(bench, variant)
}

/// The same for the scheduler's own core of a cluster of all; nothing with one.
fn on_several_cores(bench: &mut Bench, variant: usize) -> Result {
    if !SMP {
        return Ok(());
    }
    match bench.cores {
        0 | 1 => Ok(()),
        2 => measure::<2>(bench, variant),
        3 => measure::<3>(bench, variant),
        _ => measure::<4>(bench, variant),
    }
}

/// Measures decisions with a source of time; with YieldToTimeout also their parts.
fn measure<const CORES: usize>(bench: &mut Bench, variant: usize) -> Result {
    let (source, tasks) = (variant / TASKS.len(), TASKS[variant % TASKS.len()]);
    sources::run(bench, source, Decide::<CORES> { tasks })?;
    let parameters = [
        ("cores", CORES.into()),
        ("tasks", tasks.into()),
        ("source", sources::NAMES[source].into()),
    ];
    let parameters = &parameters[usize::from(CORES == 1)..];
    let parameters = sources::named(parameters, source);
    for (name, decisions) in [("preempting", &PREEMPTING), ("cooperative", &COOPERATIVE)] {
        bench.report(name, parameters, &decisions.samples(tasks, &decisions.took));
    }
    if source == 0 {
        for (part, took) in PARTS.iter().zip(&PREEMPTING.parts) {
            bench.report(part, parameters, &PREEMPTING.samples(tasks, took));
        }
    }
    Ok(())
}

/// So many tasks, for as long that enough decisions are noted. There is at least one for each core and another.
struct Decide<const CORES: usize> {
    tasks: usize,
}

impl<const CORES: usize> Workload for Decide<CORES> {
    fn run<S: Source>(
        self,
        bench: &mut Bench,
        source: impl FnOnce(&mut Environment, SchedContext) -> Result<S>,
    ) -> Result {
        let tasks = self.tasks.max(CORES + 1);
        let counter = bench.counter();
        let configuration = Configuration {
            controls: array::from_fn(|core| bench.sched_control_of(core)),
            priority: PRIORITY,
        };
        let never: Notification = bench.allocator.create()?;
        let cluster = Cluster::<CORES, MOST>::new(LowTasks::Stop);
        let mut dispatcher =
            Dispatcher::new(bench, cluster, configuration, |environment, context| {
                let source = source(environment, context)?;
                Ok(Stamped { source, counter })
            })?;
        let short = (tasks - CORES) as u64;
        for number in 0..tasks {
            let is_long = number == LONG;
            let has_core = number < CORES;
            // The first one gets the scheduler's core, and is the one that others displace.
            let (period, place) = match (is_long, has_core) {
                (true, _) => (u64::from(u32::MAX), 0),
                (_, true) => (u64::from(u32::MAX) / 2, 1),
                _ => (
                    short * APART,
                    (number - CORES) as u64 + 1 + u64::from(CORES > 1),
                ),
            };
            let task = Task {
                arrivals: Arrivals::Periodic {
                    offset: Duration(START + place * APART),
                },
                ..Task::periodic(Duration(period), Duration(period))
            };
            let added = dispatcher.add(bench, task, &Unchecked, move |_| {
                if has_core && !is_long {
                    loop {
                        never.wait();
                    }
                }
                let mut left = READINGS;
                while is_long || left > 0 {
                    read(counter, number);
                    left -= usize::from(!is_long);
                }
            });
            added.expect("there is room for the task");
        }
        let end = dispatcher.now() + Duration(START + APART * (ROUNDS + tasks + 3) as u64);
        dispatcher.run(bench, end, |_| ())?;
        dispatcher.stop()?;
        Ok(())
    }
}

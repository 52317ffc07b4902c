//! Decisions of which the consequence is on another core: a job is released, and runs on another core than the scheduler.
//!
//! The emulator's cores take turns, and an instruction counts whichever core executes it. On the scheduler's core a job
//! computes that gives other cores their turns. So the time to the first instruction on the other core contains what is
//! left of a turn, some hundred instructions: it is an upper bound, but for waiting for memory and locks, which the
//! emulator does not model.

use super::sources::{self, Workload};
use super::{DECIDED, MOST, PRIORITY, START, Stamped, TASKS, WOKEN};
use crate::bench::Bench;
use crate::measure::{Counter, ROUNDS, SAMPLES, WARM_UP};
use core::array;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use dispatcher::source::{Inbox, Local, Source, Turn};
use dispatcher::{Configuration, Dispatcher};
use schedulers::{Arrivals, Cluster, Duration, Instant, LowTasks, Task, Unchecked};
use userlib::abi::config::SMP;
use userlib::cap::SchedContext;
use userlib::{Environment, Result};

/// What the other core does before.
pub const BEFORE: [&str; 2] = ["idle", "busy"];

/// The time between two releases, in microseconds.
const APART: u64 = 1_000;
/// How often a long job counts before it gives another core its turn.
const TURN: usize = 1 << 7;

/// How long the scheduler worked, and the time from its first instruction to the job's.
static TOOK: [[AtomicUsize; ROUNDS + MOST]; 2] =
    [const { [const { AtomicUsize::new(0) }; ROUNDS + MOST] }; 2];
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The time at which the scheduler was last woken, by the counter that cores share.
static WOKEN_COMMON: AtomicUsize = AtomicUsize::new(0);

/// A source of time that notes it.
struct Common<S> {
    source: Stamped<S>,
    counter: Counter,
}

impl<S: Source> Source for Common<S> {
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
        let turn = self.source.turn(local, idle, until, inbox);
        WOKEN_COMMON.store(self.counter.common().unwrap_or(0), Relaxed);
        turn
    }

    fn signalled(&mut self) -> Result<bool> {
        self.source.signalled()
    }

    fn lift(&mut self, local: Local) -> Result {
        self.source.lift(local)
    }
}

/// Nothing with one core.
pub fn remote(bench: &mut Bench, variant: usize) -> Result {
    if !SMP {
        return Ok(());
    }
    match bench.cores {
        0 | 1 => Ok(()),
        2 => on::<2>(bench, variant),
        3 => on::<3>(bench, variant),
        _ => on::<4>(bench, variant),
    }
}

fn on<const CORES: usize>(bench: &mut Bench, variant: usize) -> Result {
    let (variant, tasks) = (variant / TASKS.len(), TASKS[variant % TASKS.len()]);
    let (source, busy) = (variant / BEFORE.len(), variant % BEFORE.len());
    // The first has the scheduler's core; the last of them is displaced.
    let long = if busy == 0 { 1 } else { CORES };
    let short = tasks.max(long + 1) - long;
    sources::run(bench, source, Remote::<CORES> { long, short })?;
    let parameters = [
        ("cores", CORES.into()),
        ("other", BEFORE[busy].into()),
        ("tasks", tasks.into()),
        ("source", sources::NAMES[source].into()),
    ];
    let parameters = sources::named(&parameters, source);
    let names = ["remote_schedule", "remote"];
    let can_be_told = bench.counter().common().is_some();
    for (name, took) in names
        .into_iter()
        .zip(&TOOK)
        .take(1 + usize::from(can_be_told))
    {
        // The first job of each task begins its thread.
        let first = short + WARM_UP;
        assert!(
            COUNT.load(Relaxed) >= first + SAMPLES,
            "too few jobs on the other core"
        );
        let samples: [usize; SAMPLES] = array::from_fn(|index| took[first + index].load(Relaxed));
        bench.report(name, parameters, &samples);
    }
    Ok(())
}

/// Tasks of which some compute for ever, and the jobs of others run on another core.
struct Remote<const CORES: usize> {
    long: usize,
    short: usize,
}

impl<const CORES: usize> Workload for Remote<CORES> {
    fn run<S: Source>(
        self,
        bench: &mut Bench,
        source: impl FnOnce(&mut Environment, SchedContext) -> Result<S>,
    ) -> Result {
        let counter = bench.counter();
        let configuration = Configuration {
            controls: array::from_fn(|core| bench.sched_control_of(core)),
            priority: PRIORITY,
        };
        let cluster = Cluster::<CORES, MOST>::new(LowTasks::Stop);
        let mut dispatcher =
            Dispatcher::new(bench, cluster, configuration, |environment, context| {
                let source = source(environment, context)?;
                let source = Stamped { source, counter };
                Ok(Common { source, counter })
            })?;
        let [long, short] = [self.long, self.short].map(|count| count as u64);
        for number in 0..long + short {
            let (offset, period) = match number.checked_sub(long) {
                None => (0, u64::from(u32::MAX) + number),
                Some(place) => ((place + 1) * APART, short * APART),
            };
            let task = Task {
                arrivals: Arrivals::Periodic {
                    offset: Duration(START + offset),
                },
                ..Task::periodic(Duration(period), Duration(period))
            };
            let is_long = number < long;
            let added = dispatcher.add(bench, task, &Unchecked, move |_| {
                if !is_long {
                    return note(counter);
                }
                loop {
                    // The emulator is slow at changing turns.
                    for turn in 0..TURN {
                        core::hint::black_box(turn);
                    }
                    userlib::arch::relax();
                }
            });
            added.expect("there is room for the task");
        }
        let rounds = ROUNDS as u64 + long + short + 2;
        let end = dispatcher.now() + Duration(START + APART * rounds);
        dispatcher.run(bench, end, |_| ())?;
        dispatcher.stop()?;
        Ok(())
    }
}

/// In the first instructions of a job. The scheduler may still work: it has then woken, and not decided yet.
fn note(counter: Counter) {
    let now = counter.common().unwrap_or(0);
    let woken = WOKEN.load(Relaxed);
    let woken_common = WOKEN_COMMON.load(Relaxed);
    let place = COUNT.fetch_add(1, Relaxed);
    let mut decided = DECIDED.load(Relaxed);
    while counter.between(woken, decided) > usize::MAX / 2 {
        userlib::arch::relax();
        decided = DECIDED.load(Relaxed);
    }
    let took = [
        counter.between(woken, decided),
        counter.between(woken_common, now),
    ];
    for (places, took) in TOOK.iter().zip(took) {
        let place = places.get(place);
        place.inspect(|place| place.store(took, Relaxed));
    }
}

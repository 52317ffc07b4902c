//! Tasks under proportionate fairness, on one core and several.

use super::{BELOW, Outcome, Test, ms};
use crate::{check, check_eq};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use dispatcher::source::Source;
use dispatcher::{Configuration, Dispatcher, Event, Job};
use schedulers::{Arrivals, Duration, Instant, Overrun, Pfair, Quanta, TaskId, Weight};
use userlib::cap::SchedContext;
use userlib::time::{Clock, Load};
use userlib::{Environment, Microseconds, Result};

/// The most tasks of a test.
pub const TASKS: usize = 6;
/// The length of a quantum: much longer than what one on all cores costs on an emulator, whose cores take turns.
pub const QUANTUM: Microseconds = ms(10);
/// From the next quantum on.
pub const PERIODIC: Arrivals = Arrivals::Periodic {
    offset: Duration(0),
};

/// A dispatcher that goes by quanta.
pub type Fair<const CORES: usize, S> = Dispatcher<CORES, TASKS, S, Quanta<CORES, TASKS>>;

/// What became of the jobs of each task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jobs {
    /// Completed in time.
    pub in_time: [usize; TASKS],
    /// Completed after the deadline.
    pub late: [usize; TASKS],
    /// With all their quanta, and not completed.
    pub overruns: [usize; TASKS],
    /// Ended for that.
    pub aborted: [usize; TASKS],
}

/// A weight of this many quanta in each period.
pub fn weight(budget: u32, period: u32) -> Weight {
    Weight { budget, period }
}

/// A dispatcher for the first cores.
pub fn dispatcher<const CORES: usize, S: Source>(
    test: &mut Test,
    source: impl FnOnce(&mut Environment, SchedContext) -> Result<S>,
) -> Result<Fair<CORES, S>> {
    let configuration = Configuration {
        controls: core::array::from_fn(|core| test.control_of(core)),
        priority: BELOW,
    };
    let quanta = Quanta::new(Duration(QUANTUM.0));
    Dispatcher::new(test, quanta, configuration, source)
}

/// Adds a task that must be accepted.
pub fn add<const CORES: usize, S: Source>(
    test: &mut Test,
    dispatcher: &mut Fair<CORES, S>,
    weight: Weight,
    overrun: Overrun,
    work: impl FnMut(&Job) + Copy + Send + 'static,
) -> TaskId {
    let added = dispatcher.add(test, weight, PERIODIC, overrun, work);
    added.expect("the cores have room and the kernel has memory")
}

/// Runs the tasks for so many quanta, the last of which it leaves before its end.
pub fn run<const CORES: usize, S: Source>(
    test: &Test,
    dispatcher: &mut Fair<CORES, S>,
    quanta: u64,
) -> Result<Jobs> {
    // It tells the time, and decides nothing.
    dispatcher.run(test, Instant(0), |_| ())?;
    let until = dispatcher.now() + Duration(quanta * QUANTUM.0 - QUANTUM.0 / 16);
    let mut jobs = Jobs::default();
    dispatcher.run(test, until, |event| {
        let (list, task) = match event {
            Event::Completed(task, it) if it.late == Duration(0) => (&mut jobs.in_time, task),
            Event::Completed(task, _) => (&mut jobs.late, task),
            Event::Overrun(task) => (&mut jobs.overruns, task),
            Event::Aborted(task) => (&mut jobs.aborted, task),
            _ => return,
        };
        list[usize::from(task.0)] += 1;
    })?;
    Ok(jobs)
}

/// Computes until the thread has had a core for so long. That is measured, since busy cores of an emulator in virtual time share
/// the speed of one.
fn compute(clock: &Clock, load: Load, time: Microseconds) {
    /// When so much has passed between two looks, others have had the core.
    const GAP: Microseconds = ms(4);
    let (mut left, mut last) = (time, clock.now());
    while left > Microseconds(0) {
        load.work_in_turns(Microseconds(100));
        let now = clock.now();
        let passed = now - last;
        if passed < GAP {
            left = Microseconds(left.0.saturating_sub(passed.0));
        }
        last = now;
    }
}

/// The time that a job computes which needs all of its quanta, and of the last one a little more than half.
fn most_of(weight: Weight) -> Microseconds {
    Microseconds((10 * u64::from(weight.budget) - 4) * QUANTUM.0 / 10)
}

/// Tasks that need exactly all cores, and whose jobs need all of their quanta, do all their jobs in time.
pub fn all_deadlines_are_kept<const CORES: usize, S: Source>(
    test: &mut Test,
    mut dispatcher: Fair<CORES, S>,
    weights: &[Weight],
) -> Outcome {
    let (load, startup) = (Load::calibrate(&test.clock), test.startup);
    for &weight in weights {
        let time = most_of(weight);
        add(test, &mut dispatcher, weight, Overrun::Abort, move |_| {
            compute(&Clock::from_startup(startup), load, time);
        });
    }
    let more = dispatcher.add(test, weight(1, 1_000), PERIODIC, Overrun::Abort, |_| ());
    check!(more.is_err());
    const QUANTA: u32 = 36;
    let jobs = run(test, &mut dispatcher, QUANTA.into())?;
    check_eq!(dispatcher.quanta().missed(), 0);
    let mut expected = Jobs::default();
    for (count, weight) in expected.in_time.iter_mut().zip(weights) {
        *count = (QUANTA / weight.period) as usize;
    }
    check_eq!(jobs, expected);
    if CORES > 1 {
        check!(dispatcher.counts().migrations > 0, "no job migrates");
    }
    dispatcher.stop()?;
    Ok(())
}

/// In how many parts of a quantum tasks note that they run.
const PARTS: u64 = 8;
const NOTED: usize = 40;
/// The tasks that ran in each part of a quantum, since the test's beginning.
static RAN: [AtomicUsize; NOTED * PARTS as usize] =
    [const { AtomicUsize::new(0) }; NOTED * PARTS as usize];

/// Tasks that always compute run in the quanta that the policy gives them, all of these, and no others. The first quarter of a
/// quantum and its last eighth do not count: the scheduler takes time for its decision, and to stop what runs on other cores.
pub fn tasks_run_in_their_quanta<const CORES: usize, S: Source>(
    test: &mut Test,
    mut dispatcher: Fair<CORES, S>,
    weights: &[Weight],
) -> Outcome {
    const QUANTA: u64 = 24;
    let (load, startup) = (Load::calibrate(&test.clock), test.startup);
    let origin = test.now();
    let mut pfair = Pfair::<CORES, TASKS>::default();
    for &weight in weights {
        let id = pfair.add(weight, PERIODIC).expect("the cores have room");
        // The second job begins when the first one ends, which is never.
        add(test, &mut dispatcher, weight, Overrun::Count, move |_| {
            let clock = Clock::from_startup(startup);
            loop {
                let part = (clock.now() - origin).0 * PARTS / QUANTUM.0;
                if let Some(ran) = RAN.get(part as usize) {
                    ran.fetch_or(1 << id.0, Relaxed);
                }
                load.work_in_turns(Microseconds(100));
            }
        });
    }
    dispatcher.run(test, Instant(0), |_| ())?;
    let begun = (test.now() - origin).0;
    check!(begun / QUANTUM.0 + QUANTA < NOTED as u64, "{begun} us");
    // The scheduler's clock may have begun at another time.
    let before = dispatcher.now();
    run(test, &mut dispatcher, QUANTA)?;
    let start = dispatcher.quanta().start().unwrap_or_default();
    let start = begun + (start - before).0;
    check_eq!(dispatcher.quanta().missed(), 0);
    for quantum in 0..QUANTA - 1 {
        let given = pfair.quantum();
        let given = given
            .into_iter()
            .flatten()
            .fold(0, |all, id| all | 1 << id.0);
        let begin = start + quantum * QUANTUM.0;
        let length = QUANTUM.0 / PARTS;
        let parts = (begin + 2 * length).div_ceil(length)..(begin + QUANTUM.0 - length) / length;
        let ran = parts.fold(0, |all, part| all | RAN[part as usize].load(Relaxed));
        check!(ran == given, "quantum {quantum}: {ran:#b}, not {given:#b}");
    }
    dispatcher.stop()?;
    Ok(())
}

/// The first task's jobs never end: each is aborted at the end of its quanta, and the others keep their deadlines. Counted
/// instead, they take no quantum of the others either.
pub fn overruns_cost_the_others_nothing<const CORES: usize, S: Source>(
    test: &mut Test,
    mut dispatcher: Fair<CORES, S>,
    weights: &[Weight],
    overrun: Overrun,
) -> Outcome {
    const QUANTA: u32 = 24;
    let (load, startup) = (Load::calibrate(&test.clock), test.startup);
    for (number, &weight) in weights.iter().enumerate() {
        let time = match number {
            0 => ms(1_000_000),
            _ => most_of(weight),
        };
        add(test, &mut dispatcher, weight, overrun, move |_| {
            compute(&Clock::from_startup(startup), load, time);
        });
    }
    let jobs = run(test, &mut dispatcher, QUANTA.into())?;
    let mut expected = Jobs::default();
    for (count, weight) in expected.in_time.iter_mut().zip(weights) {
        *count = (QUANTA / weight.period) as usize;
    }
    // The last one's quanta may end with the run, which does not see that.
    let all = core::mem::take(&mut expected.in_time[0]);
    let overruns = jobs.overruns[0];
    check!((all - 1..=all).contains(&overruns), "{overruns} of {all}");
    expected.overruns[0] = overruns;
    if overrun == Overrun::Abort {
        expected.aborted[0] = overruns;
    }
    check_eq!(jobs, expected);
    dispatcher.stop()?;
    Ok(())
}

//! Threads under global EDF on two and four cores run as an independent simulator, SimSo, says: those, and only those, that it
//! lets run at that time.

use crate::support::vectors::{FEW, Line, Set, sets};
use crate::support::{BELOW, Outcome, Test, ms};
use crate::{check, check_eq};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use dispatcher::source::YieldToTimeout;
use dispatcher::{Configuration, Dispatcher, Event};
use schedulers::{Arrivals, Cluster, Duration, Instant, LowTasks, Overrun, Task, Unchecked};
use userlib::Microseconds;
use userlib::time::{Clock, Load};

tests![
    if abi::config::SMP;
    threads_on_two_cores_run_as_in_simso,
    threads_on_four_cores_run_as_in_simso,
    another_schedule_is_noticed,
];

const TASKS: usize = 8;
/// A tick of the simulator.
const TICK: Microseconds = Microseconds(16);
/// The time from the creation of a dispatcher to the start of the schedule, in which all tasks are made.
const START: Microseconds = ms(100);
/// For so long after an event of the schedule, nothing is compared: decisions take time, and a job that has been interrupted
/// often ends later by as much.
const SETTLES: u64 = 15_000;
/// Tasks note that they run in each millisecond, for two seconds: by then these delays have not added up to what is left out
/// after events.
const PART: u64 = 1_000;
const PARTS: usize = 2_048;
static RAN: [AtomicUsize; PARTS] = [const { AtomicUsize::new(0) }; PARTS];

fn micros(ticks: u64) -> u64 {
    ticks * TICK.0
}

fn task(line: &Line) -> Task {
    Task {
        arrivals: Arrivals::Periodic {
            offset: Duration(START.0 + micros(line.offset)),
        },
        deadline: Duration(micros(line.deadline)),
        // Jobs end with their budgets: what they execute is measured, not calculated.
        overrun: Overrun::Abort,
        ..Task::periodic(
            Duration(micros(line.period)),
            Duration(micros(line.execution)),
        )
    }
}

/// Runs a set. Returns in how many of the milliseconds that were compared other tasks ran than those that should, and how many
/// were compared.
fn run<const CORES: usize>(
    test: &mut Test,
    set: Set,
    change: impl Fn(&mut Task),
) -> Outcome<(usize, usize)> {
    let (load, startup) = (Load::calibrate(&test.clock), test.startup);
    for part in &RAN {
        part.store(0, Relaxed);
    }
    let configuration = Configuration {
        controls: core::array::from_fn(|core| test.control_of(core)),
        priority: BELOW,
    };
    let cluster = Cluster::<CORES, TASKS>::new(LowTasks::Stop);
    let mut dispatcher = Dispatcher::new(test, cluster, configuration, |_, context| {
        Ok(YieldToTimeout::new(context))
    })?;
    // The scheduler's clock may have begun at another time.
    dispatcher.run(test, Instant(0), |_| ())?;
    let (begun, origin) = (dispatcher.now(), test.now() + START);
    for (number, line) in set.tasks().enumerate() {
        let mut task = task(&line);
        change(&mut task);
        let added = dispatcher.add(test, task, &Unchecked, move |_| {
            let clock = Clock::from_startup(startup);
            loop {
                let part = clock.now().0.saturating_sub(origin.0) / PART;
                if let Some(ran) = RAN.get(part as usize) {
                    ran.fetch_or(1 << number, Relaxed);
                }
                load.work_in_turns(Microseconds(100));
            }
        });
        added.expect("the cluster has room and the kernel has memory");
    }
    check!(test.now() < origin, "the tasks came too late");
    let length = micros(set.duration).min(PARTS as u64 * PART);
    let until = begun + Duration(START.0 + length);
    let mut unexpected = 0;
    dispatcher.run(test, until, |event| match event {
        Event::Overrun(_) | Event::Aborted(_) => {}
        _ => unexpected += 1,
    })?;
    dispatcher.stop()?;
    check_eq!(unexpected, 0);
    let (mut differing, mut compared) = (0, 0);
    for part in 1..length / PART {
        if let Some(expected) = expected(&set, part * PART) {
            compared += 1;
            differing += usize::from(RAN[part as usize].load(Relaxed) != expected);
        }
    }
    Ok((differing, compared))
}

/// The tasks that run in the part from this time on, if they are known: none begins or ends in it, or shortly before.
fn expected(set: &Set, from: u64) -> Option<usize> {
    let mut tasks = 0;
    for (number, line) in set.tasks().enumerate() {
        for (start, end) in line.intervals() {
            let (start, end) = (micros(start), micros(end));
            let unclear = from.saturating_sub(SETTLES)..from + PART;
            if unclear.contains(&start) || unclear.contains(&end) {
                return None;
            }
            if (start..end).contains(&from) {
                tasks |= 1 << number;
            }
        }
    }
    Some(tasks)
}

fn all_run_as_in_simso<const CORES: usize>(test: &mut Test, count: usize) -> Outcome {
    let mut sets_run = 0;
    for set in sets(FEW).filter(|set| set.cores == CORES) {
        let (differing, compared) = run::<CORES>(test, set, |_| ())?;
        check!(compared > 100, "{compared} ms of set {sets_run}");
        check!(
            differing == 0,
            "{differing} of {compared} ms of set {sets_run}"
        );
        sets_run += 1;
    }
    check_eq!(sets_run, count);
    Ok(())
}

fn threads_on_two_cores_run_as_in_simso(test: &mut Test) -> Outcome {
    all_run_as_in_simso::<2>(test, 4)
}

/// It needs four cores.
fn threads_on_four_cores_run_as_in_simso(test: &mut Test) -> Outcome {
    match test.has_four_cores() {
        true => all_run_as_in_simso::<4>(test, 3),
        false => Ok(()),
    }
}

/// A negative control: deadlines equal to periods.
fn another_schedule_is_noticed(test: &mut Test) -> Outcome {
    let set = sets(FEW).find(|set| set.cores == 2).expect("there is one");
    let (differing, compared) = run::<2>(test, set, |task| task.deadline = task.period)?;
    check!(differing > compared / 20, "{differing} of {compared} ms");
    Ok(())
}

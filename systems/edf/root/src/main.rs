//! Earliest deadline first, at user level.
//!
//! Three tasks need 98 % of the core, which is more than fixed priorities can guarantee for these periods: by rates,
//! the third would be late. The root task runs them by the library `schedulers`, with one source of time after the
//! other.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use dispatcher::source::{OwnTimer, Source, TimeoutFaults, YieldToTimeout};
use dispatcher::{Configuration, Dispatcher, Event};
use schedulers::{Arrivals, Cluster, Duration, LowTasks, OneCore, Task};
use userlib::time::{Clock, Load};
use userlib::{BootInfo, Environment, Microseconds, Result, println};

/// Period and execution time of each task, in milliseconds. The test adds what decisions cost.
const TASKS: [(u64, u64); 3] = [(100, 40), (150, 45), (250, 70)];
/// The time from the creation of the tasks to their first release, in which all are made, in microseconds.
const START: u64 = 50_000;
/// How long each source of time is tried: the least common multiple of the periods.
const LENGTH: u64 = 1_500_000;

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result<usize> {
    let mut environment = Environment::from_boot_info(boot);
    let clock = Clock::start(&mut environment, boot)?;
    let load = Load::calibrate(&clock);
    let control = environment.sched_control;

    let mut good = run(&mut environment, "YieldToTimeout", load, |_, context| {
        Ok(YieldToTimeout::new(context))
    })?;
    good &= run(&mut environment, "timeout faults", load, |_, _| {
        Ok(TimeoutFaults::new(clock, control))
    })?;
    // Some boards give the timer to users only if the ABI says so.
    if OwnTimer::IS_THERE {
        good &= run(&mut environment, "own timer", load, |environment, _| {
            OwnTimer::open(environment, clock)
        })?;
    }
    println!("{}as it should be", if good { "" } else { "not " });
    Ok(usize::from(!good))
}

/// Runs the tasks with a source of time; returns whether each has had all of its jobs, none of them too late.
fn run<S: Source>(
    environment: &mut Environment,
    name: &str,
    load: Load,
    source: impl FnOnce(&mut Environment, userlib::cap::SchedContext) -> Result<S>,
) -> Result<bool> {
    let configuration = Configuration {
        controls: [environment.sched_control],
        priority: 100,
    };
    let cluster = Cluster::<1, 3>::new(LowTasks::Stop);
    let mut dispatcher = Dispatcher::new(environment, cluster, configuration, source)?;
    for (period, work) in TASKS {
        let work = Microseconds::from_millis(work);
        let task = Task {
            arrivals: Arrivals::Periodic {
                offset: Duration(START),
            },
            ..Task::periodic(Duration(period * 1000), Duration(work.0))
        };
        let added = dispatcher.add(environment, task, &OneCore, move |_| load.work(work));
        added.expect("98 % of the core are less than all of it");
    }
    let end = dispatcher.now() + Duration(START + LENGTH);
    let (mut jobs, mut late) = ([0; TASKS.len()], [0; TASKS.len()]);
    dispatcher.run(environment, end, |event| {
        if let Event::Completed(task, completion) = event {
            let task = usize::from(task.0);
            jobs[task] += 1;
            late[task] += u64::from(completion.late > Duration(0));
        }
    })?;
    dispatcher.stop()?;
    println!("{name}: {jobs:?} jobs, {late:?} late");
    // The last job of each may end with the run.
    let enough = |(done, (period, _)): (&u64, (u64, u64))| *done + 1 >= LENGTH / 1000 / period;
    Ok(jobs.iter().zip(TASKS).all(enough) && late == [0; TASKS.len()])
}

//! Earliest deadline first on two cores, at user level.
//!
//! Three tasks share two cores: a job that is displaced on one core goes on where a core is free first. The root task runs
//! them by the library `schedulers`, from its own core.
//!
//! In virtual time no job is late, however busy the host is: jobs give the emulator's other core turns as they compute. With
//! `--real-time` the host may take time from both cores. Then the run asks that the kernel and the scheduler refuse nothing,
//! and tells what an idle host would not have made late.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::array;

use dispatcher::source::YieldToTimeout;
use dispatcher::{Configuration, Dispatcher, Event};
use schedulers::{Arrivals, Cluster, Duration, LowTasks, ManyCores, Task};
use userlib::cap::SchedControl;
use userlib::time::{Clock, Load, Verdict};
use userlib::{BootInfo, CPtr, Environment, Microseconds, Result, boot, println};

/// Period, budget and work of each task, in milliseconds. The work is less than the budget because cores of an emulator
/// in virtual time share one host thread: while both are busy, each has half of its speed.
const TASKS: [(u64, u64, u64); 3] = [(100, 40, 15), (100, 40, 20), (300, 120, 80)];
/// The time from the creation of the tasks to the first release, in which all are made, in microseconds.
const START: u64 = 50_000;
/// Whether the run is in the time of the host.
const REAL_TIME: bool = option_env!("ESCAPEMENT_REAL_TIME").is_some();
/// The length of the run.
const LENGTH: u64 = 1_800_000;

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result<usize> {
    let mut environment = Environment::from_boot_info(boot);
    let clock = Clock::start(&mut environment, boot)?;
    let load = Load::calibrate(&clock);
    let mut controls = boot::sched_controls(boot);
    let configuration = Configuration {
        controls: array::from_fn(|_| controls.next().unwrap_or(SchedControl(CPtr::NULL))),
        priority: 100,
    };
    let cluster = Cluster::<2, 3>::new(LowTasks::Stop);
    let mut dispatcher =
        Dispatcher::new(&mut environment, cluster, configuration, |_, context| {
            Ok(YieldToTimeout::new(context))
        })?;
    for (period, budget, work) in TASKS {
        let work = Microseconds::from_millis(work);
        let task = Task {
            arrivals: Arrivals::Periodic {
                offset: Duration(START),
            },
            ..Task::periodic(Duration(period * 1000), Duration(budget * 1000))
        };
        let added = dispatcher.add(&mut environment, task, &ManyCores, move |_| {
            load.work_in_turns(work)
        });
        added.expect("two cores are enough for these tasks");
    }
    let end = dispatcher.now() + Duration(START + LENGTH);
    let (mut jobs, mut late, mut slowest) = ([0; 3], [0; 3], [0; 3]);
    let mut is_good = true;
    dispatcher.run(&environment, end, |event| match event {
        Event::Completed(task, completion) => {
            let task = usize::from(task.0);
            jobs[task] += 1;
            late[task] += u64::from(completion.late > Duration(0));
            slowest[task] = completion.response.0.max(slowest[task]);
        }
        // Nothing happens to the job.
        Event::Overrun(_) => {}
        _ => is_good = false,
    })?;
    let counts = dispatcher.counts();
    dispatcher.stop()?;
    let mut in_time = true;
    for (task, (period, ..)) in TASKS.into_iter().enumerate() {
        let (jobs, late, slowest) = (jobs[task], late[task], Microseconds(slowest[task]));
        println!("every {period} ms: {jobs} jobs, {late} late, {slowest} at most");
        let released = LENGTH / 1000 / period;
        is_good &= jobs <= released;
        // The last one may end after the run.
        in_time &= late == 0 && jobs + 1 >= released;
    }
    let (dispatches, migrations) = (counts.dispatches, counts.migrations);
    println!("{dispatches} dispatches, {migrations} migrations");
    let verdict = Verdict::new(is_good, in_time, REAL_TIME);
    println!("{verdict}");
    Ok(verdict.exit_code())
}

//! User-level schedulers of two cores: what the dispatcher of the crate `dispatcher` makes of decisions for both.

use crate::support::{ABOVE, BELOW, Outcome, Test, ms};
use crate::{check, check_eq};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use dispatcher::source::YieldToTimeout;
use dispatcher::{Configuration, Counts, Dispatcher, Event, Job};
use schedulers::{Arrivals, Cluster, Duration, LowTasks, Overrun, Task, TaskId, Unchecked};
use userlib::Microseconds;
use userlib::cap::SchedParameters;
use userlib::time::Load;

tests![
    if abi::config::SMP;
    jobs_of_two_cores_run_at_the_same_time,
    on_one_core_they_do_not,
    a_displaced_job_goes_on_on_the_other_core,
    jobs_of_both_cores_are_aborted,
    on_one_core_they_are_aborted_in_turn,
    a_higher_priority_thread_on_another_core_uses_up_no_budget,
];

/// The time from the creation of a dispatcher to the first releases, in which all tasks are made.
const START: Microseconds = ms(30);

type OnCores<const CORES: usize> = Dispatcher<CORES, 3, YieldToTimeout>;

/// What became of jobs: completed in time, late, and aborted ones of each task.
#[derive(Default)]
struct Jobs {
    good: [usize; 3],
    late: [usize; 3],
    aborted: [usize; 3],
}

/// A dispatcher for the first cores.
fn dispatcher<const CORES: usize>(test: &mut Test) -> Outcome<OnCores<CORES>> {
    let configuration = Configuration {
        controls: core::array::from_fn(|core| test.control_of(core)),
        priority: BELOW,
    };
    let cluster = Cluster::new(LowTasks::Stop);
    Ok(Dispatcher::new(
        test,
        cluster,
        configuration,
        |_, context| Ok(YieldToTimeout::new(context)),
    )?)
}

/// Adds a task with this period and budget, whose jobs are aborted when they exceed it.
fn add<const CORES: usize>(
    test: &mut Test,
    dispatcher: &mut OnCores<CORES>,
    (period, budget): (Microseconds, Microseconds),
    work: impl FnMut(&Job) + Copy + Send + 'static,
) -> TaskId {
    let task = Task {
        arrivals: Arrivals::Periodic {
            offset: Duration(START.0),
        },
        overrun: Overrun::Abort,
        ..Task::periodic(Duration(period.0), Duration(budget.0))
    };
    let added = dispatcher.add(test, task, &Unchecked, work);
    added.expect("the cluster has room and the kernel has memory")
}

/// Runs the tasks for so long after the first releases.
fn run<const CORES: usize>(
    test: &mut Test,
    mut dispatcher: OnCores<CORES>,
    time: Microseconds,
) -> Outcome<(Jobs, Counts)> {
    let until = dispatcher.now() + Duration((START + time).0);
    let mut jobs = Jobs::default();
    dispatcher.run(test, until, |event| match event {
        Event::Completed(task, completion) => {
            let list = match completion.late {
                Duration(0) => &mut jobs.good,
                _ => &mut jobs.late,
            };
            list[usize::from(task.0)] += 1;
        }
        Event::Aborted(task) => jobs.aborted[usize::from(task.0)] += 1,
        _ => {}
    })?;
    let counts = dispatcher.counts();
    dispatcher.stop()?;
    Ok((jobs, counts))
}

/// Two jobs that wait for each other, busily.
fn meeting<const CORES: usize>(test: &mut Test) -> Outcome<Jobs> {
    static THERE: AtomicUsize = AtomicUsize::new(0);
    let load = Load::calibrate(&test.clock);
    let mut dispatcher = dispatcher::<CORES>(test)?;
    for number in 0..2 {
        add(test, &mut dispatcher, (ms(40), ms(15)), move |_| {
            THERE.fetch_or(1 << number, Relaxed);
            while THERE.load(Relaxed) != 0b11 {
                load.work_in_turns(ms(1));
            }
        });
    }
    Ok(run(test, dispatcher, ms(35))?.0)
}

fn jobs_of_two_cores_run_at_the_same_time(test: &mut Test) -> Outcome {
    let jobs = meeting::<2>(test)?;
    check_eq!((jobs.good, jobs.aborted), ([1, 1, 0], [0, 0, 0]));
    Ok(())
}

/// A negative control: the first one waits until it is aborted.
fn on_one_core_they_do_not(test: &mut Test) -> Outcome {
    let jobs = meeting::<1>(test)?;
    check_eq!((jobs.good, jobs.aborted), ([0, 1, 0], [1, 0, 0]));
    Ok(())
}

fn a_displaced_job_goes_on_on_the_other_core(test: &mut Test) -> Outcome {
    let load = Load::calibrate(&test.clock);
    let mut dispatcher = dispatcher::<2>(test)?;
    // In virtual time two busy cores have half of the speed.
    for (period, budget, work) in [(20, 10, 3), (30, 14, 5), (60, 50, 15)] {
        add(test, &mut dispatcher, (ms(period), ms(budget)), move |_| {
            load.work_in_turns(ms(work))
        });
    }
    let (jobs, counts) = run(test, dispatcher, ms(238))?;
    check_eq!((jobs.late, jobs.aborted), ([0; 3], [0; 3]));
    check!(
        jobs.good[0] >= 11 && jobs.good[1] >= 7 && jobs.good[2] >= 3,
        "{:?}",
        jobs.good
    );
    check!(counts.migrations > 0, "no job migrates");
    Ok(())
}

/// Two tasks whose jobs compute until they are aborted, and a third one whose jobs are short. Returns also in how many jobs
/// of each of the two the other's went on.
fn endless<const CORES: usize>(test: &mut Test) -> Outcome<(Jobs, [usize; 2])> {
    static STEPS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
    static MET: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
    let load = Load::calibrate(&test.clock);
    let mut dispatcher = dispatcher::<CORES>(test)?;
    for number in 0..2 {
        add(test, &mut dispatcher, (ms(40), ms(6)), move |_| {
            let before = STEPS[1 - number].load(Relaxed);
            let mut met = false;
            loop {
                load.work_in_turns(Microseconds(500));
                STEPS[number].fetch_add(1, Relaxed);
                if !met && STEPS[1 - number].load(Relaxed) != before {
                    met = true;
                    MET[number].fetch_add(1, Relaxed);
                }
            }
        });
    }
    add(test, &mut dispatcher, (ms(40), ms(20)), move |_| {
        load.work_in_turns(ms(2))
    });
    let (jobs, _) = run(test, dispatcher, ms(155))?;
    Ok((jobs, [0, 1].map(|number| MET[number].load(Relaxed))))
}

fn jobs_of_both_cores_are_aborted(test: &mut Test) -> Outcome {
    let (jobs, met) = endless::<2>(test)?;
    check_eq!((jobs.good, jobs.aborted), ([0, 0, 4], [4, 4, 0]));
    // Each time on two cores.
    check_eq!(met, [4, 4]);
    Ok(())
}

/// A negative control: the same jobs on one core are aborted one after the other.
fn on_one_core_they_are_aborted_in_turn(test: &mut Test) -> Outcome {
    let (jobs, met) = endless::<1>(test)?;
    check_eq!((jobs.good, jobs.aborted), ([0, 0, 4], [4, 4, 0]));
    check_eq!(met, [0, 0]);
    Ok(())
}

/// A job on the other core has more than the time that it needs, which is twice its work in virtual time, but less than that
/// and what the thread of higher priority takes meanwhile.
fn a_higher_priority_thread_on_another_core_uses_up_no_budget(test: &mut Test) -> Outcome {
    static OTHER_CORE: AtomicUsize = AtomicUsize::new(0);
    let load = Load::calibrate(&test.clock);
    let mut dispatcher = dispatcher::<2>(test)?;
    for (period, budget) in [(119, 60), (120, 24)] {
        add(test, &mut dispatcher, (ms(period), ms(budget)), move |_| {
            load.work_in_turns(ms(8))
        });
    }
    let time = SchedParameters::new(ms(15), ms(30));
    let urgent = test.timed(ABOVE, time, move || {
        loop {
            load.work_in_turns(ms(1));
            OTHER_CORE.fetch_add(1, Relaxed);
        }
    })?;
    test.control_of(1).configure(urgent.sched_context, &time)?;
    urgent.start()?;
    let (jobs, _) = run(test, dispatcher, ms(475))?;
    urgent.tcb.suspend()?;
    check_eq!(jobs.aborted, [0; 3]);
    check!(jobs.good[0] >= 3 && jobs.good[1] >= 3, "{:?}", jobs.good);
    check!(OTHER_CORE.load(Relaxed) > 30);
    Ok(())
}

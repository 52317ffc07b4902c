//! User-level schedulers of two cores: what the dispatcher of the crate `dispatcher` makes of decisions for both, with each
//! source of time; and two schedulers beside each other, with a core or two each.

use crate::support::sources::{beside_others, with_each_source};
use crate::support::{ABOVE, BELOW, CONFINED_RADIX, Outcome, SLICE, Test, ms};
use crate::{check, check_eq};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use dispatcher::source::{Source, YieldToTimeout};
use dispatcher::{Configuration, Counts, Dispatcher, Event, Job};
use schedulers::{Arrivals, Cluster, Duration, LowTasks, Overrun, Task, TaskId, Unchecked};
use userlib::cap::{SchedContext, SchedControl, SchedParameters};
use userlib::time::Load;
use userlib::{CPtr, Environment, Microseconds, Result};

tests![
    if abi::config::SMP;
    jobs_of_two_cores_run_at_the_same_time,
    on_one_core_they_do_not,
    a_displaced_job_goes_on_on_the_other_core,
    jobs_of_both_cores_are_aborted,
    on_one_core_they_are_aborted_in_turn,
    a_higher_priority_thread_on_another_core_uses_up_no_budget,
    a_confined_scheduler_has_no_other_core,
    clusters_of_one_core_keep_their_deadlines_beside_each_other,
    an_overrun_in_one_of_them_leaves_the_other_alone,
    clusters_of_two_cores_keep_their_deadlines_beside_each_other,
    an_overrun_in_one_of_those_leaves_the_other_alone,
];

/// The time from the creation of a dispatcher to the first releases, in which all tasks are made.
const START: Microseconds = ms(30);

type OnCores<const CORES: usize, S> = Dispatcher<CORES, 3, S>;

/// What became of jobs: completed in time, late, and aborted ones of each task; and overruns of all.
#[derive(Default)]
struct Jobs {
    good: [usize; 3],
    late: [usize; 3],
    aborted: [usize; 3],
    overruns: usize,
}

/// A dispatcher for the first cores, with a source of time.
fn with_source<const CORES: usize, S: Source>(
    test: &mut Test,
    source: impl FnOnce(&mut Environment, SchedContext) -> Result<S>,
) -> Result<OnCores<CORES, S>> {
    let controls = core::array::from_fn(|core| test.control_of(core));
    dispatcher(test, controls, source)
}

/// A dispatcher for the cores of these capabilities, of which the first is the environment's.
fn dispatcher<const CORES: usize, S: Source>(
    environment: &mut Environment,
    controls: [SchedControl; CORES],
    source: impl FnOnce(&mut Environment, SchedContext) -> Result<S>,
) -> Result<OnCores<CORES, S>> {
    let configuration = Configuration {
        controls,
        priority: BELOW,
    };
    Dispatcher::new(
        environment,
        Cluster::new(LowTasks::Stop),
        configuration,
        source,
    )
}

/// The source of time where one suffices.
fn yield_to_timeout(_: &mut Environment, context: SchedContext) -> Result<YieldToTimeout> {
    Ok(YieldToTimeout::new(context))
}

/// A task whose jobs are aborted when they exceed their budget.
fn periodic(period: Microseconds, budget: Microseconds) -> Task {
    Task {
        arrivals: Arrivals::Periodic {
            offset: Duration(START.0),
        },
        overrun: Overrun::Abort,
        ..Task::periodic(Duration(period.0), Duration(budget.0))
    }
}

fn add<const CORES: usize, S: Source>(
    environment: &mut Environment,
    dispatcher: &mut OnCores<CORES, S>,
    task: Task,
    work: impl FnMut(&Job) + Copy + Send + 'static,
) -> TaskId {
    let added = dispatcher.add(environment, task, &Unchecked, work);
    added.expect("the cluster has room and the kernel has memory")
}

/// Runs the tasks for so long after the first releases; returns also the source of time.
fn run<const CORES: usize, S: Source>(
    environment: &Environment,
    mut dispatcher: OnCores<CORES, S>,
    time: Microseconds,
) -> Result<(Jobs, Counts, S)> {
    let until = dispatcher.now() + Duration((START + time).0);
    let mut jobs = Jobs::default();
    dispatcher.run(environment, until, |event| match event {
        Event::Completed(task, completion) => {
            let list = match completion.late {
                Duration(0) => &mut jobs.good,
                _ => &mut jobs.late,
            };
            list[usize::from(task.0)] += 1;
        }
        Event::Aborted(task) => jobs.aborted[usize::from(task.0)] += 1,
        Event::Overrun(_) => jobs.overruns += 1,
        _ => {}
    })?;
    let counts = dispatcher.counts();
    Ok((jobs, counts, dispatcher.stop()?))
}

/// Two jobs that wait for each other, busily.
fn meeting<const CORES: usize, S: Source>(
    test: &mut Test,
    load: Load,
    mut dispatcher: OnCores<CORES, S>,
) -> Outcome<(Jobs, S)> {
    static THERE: AtomicUsize = AtomicUsize::new(0);
    THERE.store(0, Relaxed);
    for number in 0..2 {
        add(test, &mut dispatcher, periodic(ms(40), ms(15)), move |_| {
            THERE.fetch_or(1 << number, Relaxed);
            while THERE.load(Relaxed) != 0b11 {
                load.work_in_turns(ms(1));
            }
        });
    }
    let (jobs, _, source) = run(test, dispatcher, ms(35))?;
    Ok((jobs, source))
}

fn together<S: Source>(test: &mut Test, load: Load, dispatcher: OnCores<2, S>) -> Outcome<S> {
    let (jobs, source) = meeting(test, load, dispatcher)?;
    check_eq!((jobs.good, jobs.aborted), ([1, 1, 0], [0, 0, 0]));
    Ok(source)
}

fn jobs_of_two_cores_run_at_the_same_time(test: &mut Test) -> Outcome {
    let load = Load::calibrate(&test.clock);
    with_each_source!(test, with_source::<2, _>, |test, dispatcher| together(
        test, load, dispatcher
    ))
}

/// A negative control: the first one waits until it is aborted.
fn on_one_core_they_do_not(test: &mut Test) -> Outcome {
    let load = Load::calibrate(&test.clock);
    let dispatcher = with_source::<1, _>(test, yield_to_timeout)?;
    let (jobs, _) = meeting(test, load, dispatcher)?;
    check_eq!((jobs.good, jobs.aborted), ([0, 1, 0], [1, 0, 0]));
    Ok(())
}

fn displaced<S: Source>(test: &mut Test, load: Load, mut dispatcher: OnCores<2, S>) -> Outcome<S> {
    // In virtual time two busy cores have half of the speed.
    for (period, budget, work) in [(20, 10, 3), (30, 14, 5), (60, 50, 15)] {
        add(
            test,
            &mut dispatcher,
            periodic(ms(period), ms(budget)),
            move |_| load.work_in_turns(ms(work)),
        );
    }
    let (jobs, counts, source) = run(test, dispatcher, ms(238))?;
    check_eq!((jobs.late, jobs.aborted), ([0; 3], [0; 3]));
    check!(
        jobs.good[0] >= 11 && jobs.good[1] >= 7 && jobs.good[2] >= 3,
        "{:?}",
        jobs.good
    );
    check!(counts.migrations > 0, "no job migrates");
    Ok(source)
}

fn a_displaced_job_goes_on_on_the_other_core(test: &mut Test) -> Outcome {
    let load = Load::calibrate(&test.clock);
    with_each_source!(test, with_source::<2, _>, |test, dispatcher| displaced(
        test, load, dispatcher
    ))
}

/// Two tasks whose jobs compute until they are aborted, and a third one whose jobs are short. Returns also in how many jobs
/// of each of the two the other's went on.
fn endless<const CORES: usize, S: Source>(
    test: &mut Test,
    load: Load,
    mut dispatcher: OnCores<CORES, S>,
) -> Outcome<(Jobs, [usize; 2], S)> {
    static STEPS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
    static MET: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
    for number in 0..2 {
        MET[number].store(0, Relaxed);
        add(test, &mut dispatcher, periodic(ms(40), ms(6)), move |_| {
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
    add(test, &mut dispatcher, periodic(ms(40), ms(20)), move |_| {
        load.work_in_turns(ms(2))
    });
    let (jobs, _, source) = run(test, dispatcher, ms(155))?;
    let met = MET.each_ref().map(|count| count.load(Relaxed));
    Ok((jobs, met, source))
}

fn aborted<S: Source>(test: &mut Test, load: Load, dispatcher: OnCores<2, S>) -> Outcome<S> {
    let (jobs, met, source) = endless(test, load, dispatcher)?;
    check_eq!((jobs.good, jobs.aborted), ([0, 0, 4], [4, 4, 0]));
    // Each time on two cores.
    check_eq!(met, [4, 4]);
    Ok(source)
}

fn jobs_of_both_cores_are_aborted(test: &mut Test) -> Outcome {
    let load = Load::calibrate(&test.clock);
    with_each_source!(test, with_source::<2, _>, |test, dispatcher| aborted(
        test, load, dispatcher
    ))
}

/// A negative control: the same jobs on one core are aborted one after the other.
fn on_one_core_they_are_aborted_in_turn(test: &mut Test) -> Outcome {
    let load = Load::calibrate(&test.clock);
    let dispatcher = with_source::<1, _>(test, yield_to_timeout)?;
    let (jobs, met, _) = endless(test, load, dispatcher)?;
    check_eq!((jobs.good, jobs.aborted), ([0, 0, 4], [4, 4, 0]));
    check_eq!(met, [0, 0]);
    Ok(())
}

/// A job on the other core has more than the time that it needs, which is twice its work in virtual time, but less than that
/// and what the thread of higher priority takes meanwhile.
fn preempted<S: Source>(test: &mut Test, load: Load, mut dispatcher: OnCores<2, S>) -> Outcome<S> {
    static OTHER_CORE: AtomicUsize = AtomicUsize::new(0);
    OTHER_CORE.store(0, Relaxed);
    for (period, budget) in [(119, 60), (120, 24)] {
        add(
            test,
            &mut dispatcher,
            periodic(ms(period), ms(budget)),
            move |_| load.work_in_turns(ms(8)),
        );
    }
    let time = SchedParameters::new(ms(15), ms(30));
    let above = test.timed(ABOVE, time, move || {
        loop {
            load.work_in_turns(ms(1));
            OTHER_CORE.fetch_add(1, Relaxed);
        }
    })?;
    test.control_of(1).configure(above.sched_context, &time)?;
    above.start()?;
    let (jobs, _, source) = run(test, dispatcher, ms(475))?;
    above.tcb.suspend()?;
    check_eq!(jobs.aborted, [0; 3]);
    check!(jobs.good[0] >= 3 && jobs.good[1] >= 3, "{:?}", jobs.good);
    check!(OTHER_CORE.load(Relaxed) > 30);
    Ok(source)
}

fn a_higher_priority_thread_on_another_core_uses_up_no_budget(test: &mut Test) -> Outcome {
    let load = Load::calibrate(&test.clock);
    beside_others!(test, with_source::<2, _>, |test, dispatcher| preempted(
        test, load, dispatcher
    ))
}

/// Of all capabilities of a scheduler beside another, one can configure contexts.
fn a_confined_scheduler_has_no_other_core(test: &mut Test) -> Outcome {
    static CONTROLS: AtomicUsize = AtomicUsize::new(0);
    let scheduler = test.confined::<1>(1, ABOVE, |mut environment, _| {
        let context = environment.create_sched_context(&SLICE);
        let context = context.expect("there is memory");
        let controls = (1..1 << CONFINED_RADIX).map(|slot| SchedControl(CPtr(slot)));
        let controls = controls.filter(|it| it.configure(context, &SLICE).is_ok());
        CONTROLS.store(controls.count(), Relaxed);
    })?;
    scheduler.start()?;
    check!(test.comes_true(|| CONTROLS.load(Relaxed) != 0)?, "none");
    check_eq!(CONTROLS.load(Relaxed), 1);
    Ok(())
}

/// How long clusters run beside each other, and for how long each task of theirs works, by period and budget. The work of all
/// is less than half of a core, and budgets are more than four times as long: in virtual time, four busy cores have a
/// quarter of the speed.
const BESIDE: Microseconds = ms(238);
const TASKS: [(u64, u64, u64); 3] = [(20, 10, 2), (30, 15, 3), (60, 30, 6)];
/// The work of a job that does not end before the test, in milliseconds.
const ENDLESS: u64 = 1_000_000;

/// What became of the jobs of each cluster.
struct Record {
    good: [AtomicUsize; 3],
    late: AtomicUsize,
    aborted: AtomicUsize,
    overruns: AtomicUsize,
    has_ended: AtomicBool,
}

static RECORDS: [Record; 2] = [const {
    Record {
        good: [const { AtomicUsize::new(0) }; 3],
        late: AtomicUsize::new(0),
        aborted: AtomicUsize::new(0),
        overruns: AtomicUsize::new(0),
        has_ended: AtomicBool::new(false),
    }
}; 2];

impl Record {
    fn set(&self, jobs: &Jobs) {
        for (place, count) in self.good.iter().zip(jobs.good) {
            place.store(count, Relaxed);
        }
        self.late.store(jobs.late.iter().sum(), Relaxed);
        self.aborted.store(jobs.aborted.iter().sum(), Relaxed);
        self.overruns.store(jobs.overruns, Relaxed);
        self.has_ended.store(true, SeqCst);
    }

    fn good(&self) -> [usize; 3] {
        self.good.each_ref().map(|count| count.load(Relaxed))
    }

    /// Each task has done its jobs, and none was late.
    fn check(&self) -> Outcome {
        check_eq!(
            (self.late.load(Relaxed), self.aborted.load(Relaxed)),
            (0, 0)
        );
        let good = self.good();
        let wanted = good[0] >= 11 && good[1] >= 7 && good[2] >= 3;
        check!(wanted, "{good:?}");
        Ok(())
    }
}

/// The scheduler of one cluster. The first task's jobs may have no end; they are not aborted then.
fn schedule<const CORES: usize>(
    mut environment: Environment,
    controls: [SchedControl; CORES],
    load: Load,
    is_endless: bool,
) -> Result<Jobs> {
    let mut dispatcher = dispatcher(&mut environment, controls, yield_to_timeout)?;
    for (number, (period, budget, work)) in TASKS.into_iter().enumerate() {
        let mut task = periodic(ms(period), ms(budget));
        let is_endless = is_endless && number == 0;
        if is_endless {
            task.overrun = Overrun::Count;
        }
        let work = ms(if is_endless { ENDLESS } else { work });
        add(&mut environment, &mut dispatcher, task, move |_| {
            load.work_in_turns(work)
        });
    }
    Ok(run(&environment, dispatcher, BESIDE)?.0)
}

/// Two clusters of `CORES` cores. Each has a scheduler with capabilities for its own cores and tasks only.
fn beside<const CORES: usize>(test: &mut Test, second_is_endless: bool) -> Outcome {
    let load = Load::calibrate(&test.clock);
    for (number, record) in RECORDS.iter().enumerate() {
        let is_endless = second_is_endless && number == 1;
        let first = number * CORES;
        let scheduler = test.confined(first, ABOVE, move |environment, controls| {
            let jobs = schedule::<CORES>(environment, controls, load, is_endless);
            record.set(&jobs.expect("the kernel refuses nothing"));
        })?;
        scheduler.start()?;
    }
    test.sleep(START + BESIDE)?;
    let have_ended = || RECORDS.iter().all(|it| it.has_ended.load(SeqCst));
    check!(test.comes_true(have_ended)?, "a scheduler has not ended");
    RECORDS[0].check()
}

fn clusters_of_one_core_keep_their_deadlines_beside_each_other(test: &mut Test) -> Outcome {
    beside::<1>(test, false)?;
    RECORDS[1].check()
}

/// The others of its own cluster have no core: a negative control.
fn an_overrun_in_one_of_them_leaves_the_other_alone(test: &mut Test) -> Outcome {
    beside::<1>(test, true)?;
    check!(RECORDS[1].overruns.load(Relaxed) > 0);
    check_eq!(RECORDS[1].good(), [0; 3]);
    Ok(())
}

/// It needs four cores.
fn clusters_of_two_cores_keep_their_deadlines_beside_each_other(test: &mut Test) -> Outcome {
    if !test.has_four_cores() {
        return Ok(());
    }
    beside::<2>(test, false)?;
    RECORDS[1].check()
}

/// The same. The others of its own cluster have one core left.
fn an_overrun_in_one_of_those_leaves_the_other_alone(test: &mut Test) -> Outcome {
    if !test.has_four_cores() {
        return Ok(());
    }
    beside::<2>(test, true)?;
    check!(RECORDS[1].overruns.load(Relaxed) > 0);
    let good = RECORDS[1].good();
    check!(good[0] == 0 && good[1] > 0 && good[2] > 0, "{good:?}");
    Ok(())
}

//! User-level schedulers: what the dispatcher of the crate `dispatcher` makes of reports and decisions, with each source of
//! time.

use crate::support::events::{note, noted};
use crate::support::sources::{beside_others, with_each_source};
use crate::support::{ABOVE, BELOW, Outcome, Test, ms, us, work};
use crate::{check, check_eq};
use core::hint::black_box;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use dispatcher::source::Source;
use dispatcher::{Configuration, Dispatcher, Event, Job};
use schedulers::{
    Arrivals, Cluster, Duration, Error, LowTasks, OneCore, Overrun, Task, TaskId, Unchecked,
};
use userlib::cap::{Notification, SchedContext, SchedParameters};
use userlib::fault::Outcome as Ended;
use userlib::time::Load;
use userlib::{Environment, Microseconds, Result, runtime};

tests![
    jobs_over_their_budgets_are_aborted_and_begin_anew,
    a_task_that_faults_is_removed_and_the_others_go_on,
    another_job_runs_while_one_waits,
    sporadic_jobs_come_when_they_are_reported,
    an_earlier_deadline_preempts,
    a_section_without_preemption_keeps_the_core,
    a_job_with_an_earlier_deadline_goes_on,
    a_removed_task_leaves_room_for_another,
    higher_priority_threads_use_up_no_budgets,
];

/// The time from the creation of a dispatcher to the first releases, in which all tasks are made.
const START: Microseconds = ms(30);

/// A dispatcher for one core, with a source of time.
fn with_source<S: Source>(
    test: &mut Test,
    source: impl FnOnce(&mut Environment, SchedContext) -> Result<S>,
) -> Result<Dispatcher<1, 3, S>> {
    let configuration = Configuration {
        controls: [test.sched_control],
        priority: BELOW,
    };
    Dispatcher::new(test, Cluster::new(LowTasks::Stop), configuration, source)
}

/// A task with this period and budget, whose first job is released `after` the others.
fn task(period: Microseconds, budget: Microseconds, after: Microseconds) -> Task {
    Task {
        arrivals: Arrivals::Periodic {
            offset: Duration((START + after).0),
        },
        ..Task::periodic(Duration(period.0), Duration(budget.0))
    }
}

/// Adds a task that must be accepted.
fn add<S: Source>(
    test: &mut Test,
    dispatcher: &mut Dispatcher<1, 3, S>,
    task: Task,
    work: impl FnMut(&Job) + Copy + Send + 'static,
) -> TaskId {
    let added = dispatcher.add(test, task, &Unchecked, work);
    added.expect("the cluster has room and the kernel has memory")
}

/// Runs the tasks for so long after the first releases.
fn run<S: Source>(
    test: &mut Test,
    dispatcher: &mut Dispatcher<1, 3, S>,
    time: Microseconds,
    mut observe: impl FnMut(Event),
) -> Result {
    let until = dispatcher.now() + Duration((START + time).0);
    dispatcher.run(test, until, &mut observe)
}

/// A job that never ends is aborted in each period, and another task has all of its jobs.
fn runaway<S: Source>(test: &mut Test, mut dispatcher: Dispatcher<1, 3, S>) -> Outcome<S> {
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    BEGUN.store(0, Relaxed);
    let endless = Task {
        overrun: Overrun::Abort,
        ..task(ms(10), ms(2), us(0))
    };
    let runaway = add(test, &mut dispatcher, endless, |_| {
        BEGUN.fetch_add(1, Relaxed);
        loop {
            black_box(());
        }
    });
    let good = add(test, &mut dispatcher, task(ms(10), ms(2), us(0)), |_| ());
    let (mut aborted, mut overruns, mut completed) = (0, 0, 0);
    run(test, &mut dispatcher, ms(55), |event| match event {
        Event::Aborted(task) if task == runaway => aborted += 1,
        Event::Overrun(task) if task == runaway => overruns += 1,
        Event::Completed(task, completion) if task == good => {
            completed += usize::from(completion.late == Duration(0));
        }
        _ => {}
    })?;
    let source = dispatcher.stop()?;
    check_eq!((aborted, overruns, completed), (6, 6, 6));
    check_eq!(BEGUN.load(Relaxed), 6);
    Ok(source)
}

fn jobs_over_their_budgets_are_aborted_and_begin_anew(test: &mut Test) -> Outcome {
    with_each_source!(test, with_source, runaway)
}

fn faulting<S: Source>(test: &mut Test, mut dispatcher: Dispatcher<1, 3, S>) -> Outcome<S> {
    static JOBS: AtomicUsize = AtomicUsize::new(0);
    JOBS.store(0, Relaxed);
    let bad = add(test, &mut dispatcher, task(ms(10), ms(2), us(0)), |_| {
        if JOBS.fetch_add(1, Relaxed) == 2 {
            runtime::exit_thread(7);
        }
    });
    let good = add(test, &mut dispatcher, task(ms(10), ms(2), us(0)), |_| ());
    let (mut completed, mut end) = ([0; 2], None);
    run(test, &mut dispatcher, ms(55), |event| match event {
        Event::Completed(task, _) => completed[usize::from(task == good)] += 1,
        Event::Faulted(task, fault) if task == bad => end = Some(Ended::from(fault)),
        _ => {}
    })?;
    let source = dispatcher.stop()?;
    check_eq!(completed, [2, 6]);
    check_eq!(end, Some(Ended::Exited(7)));
    Ok(source)
}

fn a_task_that_faults_is_removed_and_the_others_go_on(test: &mut Test) -> Outcome {
    with_each_source!(test, with_source, faulting)
}

/// The job with the earlier deadline waits for a signal of the other.
fn waiting<S: Source>(test: &mut Test, mut dispatcher: Dispatcher<1, 3, S>) -> Outcome<S> {
    let signal: Notification = test.create()?;
    let early = add(
        test,
        &mut dispatcher,
        task(ms(40), ms(5), us(0)),
        move |job| {
            note('a');
            // The second report that it continues is one too many, and has a reply at once.
            job.while_waiting(|| job.while_waiting(|| signal.wait()));
            note('d');
        },
    );
    add(
        test,
        &mut dispatcher,
        task(ms(80), ms(5), us(0)),
        move |_| {
            note('b');
            signal.signal();
            note('e');
        },
    );
    let mut jobs = 0;
    run(test, &mut dispatcher, ms(30), |event| {
        if let Event::Completed(task, _) = event {
            jobs += 1;
            note(if task == early { 'A' } else { 'B' });
        }
    })?;
    let source = dispatcher.stop()?;
    check_eq!(noted(), "abdAeB");
    check_eq!(jobs, 2);
    Ok(source)
}

fn another_job_runs_while_one_waits(test: &mut Test) -> Outcome {
    with_each_source!(test, with_source, waiting)
}

/// A periodic task reports three arrivals in a row: the first job is released at once, the second a period later, and
/// the third is refused.
fn arriving<S: Source>(test: &mut Test, mut dispatcher: Dispatcher<1, 3, S>) -> Outcome<S> {
    let sporadic = Task {
        arrivals: Arrivals::Sporadic,
        ..task(ms(10), ms(1), us(0))
    };
    let sporadic = add(test, &mut dispatcher, sporadic, |_| note('s'));
    let arrivals = dispatcher.arrivals(test, sporadic)?;
    add(
        test,
        &mut dispatcher,
        task(ms(60), ms(5), us(0)),
        move |_| {
            for _ in 0..3 {
                note('r');
                arrivals.report();
            }
        },
    );
    let (mut jobs, mut refused) = (0, 0);
    run(test, &mut dispatcher, ms(115), |event| match event {
        Event::Completed(task, _) => jobs += usize::from(task == sporadic),
        Event::Refused(task, Error::HasJob) if task == sporadic => refused += 1,
        _ => {}
    })?;
    let source = dispatcher.stop()?;
    check_eq!(noted(), "rsrrsrsrrs");
    check_eq!((jobs, refused), (4, 2));
    Ok(source)
}

fn sporadic_jobs_come_when_they_are_reported(test: &mut Test) -> Outcome {
    with_each_source!(test, with_source, arriving)
}

/// A job with a later deadline runs as `section` says when one with an earlier deadline is released; both note that, and
/// the order must be as expected.
fn order<S: Source>(
    test: &mut Test,
    mut dispatcher: Dispatcher<1, 3, S>,
    expected: &str,
    section: impl Fn(&Job) + Copy + Send + 'static,
) -> Outcome<S> {
    add(
        test,
        &mut dispatcher,
        task(ms(80), ms(9), us(0)),
        move |job| {
            section(job);
            note('l');
        },
    );
    let early = Task {
        deadline: Duration(ms(10).0),
        ..task(ms(80), ms(2), ms(2))
    };
    add(test, &mut dispatcher, early, |_| note('e'));
    run(test, &mut dispatcher, ms(30), |_| ())?;
    let source = dispatcher.stop()?;
    check_eq!(noted(), expected);
    Ok(source)
}

fn an_earlier_deadline_preempts(test: &mut Test) -> Outcome {
    let startup = test.startup;
    let section = move |_: &Job| work(startup, ms(5));
    with_each_source!(test, with_source, |test, dispatcher| order(
        test, dispatcher, "el", section
    ))
}

fn a_section_without_preemption_keeps_the_core(test: &mut Test) -> Outcome {
    let startup = test.startup;
    let section = move |job: &Job| {
        job.without_preemption(|| {
            work(startup, ms(5));
            note('n');
        });
    };
    with_each_source!(test, with_source, |test, dispatcher| order(
        test, dispatcher, "nel", section
    ))
}

fn a_job_with_an_earlier_deadline_goes_on(test: &mut Test) -> Outcome {
    let startup = test.startup;
    let section = move |job: &Job| {
        job.set_deadline(us(1));
        work(startup, ms(5));
    };
    with_each_source!(test, with_source, |test, dispatcher| order(
        test, dispatcher, "le", section
    ))
}

fn replaced<S: Source>(test: &mut Test, mut dispatcher: Dispatcher<1, 3, S>) -> Outcome<S> {
    let half = task(ms(20), ms(10), us(0));
    let first = add(test, &mut dispatcher, half, |_| note('f'));
    add(test, &mut dispatcher, half, |_| note('s'));
    let third = dispatcher.add(test, half, &OneCore, |_| note('t'));
    check!(third.is_err());
    dispatcher.remove(first)?;
    let third = dispatcher.add(test, half, &OneCore, |_| note('t'));
    check!(third.is_ok());
    run(test, &mut dispatcher, ms(10), |_| ())?;
    let source = dispatcher.stop()?;
    let noted = noted();
    check!(noted == "st" || noted == "ts", "{noted:?}");
    Ok(source)
}

fn a_removed_task_leaves_room_for_another(test: &mut Test) -> Outcome {
    with_each_source!(test, with_source, replaced)
}

/// Two tasks whose jobs need nearly all of their budgets, and a thread of higher priority that takes three milliseconds of
/// ten. If its time were theirs, jobs would be aborted.
fn preempted<S: Source>(
    test: &mut Test,
    load: Load,
    mut dispatcher: Dispatcher<1, 3, S>,
) -> Outcome<S> {
    for (period, work) in [(20, 4), (40, 12)] {
        let task = Task {
            overrun: Overrun::Abort,
            ..task(ms(period), ms(work + 1), us(0))
        };
        add(test, &mut dispatcher, task, move |_| load.work(ms(work)));
    }
    let time = SchedParameters::new(ms(3), ms(10));
    let above = test.timed(ABOVE, time, || {
        loop {
            black_box(());
        }
    })?;
    above.start()?;
    let (mut in_time, mut others) = ([0; 2], 0);
    run(test, &mut dispatcher, ms(159), |event| match event {
        Event::Completed(task, completion) if completion.late == Duration(0) => {
            in_time[usize::from(task.0)] += 1;
        }
        _ => others += 1,
    })?;
    above.tcb.suspend()?;
    let source = dispatcher.stop()?;
    check_eq!((in_time, others), ([8, 4], 0));
    Ok(source)
}

fn higher_priority_threads_use_up_no_budgets(test: &mut Test) -> Outcome {
    let load = Load::calibrate(&test.clock);
    beside_others!(test, with_source, |test, dispatcher| preempted(
        test, load, dispatcher
    ))
}

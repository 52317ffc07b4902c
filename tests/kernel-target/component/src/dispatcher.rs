//! User-level schedulers: what the dispatcher of the crate `dispatcher` makes of reports and decisions.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, Test, fail, ms, us, work};
use crate::{check, check_eq};
use core::hint::black_box;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use dispatcher::source::{OwnTimer, SharedTimer, Source, TimeoutFaults, YieldToTimeout};
use dispatcher::{Configuration, Dispatcher, Event, Job};
use schedulers::{
    Arrivals, Cluster, Duration, Error, LowTasks, OneCore, Overrun, Task, TaskId, Unchecked,
};
use userlib::cap::{Endpoint, Notification, Reply, SchedContext};
use userlib::drivers::Alarm;
use userlib::fault::Outcome as Ended;
use userlib::time::{TimeClient, TimeServer};
use userlib::{Environment, Microseconds, Result, Rights, runtime};

tests![
    jobs_over_their_budgets_are_aborted_and_begin_anew,
    timeout_faults_end_them_as_well,
    timers_end_them_as_well,
    a_task_that_faults_is_removed_and_the_others_go_on,
    another_job_runs_while_one_waits,
    sporadic_jobs_come_when_they_are_reported,
    a_section_without_preemption_keeps_the_core,
    a_job_with_an_earlier_deadline_goes_on,
    a_removed_task_leaves_room_for_another,
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

/// The same with YieldToTimeout.
fn dispatcher(test: &mut Test) -> Result<Dispatcher<1, 3, YieldToTimeout>> {
    with_source(test, |_, context| Ok(YieldToTimeout::new(context)))
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
    let dispatcher = dispatcher(test)?;
    runaway(test, dispatcher)?;
    Ok(())
}

fn timeout_faults_end_them_as_well(test: &mut Test) -> Outcome {
    let (clock, control) = (test.clock.clone(), test.sched_control);
    let dispatcher = with_source(test, |_, _| Ok(TimeoutFaults::new(clock, control)))?;
    runaway(test, dispatcher)?;
    Ok(())
}

/// The scheduler's own timer, and then the same timer behind a server.
fn timers_end_them_as_well(test: &mut Test) -> Outcome {
    // Not every kernel gives the timer to users, and on i.MX boards the runner has its registers.
    if !Alarm::IS_THERE || cfg!(any(feature = "devices-imx31", feature = "devices-imx6")) {
        return Ok(());
    }
    let clock = test.clock.clone();
    let alarm = Alarm::open(test)?;
    let dispatcher = with_source(test, |environment, _| {
        OwnTimer::new(environment, alarm, clock)
    })?;
    let alarm = runaway(test, dispatcher)?.release(test)?;

    let wake: Notification = test.create()?;
    test.tcb.bind_notification(wake)?;
    let (requests, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let interrupt = alarm.notification();
    let server = TimeServer::new(alarm, test.clock.clone(), [wake]);
    let server = test.thread(ABOVE, move || {
        let Err(error) = server.serve(requests, reply);
        fail(format_args!("{error:?}"));
    })?;
    server.tcb.bind_notification(interrupt)?;
    server.start()?;
    let client = TimeClient(test.allocator.mint(requests, Rights::ALL, 1)?);
    let clock = test.clock.clone();
    let dispatcher = with_source(test, |_, _| Ok(SharedTimer::new(clock, client)))?;
    runaway(test, dispatcher)?;
    Ok(())
}

fn a_task_that_faults_is_removed_and_the_others_go_on(test: &mut Test) -> Outcome {
    static JOBS: AtomicUsize = AtomicUsize::new(0);
    let mut dispatcher = dispatcher(test)?;
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
    dispatcher.stop()?;
    check_eq!(completed, [2, 6]);
    check_eq!(end, Some(Ended::Exited(7)));
    Ok(())
}

/// The job with the earlier deadline waits for a signal of the other.
fn another_job_runs_while_one_waits(test: &mut Test) -> Outcome {
    let mut dispatcher = dispatcher(test)?;
    let signal: Notification = test.create()?;
    let early = add(test, &mut dispatcher, task(ms(40), ms(5), us(0)), move |job| {
        note('a');
        // The second report that it continues is one too many, and has a reply at once.
        job.while_waiting(|| job.while_waiting(|| signal.wait()));
        note('d');
    });
    add(test, &mut dispatcher, task(ms(80), ms(5), us(0)), move |_| {
        note('b');
        signal.signal();
        note('e');
    });
    let mut jobs = 0;
    run(test, &mut dispatcher, ms(30), |event| {
        if let Event::Completed(task, _) = event {
            jobs += 1;
            note(if task == early { 'A' } else { 'B' });
        }
    })?;
    dispatcher.stop()?;
    check_eq!(noted(), "abdAeB");
    check_eq!(jobs, 2);
    Ok(())
}

/// A periodic task reports three arrivals in a row: the first job is released at once, the second a period later, and
/// the third is refused.
fn sporadic_jobs_come_when_they_are_reported(test: &mut Test) -> Outcome {
    let mut dispatcher = dispatcher(test)?;
    let sporadic = Task {
        arrivals: Arrivals::Sporadic,
        ..task(ms(10), ms(1), us(0))
    };
    let sporadic = add(test, &mut dispatcher, sporadic, |_| note('s'));
    let arrivals = dispatcher.arrivals(test, sporadic)?;
    add(test, &mut dispatcher, task(ms(60), ms(5), us(0)), move |_| {
        for _ in 0..3 {
            note('r');
            arrivals.report();
        }
    });
    let (mut jobs, mut refused) = (0, 0);
    run(test, &mut dispatcher, ms(115), |event| match event {
        Event::Completed(task, _) => jobs += usize::from(task == sporadic),
        Event::Refused(task, Error::HasJob) if task == sporadic => refused += 1,
        _ => {}
    })?;
    dispatcher.stop()?;
    check_eq!(noted(), "rsrrsrsrrs");
    check_eq!((jobs, refused), (4, 2));
    Ok(())
}

/// A job with a later deadline runs as `section` says when one with an earlier deadline is released.
fn order(test: &mut Test, section: impl Fn(&Job) + Copy + Send + 'static) -> Outcome {
    let mut dispatcher = dispatcher(test)?;
    add(test, &mut dispatcher, task(ms(80), ms(9), us(0)), move |job| {
        section(job);
        note('l');
    });
    let early = Task {
        deadline: Duration(ms(10).0),
        ..task(ms(80), ms(2), ms(2))
    };
    add(test, &mut dispatcher, early, |_| note('e'));
    run(test, &mut dispatcher, ms(30), |_| ())?;
    dispatcher.stop()?;
    Ok(())
}

fn a_section_without_preemption_keeps_the_core(test: &mut Test) -> Outcome {
    let startup = test.startup;
    order(test, move |_| work(startup, ms(5)))?;
    check_eq!(noted(), "el");
    order(test, move |job| {
        job.without_preemption(|| {
            work(startup, ms(5));
            note('n');
        });
    })?;
    check_eq!(noted(), "elnel");
    Ok(())
}

fn a_job_with_an_earlier_deadline_goes_on(test: &mut Test) -> Outcome {
    let startup = test.startup;
    order(test, move |job| {
        job.set_deadline(us(1));
        work(startup, ms(5));
    })?;
    check_eq!(noted(), "le");
    Ok(())
}

fn a_removed_task_leaves_room_for_another(test: &mut Test) -> Outcome {
    let mut dispatcher = dispatcher(test)?;
    let half = task(ms(20), ms(10), us(0));
    let first = add(test, &mut dispatcher, half, |_| note('f'));
    add(test, &mut dispatcher, half, |_| note('s'));
    let third = dispatcher.add(test, half, &OneCore, |_| note('t'));
    check!(third.is_err());
    dispatcher.remove(first)?;
    let third = dispatcher.add(test, half, &OneCore, |_| note('t'));
    check!(third.is_ok());
    run(test, &mut dispatcher, ms(10), |_| ())?;
    dispatcher.stop()?;
    let noted = noted();
    check!(noted == "st" || noted == "ts", "{noted:?}");
    Ok(())
}

//! Proportionate fairness by quanta on one core: what the dispatcher of the crate `dispatcher` makes of it.

use crate::check_eq;
use crate::support::events::{forget, note, noted};
use crate::support::quanta::{self, Fair, PERIODIC, add, run, weight};
use crate::support::{Outcome, Test};
use dispatcher::source::{Source, TimeoutFaults, YieldToTimeout};
use schedulers::{Arrivals, Overrun};
use userlib::Result;
use userlib::cap::Notification;

tests![
    all_deadlines_are_kept,
    with_timeout_faults_too,
    tasks_run_in_their_quanta,
    an_endless_job_is_aborted,
    an_endless_job_is_counted,
    sporadic_jobs_begin_with_a_quantum,
    a_job_that_waits_goes_on,
];

fn dispatcher(test: &mut Test) -> Result<Fair<1, YieldToTimeout>> {
    quanta::dispatcher(test, |_, context| Ok(YieldToTimeout::new(context)))
}

/// Half of the core, a third, and the rest.
const ALL: [schedulers::Weight; 3] = [
    schedulers::Weight {
        budget: 1,
        period: 2,
    },
    schedulers::Weight {
        budget: 2,
        period: 6,
    },
    schedulers::Weight {
        budget: 1,
        period: 6,
    },
];

fn keep_deadlines<S: Source>(test: &mut Test, dispatcher: Fair<1, S>) -> Outcome {
    quanta::all_deadlines_are_kept(test, dispatcher, &ALL)
}

fn all_deadlines_are_kept(test: &mut Test) -> Outcome {
    let dispatcher = dispatcher(test)?;
    keep_deadlines(test, dispatcher)
}

fn with_timeout_faults_too(test: &mut Test) -> Outcome {
    let (clock, control) = (test.clock.clone(), test.sched_control);
    let source = TimeoutFaults::new(clock, control);
    let dispatcher = quanta::dispatcher(test, |_, _| Ok(source))?;
    keep_deadlines(test, dispatcher)
}

fn tasks_run_in_their_quanta(test: &mut Test) -> Outcome {
    let dispatcher = dispatcher(test)?;
    quanta::tasks_run_in_their_quanta(test, dispatcher, &ALL)
}

fn an_endless_job_is_aborted(test: &mut Test) -> Outcome {
    let dispatcher = dispatcher(test)?;
    quanta::overruns_cost_the_others_nothing(test, dispatcher, &ALL, Overrun::Abort)
}

fn an_endless_job_is_counted(test: &mut Test) -> Outcome {
    let dispatcher = dispatcher(test)?;
    quanta::overruns_cost_the_others_nothing(test, dispatcher, &ALL, Overrun::Count)
}

/// A task reports arrivals, two in a row: the first job begins with the next quantum, the second is refused.
fn sporadic_jobs_begin_with_a_quantum(test: &mut Test) -> Outcome {
    forget();
    let mut dispatcher = dispatcher(test)?;
    let added = dispatcher.add(
        test,
        weight(1, 2),
        Arrivals::Sporadic,
        Overrun::Abort,
        |_| {
            note('s');
        },
    );
    let sporadic = added.expect("the core has room");
    let arrivals = dispatcher.arrivals(test, sporadic)?;
    let reporter = dispatcher.add(test, weight(1, 4), PERIODIC, Overrun::Abort, move |_| {
        note('r');
        arrivals.report();
        arrivals.report();
        note('e');
    });
    reporter.expect("the core has room");
    let jobs = run(test, &mut dispatcher, 12)?;
    dispatcher.stop()?;
    check_eq!(noted(), "resresres");
    check_eq!(jobs.in_time, [3, 3, 0, 0, 0, 0]);
    Ok(())
}

/// A job waits for a signal that another gives in its own quantum; and goes on, with its second quantum.
fn a_job_that_waits_goes_on(test: &mut Test) -> Outcome {
    forget();
    let signal: Notification = test.create()?;
    let mut dispatcher = dispatcher(test)?;
    add(
        test,
        &mut dispatcher,
        weight(2, 4),
        Overrun::Abort,
        move |job| {
            note('a');
            job.while_waiting(|| signal.wait());
            note('d');
            // What quanta do not do is refused, and costs nothing.
            job.without_preemption(|| note('e'));
        },
    );
    add(
        test,
        &mut dispatcher,
        weight(2, 4),
        Overrun::Abort,
        move |_| {
            note('b');
            signal.signal();
            note('c');
        },
    );
    let jobs = run(test, &mut dispatcher, 8)?;
    dispatcher.stop()?;
    check_eq!(noted(), "abcdeabcde");
    check_eq!(jobs.in_time, [2, 2, 0, 0, 0, 0]);
    Ok(())
}

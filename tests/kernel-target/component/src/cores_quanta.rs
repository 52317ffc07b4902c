//! Proportionate fairness by quanta on several cores, with sets that need exactly all of them.

use crate::check_eq;
use crate::support::quanta::{self, Fair, QUANTUM, weight};
use crate::support::{Outcome, Test, ms};
use dispatcher::Event;
use dispatcher::source::YieldToTimeout;
use schedulers::{Duration, Instant, Overrun, Weight};
use userlib::Result;
use userlib::time::Load;

tests![
    if abi::config::SMP;
    all_deadlines_are_kept_on_two_cores,
    all_deadlines_are_kept_on_four_cores,
    tasks_run_in_their_quanta_on_two_cores,
    tasks_run_in_their_quanta_on_four_cores,
    an_endless_job_is_aborted_on_two_cores,
    an_endless_job_is_counted_on_two_cores,
    a_job_is_not_ended_while_its_report_waits,
];

/// No partition of the cores has room for these, three for each two cores.
fn two_thirds() -> Weight {
    weight(2, 3)
}

fn dispatcher<const CORES: usize>(test: &mut Test) -> Result<Fair<CORES, YieldToTimeout>> {
    quanta::dispatcher(test, |_, context| Ok(YieldToTimeout::new(context)))
}

fn keep_deadlines<const CORES: usize>(test: &mut Test) -> Outcome {
    let weights = &[two_thirds(); 6][..CORES * 3 / 2];
    let dispatcher = dispatcher::<CORES>(test)?;
    quanta::all_deadlines_are_kept(test, dispatcher, weights)
}

fn all_deadlines_are_kept_on_two_cores(test: &mut Test) -> Outcome {
    keep_deadlines::<2>(test)
}

fn all_deadlines_are_kept_on_four_cores(test: &mut Test) -> Outcome {
    match test.has_four_cores() {
        true => keep_deadlines::<4>(test),
        false => Ok(()),
    }
}

fn run_in_quanta<const CORES: usize>(test: &mut Test) -> Outcome {
    let weights = &[two_thirds(); 6][..CORES * 3 / 2];
    let dispatcher = dispatcher::<CORES>(test)?;
    quanta::tasks_run_in_their_quanta(test, dispatcher, weights)
}

fn tasks_run_in_their_quanta_on_two_cores(test: &mut Test) -> Outcome {
    run_in_quanta::<2>(test)
}

fn tasks_run_in_their_quanta_on_four_cores(test: &mut Test) -> Outcome {
    match test.has_four_cores() {
        true => run_in_quanta::<4>(test),
        false => Ok(()),
    }
}

fn overruns(test: &mut Test, overrun: Overrun) -> Outcome {
    let dispatcher = dispatcher::<2>(test)?;
    let weights = [two_thirds(); 3];
    quanta::overruns_cost_the_others_nothing(test, dispatcher, &weights, overrun)
}

fn an_endless_job_is_aborted_on_two_cores(test: &mut Test) -> Outcome {
    overruns(test, Overrun::Abort)
}

fn an_endless_job_is_counted_on_two_cores(test: &mut Test) -> Outcome {
    overruns(test, Overrun::Count)
}

/// While the program around the scheduler does something else, a job on another core completes, and its quantum ends.
fn a_job_is_not_ended_while_its_report_waits(test: &mut Test) -> Outcome {
    let load = Load::calibrate(&test.clock);
    let mut dispatcher = dispatcher::<2>(test)?;
    let [here, there] = [(); 2].map(|()| {
        let always = weight(1, 1);
        quanta::add(test, &mut dispatcher, always, Overrun::Abort, move |_| {
            load.work_in_turns(ms(2));
        })
    });
    dispatcher.run(test, Instant(0), |_| ())?;
    let begin = dispatcher.now();
    dispatcher.run(test, begin + Duration(ms(1).0), |_| ())?;
    let end = test.now() + QUANTUM + ms(1);
    while test.now() < end {
        userlib::arch::relax();
    }
    let (mut completed, mut aborted) = (None, None);
    let until = dispatcher.now() + Duration(QUANTUM.0 + ms(2).0);
    dispatcher.run(test, until, |event| match event {
        Event::Completed(task, _) => completed = completed.or(Some(task)),
        Event::Aborted(task) => aborted = Some(task),
        _ => {}
    })?;
    // The other one had no time to complete.
    check_eq!((completed, aborted), (Some(there), Some(here)));
    dispatcher.stop()?;
    Ok(())
}

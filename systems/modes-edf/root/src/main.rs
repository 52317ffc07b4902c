//! Two criticalities with virtual deadlines (EDF-VD), at user level.
//!
//! The brake has high criticality: a job takes 20 ms, but may take 60, and with that the two tasks need more than the
//! core. Until a job takes longer than 20 ms, it is scheduled by an earlier, virtual deadline, so that the rest fits
//! before its real one. Then the mode is high: jobs of the display are aborted, and none begins until the brake's job
//! is completed.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use dispatcher::source::YieldToTimeout;
use dispatcher::{Configuration, Dispatcher, Event};
use schedulers::{Arrivals, Cluster, Criticality, Duration, EdfVd, LowTasks, Mode, Task};
use userlib::time::{Clock, Load, Verdict};
use userlib::{BootInfo, Environment, Microseconds, Result, println};

/// Milliseconds.
const fn ms(milliseconds: u64) -> Duration {
    Duration(milliseconds * 1000)
}

/// The time from the creation of the tasks to their first release, in which both are made.
const START: Duration = ms(50);
/// The length of the run.
const LENGTH: Duration = ms(2000);
/// Whether the run is in the time of the host, which may take the machine's.
const REAL_TIME: bool = option_env!("ESCAPEMENT_REAL_TIME").is_some();
/// Each job of the brake with a multiple of this number takes all of its budget of high mode.
const LONG_JOB: u32 = 5;

/// A periodic task.
const fn periodic(period: Duration, budget: Duration, criticality: Criticality) -> Task {
    Task {
        arrivals: Arrivals::Periodic { offset: START },
        criticality,
        ..Task::periodic(period, budget)
    }
}

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result<usize> {
    let mut environment = Environment::from_boot_info(boot);
    let clock = Clock::start(&mut environment, boot)?;
    let load = Load::calibrate(&clock);
    let configuration = Configuration {
        controls: [environment.sched_control],
        priority: 100,
    };
    let cluster = Cluster::<1, 2>::new(LowTasks::Stop);
    let mut dispatcher =
        Dispatcher::new(&mut environment, cluster, configuration, |_, context| {
            Ok(YieldToTimeout::new(context))
        })?;

    let high = Criticality::High {
        budget: ms(60),
        virtual_deadline: ms(100),
    };
    let mut tasks = [
        periodic(ms(100), ms(20), high),
        periodic(ms(40), ms(20), Criticality::Low),
    ];
    let accepted = EdfVd.set_virtual_deadlines(&mut tasks);
    accepted.expect("virtual deadlines make these tasks possible");
    if let Criticality::High {
        virtual_deadline, ..
    } = tasks[0].criticality
    {
        println!(
            "the brake's virtual deadline is {}",
            Microseconds(virtual_deadline.0)
        );
    }
    let added = dispatcher.add(&mut environment, tasks[0], &EdfVd, move |_| {
        static JOB: AtomicU32 = AtomicU32::new(1);
        let is_long = JOB.fetch_add(1, Relaxed).is_multiple_of(LONG_JOB);
        // Less than the budgets, from which decisions are taken, too.
        load.work(Microseconds::from_millis(if is_long { 58 } else { 19 }));
    });
    let brake = added.expect("the brake alone is possible");
    let added = dispatcher.add(&mut environment, tasks[1], &EdfVd, move |_| {
        load.work(Microseconds::from_millis(19));
    });
    let display = added.expect("both are possible");

    let end = dispatcher.now() + START + LENGTH;
    let (mut jobs, mut late, mut aborted, mut switches) = ([0; 2], [0; 2], 0, 0);
    let mut is_good = true;
    dispatcher.run(&environment, end, |event| match event {
        Event::Completed(task, completion) => {
            let task = usize::from(task == display);
            jobs[task] += 1;
            late[task] += u32::from(completion.late > Duration(0));
        }
        Event::Aborted(_) => aborted += 1,
        Event::Switched(Mode::High) => switches += 1,
        Event::Switched(Mode::Low) | Event::Overrun(_) => {}
        _ => is_good = false,
    })?;
    let overruns = dispatcher.overruns(brake);
    dispatcher.stop()?;
    println!(
        "brake: {} jobs, {} late, {overruns} over the budget of low mode",
        jobs[0], late[0]
    );
    println!(
        "display: {} jobs, {} late, {aborted} aborted",
        jobs[1], late[1]
    );
    println!("{switches} times high mode");
    // Four of twenty jobs of the brake are long, and a job of the display ends in each period of low mode.
    let in_time =
        jobs[0] >= 19 && late == [0, 0] && overruns == 4 && switches == 4 && jobs[1] >= 35;
    // Only an overrun of the brake leads to high mode.
    let verdict = Verdict::new(is_good && switches <= overruns, in_time, REAL_TIME);
    println!("{verdict}");
    Ok(verdict.exit_code())
}

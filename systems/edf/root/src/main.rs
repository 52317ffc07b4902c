//! Earliest deadline first, at user level.
//!
//! Three tasks need 98 % of the core, which is more than fixed priorities can guarantee for these periods: by rates,
//! the third would be late. The root task runs them by the library `schedulers`, with one source of time after the
//! other. The test of admission counts what decisions take: so two more per cent, which would make exactly 100, are
//! refused.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use dispatcher::source::{OwnTimer, SharedTimer, Source, TimeoutFaults, YieldToTimeout};
use dispatcher::{Configuration, Dispatcher, Event, NotAdded};
use schedulers::{
    Arrivals, Charged, Cluster, Duration, LowTasks, NotCharged, OneCore, Overheads, Refusal, Task,
    Unschedulable,
};
use userlib::cap::{Endpoint, Notification, SchedContext, SchedParameters};
use userlib::drivers::BoardTimer;
use userlib::thread::ThreadParameters;
use userlib::time::{Clock, Load, TimeClient, TimeServer, Verdict};
use userlib::{BootInfo, CPtr, Environment, Microseconds, Result, Rights, println};

/// Period and execution time of each task, in milliseconds.
const TASKS: [(u64, u64); 3] = [(100, 40), (150, 45), (250, 70)];
/// One that is too much.
const MORE: Task = Task::periodic(Duration(50_000), Duration(1_000));
/// The exact test, with the most that decisions take on a debug kernel, in microseconds. For other kernels
/// `cargo xtask bench --suite edf --overheads FILE` measures it.
const ADMISSION: Charged<OneCore> = Charged {
    overheads: Overheads {
        release_latency: Duration(10),
        schedule: Duration(20),
        release: Duration(5),
        context_switch: Duration(20),
        // There is no other core.
        remote_reschedule: Duration(0),
    },
    test: OneCore,
};
/// The time from the creation of the tasks to their first release, in which all are made, in microseconds.
const START: u64 = 50_000;
/// How long each source of time is tried: the least common multiple of the periods.
const LENGTH: u64 = 1_500_000;
/// Whether the run is in the time of the host, which may take the machine's.
const REAL_TIME: bool = option_env!("ESCAPEMENT_REAL_TIME").is_some();

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result<usize> {
    let mut environment = Environment::from_boot_info(boot);
    let clock = Clock::start(&mut environment, boot)?;
    let load = Load::calibrate(&clock);
    let control = environment.sched_control;

    let yields = |_: &mut _, context| Ok(YieldToTimeout::new(context));
    let mut verdict = run(&mut environment, "YieldToTimeout", load, yields)?.1;
    let faults = |_: &mut _, _| Ok(TimeoutFaults::new(clock.clone(), control));
    verdict = verdict.max(run(&mut environment, "timeout faults", load, faults)?.1);
    // Some boards give the timer to users only if the ABI says so.
    if BoardTimer::IS_THERE {
        let timer = BoardTimer::open(&mut environment)?;
        let own = |environment: &mut _, _| OwnTimer::new(environment, timer, clock.clone());
        let (own, with_timer) = run(&mut environment, "own timer", load, own)?;
        let timer = own.release(&environment)?;
        let server = serve(&mut environment, timer, clock.clone())?;
        let shared = |_: &mut _, _| Ok(SharedTimer::new(clock, server));
        let with_server = run(&mut environment, "time server", load, shared)?.1;
        verdict = verdict.max(with_timer).max(with_server);
    }
    println!("{verdict}");
    Ok(verdict.exit_code())
}

/// Starts a time server with one client, the calling thread.
fn serve(environment: &mut Environment, timer: BoardTimer, clock: Clock) -> Result<TimeClient> {
    let wake: Notification = environment.allocator.create()?;
    environment.tcb.bind_notification(wake)?;
    let requests: Endpoint = environment.allocator.create()?;
    let reply = environment.allocator.create()?;
    let parameters = ThreadParameters {
        // With the scheduler's priority: it is the only client, and waits.
        priority: 255,
        time: Some(SchedParameters::round_robin(Microseconds::from_millis(5))),
        fault_endpoint: CPtr::NULL,
    };
    let interrupt = timer.notification();
    let server = TimeServer::new(timer, clock, [wake]);
    let thread = environment.create_thread(&parameters, move || {
        let Err(error) = server.serve(requests, reply);
        println!("the time server has failed: {error:?}");
    })?;
    thread.tcb.bind_notification(interrupt)?;
    thread.start()?;
    let client = environment.allocator.mint(requests, Rights::ALL, 1)?;
    Ok(TimeClient(client))
}

/// Runs the tasks with a source of time; returns it, and whether each task has had all of its jobs, none of them too late.
fn run<S: Source>(
    environment: &mut Environment,
    name: &str,
    load: Load,
    source: impl FnOnce(&mut Environment, SchedContext) -> Result<S>,
) -> Result<(S, Verdict)> {
    let configuration = Configuration {
        controls: [environment.sched_control],
        priority: 100,
    };
    let cluster = Cluster::<1, 4>::new(LowTasks::Stop);
    let mut dispatcher = Dispatcher::new(environment, cluster, configuration, source)?;
    for (period, work) in TASKS {
        let work = Microseconds::from_millis(work);
        let task = Task {
            arrivals: Arrivals::Periodic {
                offset: Duration(START),
            },
            ..Task::periodic(Duration(period * 1000), Duration(work.0))
        };
        let added = dispatcher.add(environment, task, &ADMISSION, move |_| load.work(work));
        added.expect("98 % of the core are less than all of it");
    }
    let more = dispatcher.add(environment, MORE, &ADMISSION, |_| ());
    let end = dispatcher.now() + Duration(START + LENGTH);
    let (mut jobs, mut late) = ([0; TASKS.len()], [0; TASKS.len()]);
    let mut is_good = true;
    dispatcher.run(environment, end, |event| match event {
        Event::Completed(task, completion) => {
            let task = usize::from(task.0);
            jobs[task] += 1;
            late[task] += u64::from(completion.late > Duration(0));
        }
        // Nothing happens to the job.
        Event::Overrun(_) => {}
        _ => is_good = false,
    })?;
    let source = dispatcher.stop()?;
    println!("{name}: {jobs:?} jobs, {late:?} late; 2 % more: {more:?}");
    let too_much = NotCharged::Tasks(Unschedulable::Utilisation);
    let is_refused = more == Err(NotAdded::Refused(Refusal::Admission(too_much)));
    // The last job of each may end with the run.
    let enough = |(done, (period, _)): (&u64, (u64, u64))| *done + 1 >= LENGTH / 1000 / period;
    let in_time = jobs.iter().zip(TASKS).all(enough) && late == [0; TASKS.len()];
    Ok((
        source,
        Verdict::new(is_good && is_refused, in_time, REAL_TIME),
    ))
}

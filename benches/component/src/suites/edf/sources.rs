//! The other sources of time.

use dispatcher::source::{OwnTimer, SharedTimer, TimeoutFaults};
use userlib::cap::{Endpoint, Notification, Reply};
use userlib::thread::ThreadParameters;
use userlib::time::{TimeClient, TimeServer};
use userlib::{CPtr, Result, Rights};

use super::{PREEMPTING, run};
use crate::bench::{Bench, TIME};
use crate::protocol::PRIORITY;

/// Their names.
pub const NAMES: [&str; 3] = ["timeout faults", "own timer", "time server"];

/// The number of tasks: their influence is that on the library's decision, which is measured with YieldToTimeout.
const TASKS: usize = 8;

/// Measures preempting decisions.
pub fn source(bench: &mut Bench, variant: usize) -> Result {
    let (clock, control) = (bench.clock(), bench.sched_control);
    match variant {
        0 => run(bench, TASKS, |_, _| Ok(TimeoutFaults::new(clock, control)))?,
        1 => {
            let alarm = bench.alarm();
            run(bench, TASKS, |environment, _| {
                OwnTimer::new(environment, alarm, clock)
            })?;
        }
        _ => {
            let server = serve(bench)?;
            run(bench, TASKS, |_, _| Ok(SharedTimer::new(clock, server)))?;
        }
    }
    let parameters = [("source", NAMES[variant].into()), ("tasks", TASKS.into())];
    let samples = PREEMPTING.samples(TASKS, &PREEMPTING.took);
    bench.report("preempting", &parameters, &samples);
    Ok(())
}

/// Starts a time server with one client, the calling thread.
fn serve(bench: &mut Bench) -> Result<TimeClient> {
    let wake: Notification = bench.allocator.create()?;
    bench.tcb.bind_notification(wake)?;
    let requests: Endpoint = bench.allocator.create()?;
    let reply: Reply = bench.allocator.create()?;
    let alarm = bench.alarm();
    let interrupt = alarm.notification();
    let server = TimeServer::new(alarm, bench.clock(), [wake]);
    let parameters = ThreadParameters {
        // With the scheduler's priority: it is the only client, and waits.
        priority: PRIORITY,
        time: Some(TIME),
        fault_endpoint: CPtr::NULL,
    };
    let thread = bench.create_thread(&parameters, move || {
        let Err(error) = server.serve(requests, reply);
        panic!("the time server has failed: {error:?}");
    })?;
    thread.tcb.bind_notification(interrupt)?;
    thread.start()?;
    let client = bench.allocator.mint(requests, Rights::ALL, 1)?;
    Ok(TimeClient(client))
}

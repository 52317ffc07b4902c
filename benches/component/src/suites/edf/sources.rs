//! The sources of time.

use dispatcher::source::{OwnTimer, SharedTimer, Source, TimeoutFaults, YieldToTimeout};
use userlib::cap::{Endpoint, Notification, Reply, SchedContext};
use userlib::thread::ThreadParameters;
use userlib::time::{TimeClient, TimeServer};
use userlib::{CPtr, Environment, Result, Rights};

use crate::bench::{Bench, TIME};
use crate::protocol::PRIORITY;
use crate::report::Value;

/// Their names; the first is that of results which name none.
pub const NAMES: [&str; 4] = [
    "YieldToTimeout",
    "timeout faults",
    "own timer",
    "time server",
];

/// The parameters of a result, of which the last is the source's name.
pub fn named<'a>(parameters: &'a [(&'a str, Value)], source: usize) -> &'a [(&'a str, Value)] {
    &parameters[..parameters.len() - usize::from(source == 0)]
}

/// What runs with a source of time.
pub trait Workload {
    fn run<S: Source>(
        self,
        bench: &mut Bench,
        source: impl FnOnce(&mut Environment, SchedContext) -> Result<S>,
    ) -> Result;
}

/// Runs it with the source of this number.
pub fn run(bench: &mut Bench, source: usize, workload: impl Workload) -> Result {
    let (clock, control) = (bench.clock(), bench.sched_control);
    match source {
        0 => workload.run(bench, |_, context| {
            Ok(YieldToTimeout::with_clock(context, clock))
        }),
        1 => workload.run(bench, |_, _| Ok(TimeoutFaults::new(clock, control))),
        2 => {
            let timer = bench.timer();
            workload.run(bench, |environment, _| {
                OwnTimer::new(environment, timer, clock)
            })
        }
        _ => {
            let server = serve(bench)?;
            workload.run(bench, |_, _| Ok(SharedTimer::new(clock, server)))
        }
    }
}

/// Starts a time server with one client, the calling thread.
fn serve(bench: &mut Bench) -> Result<TimeClient> {
    let wake: Notification = bench.allocator.create()?;
    bench.tcb.bind_notification(wake)?;
    let requests: Endpoint = bench.allocator.create()?;
    let reply: Reply = bench.allocator.create()?;
    let timer = bench.timer();
    let interrupt = timer.notification();
    let server = TimeServer::new(timer, bench.clock(), [wake]);
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

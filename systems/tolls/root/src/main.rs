//! Thresholds and limits of a server's endpoint.
//!
//! A passive server needs two milliseconds for a request and runs on its callers' contexts. One caller has
//! enough budget; the other has three milliseconds, of which it wastes two before each call. On an ordinary
//! endpoint its budget ends in the middle of the request, and the server is blocked until the next
//! replenishment: its timeout handler is notified each time. With a threshold the same caller is deferred
//! while its budget is too small, and the server never times out.
//!
//! At last the server fails and never completes a request. With a limit on the endpoint, the context returns
//! to the caller, its call fails, and the timeout handler receives a message that identifies the server to be
//! restarted.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use userlib::cap::{Endpoint, Reply, SchedParameters};
use userlib::thread::ThreadParameters;
use userlib::time::{Clock, Load};
use userlib::{BootInfo, Environment, Message, Microseconds, Result, boot, println, syscall};

/// The server's time for a request, and the threshold: slightly more, because clocks are not exact.
const WORK: Microseconds = Microseconds::from_millis(2);
const TOLL: Microseconds = Microseconds(2_300);
/// How long each variant is measured.
const SPAN: Microseconds = Microseconds::from_millis(500);

const SERVER: u8 = 120;
const CALLER: u8 = 100;
const HANDLER: u8 = 130;

/// Requests that were served, and calls that failed.
static SERVED: AtomicUsize = AtomicUsize::new(0);
static FAILED: AtomicUsize = AtomicUsize::new(0);
/// Number of messages to the timeout handler.
static TIMEOUTS: AtomicUsize = AtomicUsize::new(0);
/// Whether the server fails.
static BAD_DAY: AtomicBool = AtomicBool::new(false);

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result<usize> {
    let mut environment = Environment::from_boot_info(boot);
    let clock = Clock::start(&mut environment, boot)?;
    let load = Load::calibrate(&clock);
    // The root task has the highest priority: it measures once per span, and sleeps in between.
    let own = SchedParameters::new(Microseconds::from_millis(10), SPAN);
    environment
        .sched_control
        .configure(boot::SCHED_CONTEXT, &own)?;

    let requests: Endpoint = environment.allocator.create()?;
    let timeouts: Endpoint = environment.allocator.create()?;
    handle(&mut environment, timeouts)?;
    serve(&mut environment, requests, timeouts, load)?;
    // One caller wastes no budget; the other wastes two of three milliseconds.
    call(&mut environment, requests, "careful", 5, 0, load)?;
    call(&mut environment, requests, "wasteful", 3, 2, load)?;
    let endpoint = environment.allocator.slot(requests);

    println!("                 served  timeouts  failed calls");
    let [served, timeouts, failed] = watch("as usual");
    let mut good = served > 0 && timeouts > 0 && failed == 0;
    endpoint.set_endpoint_threshold(TOLL, 0)?;
    // A request that began earlier may still time out.
    syscall::yield_now();
    let [served, timeouts, failed] = watch("with a threshold");
    good &= served > 0 && timeouts == 0 && failed == 0;
    endpoint.set_endpoint_threshold(TOLL, userlib::abi::endpoint_flags::LIMIT)?;
    BAD_DAY.store(true, Relaxed);
    let [served, timeouts, failed] = watch("with a limit");
    good &= served <= 1 && timeouts == 1 && failed == 1;

    println!("{}as it should be", if good { "" } else { "not " });
    Ok(usize::from(!good))
}

/// Sleeps for a span; returns what happened meanwhile.
fn watch(way: &str) -> [usize; 3] {
    let counters = [&SERVED, &TIMEOUTS, &FAILED];
    for counter in counters {
        counter.store(0, Relaxed);
    }
    syscall::yield_now();
    let [served, timeouts, failed] = counters.map(|counter| counter.load(Relaxed));
    println!("{way:16} {served:6} {timeouts:9} {failed:13}");
    [served, timeouts, failed]
}

/// Starts a thread that calls repeatedly, with a budget of some milliseconds in each 20, some of which it
/// wastes before each call.
fn call(
    environment: &mut Environment,
    requests: Endpoint,
    name: &str,
    budget: u64,
    waste: u64,
    load: Load,
) -> Result {
    let time = SchedParameters::new(
        Microseconds::from_millis(budget),
        Microseconds::from_millis(20),
    );
    let parameters = ThreadParameters {
        priority: CALLER,
        time: Some(time),
        fault_endpoint: userlib::CPtr::NULL,
    };
    let caller = environment.spawn(&parameters, move || {
        loop {
            load.work(Microseconds::from_millis(waste));
            if requests.call(Message::empty(0)).label() != 0 {
                FAILED.fetch_add(1, Relaxed);
            }
        }
    })?;
    caller.set_name(name);
    Ok(())
}

/// Starts the passive server, on a context of its own until it first waits.
fn serve(
    environment: &mut Environment,
    requests: Endpoint,
    timeouts: Endpoint,
    load: Load,
) -> Result {
    let reply: Reply = environment.allocator.create()?;
    let first = SchedParameters::round_robin(Microseconds::from_millis(10));
    let parameters = ThreadParameters {
        priority: SERVER,
        time: Some(first),
        fault_endpoint: userlib::CPtr::NULL,
    };
    let server = environment.spawn(&parameters, move || {
        requests.recv(reply);
        loop {
            load.work(WORK);
            while BAD_DAY.load(Relaxed) {
                userlib::arch::nops();
            }
            SERVED.fetch_add(1, Relaxed);
            requests.reply_recv(Message::empty(0), reply);
        }
    })?;
    server.set_name("server");
    server.tcb.set_timeout_endpoint(timeouts)?;
    // The root task sleeps until the server is blocked.
    syscall::yield_now();
    server.sched_context.unbind()
}

/// Starts the timeout handler, which counts, and makes the server continue with the next replenishment.
fn handle(environment: &mut Environment, timeouts: Endpoint) -> Result {
    let reply: Reply = environment.allocator.create()?;
    let parameters = ThreadParameters {
        priority: HANDLER,
        time: Some(SchedParameters::round_robin(Microseconds::from_millis(10))),
        fault_endpoint: userlib::CPtr::NULL,
    };
    let handler = environment.spawn(&parameters, move || {
        timeouts.recv(reply);
        loop {
            TIMEOUTS.fetch_add(1, Relaxed);
            timeouts.reply_recv(Message::empty(0), reply);
        }
    })?;
    handler.set_name("handler");
    Ok(())
}

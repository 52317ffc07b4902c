//! A wait queue with contexts that are charged while they wait.
//!
//! A bus serves one client after the other, for four milliseconds each, and three clients arrive at once.
//! After the service each client has four milliseconds of work. Its budget is ten milliseconds in eighty.
//!
//! Ordinary clients are not charged while they wait. With idling contexts, which some protocols require, they
//! are: the last client has waited for eight milliseconds, has two left for its work, and completes it in the
//! next period. So waiting and working together take no more than the budget in any period. In both cases the
//! processor is available to other threads while clients wait.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::arch::nops;
use userlib::cap::{Endpoint, Reply, SchedParameters};
use userlib::thread::ThreadParameters;
use userlib::time::{Clock, Load};
use userlib::{
    BootInfo, CPtr, Environment, Message, Microseconds, Result, Rights, Thread, println, syscall,
};

/// How long the bus takes for a client, and a client for its work.
const SERVICE: Microseconds = Microseconds(4_000);
const WORK: Microseconds = Microseconds(4_000);
/// Budget and period of a client.
const BUDGET: Microseconds = Microseconds(10_000);
const PERIOD: Microseconds = Microseconds(80_000);
const CLIENTS: usize = 3;
/// Budget of the bus, which needs little execution time.
const BUS_BUDGET: Microseconds = Microseconds(200);
/// Tolerance of measured times: emulated processors are not exact.
const TOLERANCE: u64 = 1_000;

const BUS_PRIORITY: u8 = 120;
/// Priority of the first client; each of the others has a slightly lower one.
const CLIENT_PRIORITY: u8 = 100;
/// Priority of a thread that uses all remaining time.
const REST_PRIORITY: u8 = 10;

/// Messages of clients to the root task.
const SERVED: usize = 1;
const DONE: usize = 2;

/// Measurements of a client.
#[derive(Clone, Copy, Default)]
struct Account {
    /// Times at which the bus had served it and at which its work was done, since all clients arrived.
    served: Microseconds,
    done: Microseconds,
    used: Microseconds,
}

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result<usize> {
    let mut environment = Environment::from_boot_info(boot);
    let clock = Clock::start(&mut environment, boot)?;
    let load = Load::calibrate(&clock);
    let bus = start_bus(&mut environment)?;
    let slice = SchedParameters::round_robin(Microseconds::from_millis(10));
    let rest = thread(REST_PRIORITY, slice);
    let rest = environment.spawn(&rest, || {
        loop {
            nops();
        }
    })?;

    println!("clients        served     done     used (microseconds)");
    let mut good = true;
    for idle in [false, true] {
        // With a replenishment for each used amount, none is delayed by merging.
        let time = SchedParameters::new(BUDGET, PERIOD).with_extra_refills(2);
        let time = if idle { time.idling() } else { time };
        rest.sched_context.consumed()?;
        let accounts = serve_all(&mut environment, &clock, bus, time, load)?;
        let free = rest.sched_context.consumed()?;

        let name = if idle { "that idle" } else { "ordinary" };
        for (place, account) in accounts.iter().enumerate() {
            let Account { served, done, used } = *account;
            println!("{name:12} {:8} {:8} {:8}", served.0, done.0, used.0);
            let expected = expect(place as u64, idle);
            good &= is_near(served, expected.served);
            good &= is_near(done, expected.done);
            good &= is_near(used, expected.used);
        }
        let end = accounts[CLIENTS - 1].done;
        println!("{name:12} left {free} of {end} to others");
        good &= is_near(free, end - Microseconds(CLIENTS as u64 * WORK.0));
    }
    println!("{}as it should be", if good { "" } else { "not " });
    Ok(usize::from(!good))
}

/// Expected measurements of the client at this position in the queue.
fn expect(place: u64, idle: bool) -> Account {
    let in_line = Microseconds(place * SERVICE.0);
    let served = in_line + SERVICE;
    let used = if idle { in_line + WORK } else { WORK };
    let done = if used <= BUDGET {
        served + WORK
    } else {
        PERIOD + (used - BUDGET)
    };
    Account { served, done, used }
}

fn is_near(time: Microseconds, expected: Microseconds) -> bool {
    time.0.abs_diff(expected.0) <= TOLERANCE
}

const fn thread(priority: u8, time: SchedParameters) -> ThreadParameters {
    ThreadParameters {
        priority,
        time: Some(time),
        fault_endpoint: CPtr::NULL,
    }
}

/// Starts the bus, which sleeps for the time of its service.
fn start_bus(environment: &mut Environment) -> Result<Endpoint> {
    let bus: Endpoint = environment.allocator.create()?;
    let reply: Reply = environment.allocator.create()?;
    let time = SchedParameters::new(BUS_BUDGET, SERVICE);
    let thread = environment.spawn(&thread(BUS_PRIORITY, time), move || {
        bus.recv(reply);
        loop {
            // The time used for handling the message is replenished at the end of the service.
            syscall::yield_until_budget(BUS_BUDGET).expect("it is its budget");
            bus.reply_recv(Message::empty(0), reply);
        }
    })?;
    thread.set_name("bus");
    Ok(bus)
}

/// Starts all clients, and measures them until their work is done.
fn serve_all(
    environment: &mut Environment,
    clock: &Clock,
    bus: Endpoint,
    time: SchedParameters,
    load: Load,
) -> Result<[Account; CLIENTS]> {
    let events: Endpoint = environment.allocator.create()?;
    let reply: Reply = environment.allocator.create()?;
    let mut client = |place: usize| -> Result<Thread> {
        let event = environment.allocator.mint(events, Rights::ALL, place)?;
        let parameters = thread(CLIENT_PRIORITY - place as u8, time);
        environment.spawn(&parameters, move || {
            bus.call(Message::empty(0));
            event.call(Message::empty(SERVED));
            load.work(WORK);
            event.call(Message::empty(DONE));
        })
    };
    let clients: [Thread; CLIENTS] = [client(0)?, client(1)?, client(2)?];
    for (client, name) in clients.iter().zip(["client-1", "client-2", "client-3"]) {
        client.set_name(name);
    }

    let mut accounts = [Account::default(); CLIENTS];
    let start = clock.now();
    let mut event = events.recv(reply);
    loop {
        let now = clock.now() - start;
        let (client, account) = (&clients[event.badge], &mut accounts[event.badge]);
        if event.message.is_some_and(|event| event.label() == SERVED) {
            account.served = now;
            event = events.reply_recv(Message::empty(0), reply);
            continue;
        }
        account.done = now;
        account.used = client.sched_context.consumed()?;
        // No reply: each client runs only once. The last client in the queue finishes last.
        if event.badge == CLIENTS - 1 {
            return Ok(accounts);
        }
        event = events.recv(reply);
    }
}

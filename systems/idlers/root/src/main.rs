//! A waiting line in which time goes by.
//!
//! A bus serves one client after the other, for four milliseconds each, and three clients come at once.
//! What each of them gets from it means four milliseconds of work, and each may use ten in eighty.
//!
//! Ordinary clients keep their budget while they stand in line. If their contexts idle, as some
//! protocols want it, it is used up there: the last one has stood in line for eight milliseconds, has two
//! left for its work, and ends it in the next period. So standing in line and working together take no
//! more than the budget in any period. The processor is free for others while clients wait, either way.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::cap::{Endpoint, Reply, SchedParameters};
use userlib::thread::ThreadParameters;
use userlib::time::{Clock, Load};
use userlib::{
    BootInfo, CPtr, Environment, Message, Microseconds, Result, Rights, Thread, println, syscall,
};

/// How long the bus takes for a client, and a client for its work.
const SERVICE: Microseconds = Microseconds(4_000);
const WORK: Microseconds = Microseconds(4_000);
/// A client's time.
const BUDGET: Microseconds = Microseconds(10_000);
const PERIOD: Microseconds = Microseconds(80_000);
const CLIENTS: usize = 3;
/// The bus hardly computes.
const BUS_BUDGET: Microseconds = Microseconds(200);
/// How far times may be from what is expected: emulated processors are not exact.
const TOLERANCE: u64 = 1_000;

const BUS_PRIORITY: u8 = 120;
/// Of the first in line; each of the others is a little less urgent.
const CLIENT_PRIORITY: u8 = 100;
/// Of a thread that takes all the time that nobody else wants.
const REST_PRIORITY: u8 = 10;

/// Messages of clients to the root task.
const SERVED: usize = 1;
const DONE: usize = 2;

/// What became of a client.
#[derive(Clone, Copy, Default)]
struct Account {
    /// When the bus had served it, and when its work was done, counted from when all of them came.
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
            core::hint::black_box(());
        }
    })?;

    println!("clients        served     done     used (microseconds)");
    let mut good = true;
    for idle in [false, true] {
        // With room for each piece of what was used, none comes back later than the others.
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

/// What should become of the client in this place of the line.
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

/// The bus: it sleeps for the time of its service.
fn start_bus(environment: &mut Environment) -> Result<Endpoint> {
    let bus: Endpoint = environment.allocator.create()?;
    let reply: Reply = environment.allocator.create()?;
    let time = SchedParameters::new(BUS_BUDGET, SERVICE);
    environment.spawn(&thread(BUS_PRIORITY, time), move || {
        bus.recv(reply);
        loop {
            // What the message has used comes back when the service is over.
            syscall::yield_until_budget(BUS_BUDGET).expect("it is its budget");
            bus.reply_recv(Message::empty(0), reply);
        }
    })?;
    Ok(bus)
}

/// Lets all clients come, and watches them until their work is done.
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
        // Nobody answers: a client comes once. The last one is the last.
        if event.badge == CLIENTS - 1 {
            return Ok(accounts);
        }
        event = events.recv(reply);
    }
}

//! A server that two clusters of two cores share, by the protocol MC-IPC (B. Brandenburg, RTSS 2014).
//!
//! Nine attackers call the server again and again. The victim, the highest-priority client of its cluster, calls it now and then.
//! The protocol promises that a request drains at most (1 + 2 C K) L of the victim's budget, here 9 L, however many attackers
//! there are, as long as all tell the guard when they compute; the budgets of some end in the middle of requests. The run prints a histogram of what
//! the victim's requests have drained.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::array;
use core::cmp::Reverse;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use dispatcher::guard::{Caller, Event, Guard, Mailbox, Reservation, Watchdog};
use schedulers::{Client, McIpc, TaskId};
use userlib::cap::{Notification, SchedControl, SchedParameters};
use userlib::thread::ThreadParameters;
use userlib::time::{Clock, Load, Verdict};
use userlib::{BootInfo, CPtr, Environment, Microseconds, Result, Rights, boot, println, syscall};

/// Clusters, and cores of each.
const CLUSTERS: usize = 2;
const CORES: usize = 2;
/// Clients of a cluster.
const TASKS: usize = 5;
/// How long the server works for a request, and the longest service: what passing on and changes of the lender cost on a
/// debug kernel is added.
const SERVICE: Microseconds = Microseconds(1_000);
const LONGEST: u64 = 1_100;
/// L, C and K: what a request drains at most.
const BOUND: u64 = (1 + 2 * CORES * CLUSTERS) as u64 * LONGEST;
/// The victim's budget, which suffices for a request, and its period.
const BUDGET: Microseconds = Microseconds(12_000);
const PERIOD: Microseconds = Microseconds(50_000);
/// The victim's requests in the run.
const REQUESTS: usize = 100;
const VICTIM: Client = client(0);
/// The names of the clients.
#[rustfmt::skip]
const NAMES: [&str; CLUSTERS * TASKS] = [
    "victim", "attacker-1", "attacker-2", "attacker-3", "attacker-4", "attacker-5", "attacker-6", "attacker-7",
    "attacker-8", "attacker-9",
];
/// Whether the run is in the time of the host, which may take the machine's.
const REAL_TIME: bool = option_env!("ESCAPEMENT_REAL_TIME").is_some();
/// The guard's priority.
const HIGHEST: u8 = 254;

static MAILBOXES: [Mailbox; CLUSTERS * TASKS] = [const { Mailbox::new() }; CLUSTERS * TASKS];

/// The victim's requests by what they have drained, in units of L; the most of it; and aborted requests of attackers.
static HISTOGRAM: [AtomicUsize; 12] = [const { AtomicUsize::new(0) }; 12];
static MOST: AtomicUsize = AtomicUsize::new(0);
static ABORTED: AtomicUsize = AtomicUsize::new(0);
/// Aborted ones of the victim.
static LOST: AtomicUsize = AtomicUsize::new(0);
static SERVED: AtomicUsize = AtomicUsize::new(0);

type Shared = Guard<McIpc<Reverse<u8>, CLUSTERS, CORES, TASKS>, CLUSTERS, CORES, TASKS>;

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result<usize> {
    let mut environment = Environment::from_boot_info(boot);
    let clock = Clock::start(&mut environment, boot)?;
    let load = Load::calibrate(&clock);
    let mut controls = boot::sched_controls(boot);
    let controls: [SchedControl; CLUSTERS * CORES] =
        array::from_fn(|_| controls.next().unwrap_or(SchedControl(CPtr::NULL)));
    let done: Notification = environment.allocator.create()?;
    let signal = environment.allocator.mint(done, Rights::ALL, 1)?;

    let watchdog = Watchdog {
        priority: HIGHEST,
        period: Microseconds::from_millis(20),
    };
    let mut guard = Shared::new(&mut environment, McIpc::new(), watchdog, move |request| {
        load.work_in_turns(SERVICE);
        request
    })?;
    let threads: [_; CLUSTERS * TASKS] = array::from_fn(|index| {
        let client = client(index);
        let core = usize::from(client.task.0) % CORES;
        let (priority, time) = match index {
            0 => (200, SchedParameters::new(BUDGET, PERIOD)),
            // Of a third of them the budget ends in the middle of a request.
            _ if index % 3 == 0 => (100 + index as u8, attacker(2_600)),
            _ => (100 + index as u8, attacker(30_000)),
        };
        let reservation = Reservation {
            core,
            control: controls[client.cluster * CORES + core],
            priority,
            time,
        };
        let work = move |caller: Caller| match index {
            0 => ask(&caller, signal),
            _ => attack(&caller),
        };
        guard.add(
            &mut environment,
            client,
            reservation,
            &MAILBOXES[index],
            work,
        )
    });
    let first = ThreadParameters {
        priority: HIGHEST,
        time: Some(SchedParameters::round_robin(Microseconds::from_millis(5))),
        fault_endpoint: CPtr::NULL,
    };
    let guarding = environment.spawn(&first, move || {
        println!("the guard has ended: {:?}", guard.run(note));
    })?;
    guarding.set_name("guard");
    for (thread, name) in threads.into_iter().zip(NAMES) {
        let thread = thread?;
        thread.set_name(name);
        thread.start()?;
    }
    done.wait();
    Ok(report().exit_code())
}

/// The clients in turn belong to one cluster and the other.
const fn client(index: usize) -> Client {
    Client {
        cluster: index % CLUSTERS,
        task: TaskId((index / CLUSTERS) as u16),
    }
}

/// An attacker's budget, in each 120 ms.
const fn attacker(budget: u64) -> SchedParameters {
    SchedParameters::new(Microseconds(budget), Microseconds::from_millis(120))
}

/// The victim.
fn ask(caller: &Caller, signal: Notification) {
    for request in 0.. {
        if request == REQUESTS {
            signal.signal();
        }
        // It sleeps until its budget is there again.
        caller.end();
        syscall::yield_until_budget(BUDGET).expect("it is its budget");
        let answer = caller.call([request, 0, 0]);
        match answer {
            Ok(words) => assert_eq!(words, [request, 0, 0]),
            Err(_aborted) => _ = LOST.fetch_add(1, Relaxed),
        }
    }
}

fn attack(caller: &Caller) -> ! {
    loop {
        let _answer_or_aborted = caller.call([0; 3]);
    }
}

/// What the guard tells.
fn note(event: Event) {
    match event {
        Event::Served { client, drained } => {
            SERVED.fetch_add(1, Relaxed);
            if client == Some(VICTIM) {
                MOST.fetch_max(drained.0 as usize, Relaxed);
                let place = (drained.0 / LONGEST) as usize;
                HISTOGRAM[place.min(HISTOGRAM.len() - 1)].fetch_add(1, Relaxed);
            }
        }
        Event::Aborted(_) => {
            ABORTED.fetch_add(1, Relaxed);
        }
        Event::Lent(_) | Event::Lost(_) | Event::Faulted(_) => {}
    }
}

/// Prints what has happened, and returns whether it is as promised.
fn report() -> Verdict {
    println!("L is {LONGEST} us; the victim's requests have drained");
    let mut counted = 0;
    for (place, count) in HISTOGRAM.iter().enumerate() {
        let count = count.load(Relaxed);
        counted += count;
        if count != 0 {
            println!("  up to {:2} L: {count:3} {:#<count$}", place + 1, "");
        }
    }
    let most = MOST.load(Relaxed) as u64;
    let (served, aborted) = (SERVED.load(Relaxed), ABORTED.load(Relaxed));
    println!("at most {most} us; the bound is {BOUND} us");
    println!("{served} requests served, {aborted} aborted");
    let lost = LOST.load(Relaxed);
    if lost > 0 {
        println!("{lost} of the victim's requests were aborted");
    }
    let in_time = lost == 0 && most <= BOUND && aborted > 0;
    let verdict = Verdict::new(counted + lost >= REQUESTS, in_time, REAL_TIME);
    println!("{verdict}");
    verdict
}

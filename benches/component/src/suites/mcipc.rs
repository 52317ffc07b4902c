//! A server that clients share by the protocol MC-IPC: from the last instruction of a client before its call to the first
//! one after it, with a server that answers at once.
//!
//! The measured client has the highest priority, and sleeps between two calls. The others call without pause. What it finds
//! depends on the instruction at which it is woken; so it is woken in two places, where the server is free and where it
//! serves a request of another client, which is completed on the measured client's time.

use super::benchmarks;
use crate::bench::{Bench, TIME};
use crate::measure::{ROUNDS, samples};
use crate::protocol::PRIORITY;
use core::array;
use core::cmp::Reverse;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use dispatcher::guard::{Caller, Guard, Mailbox, Reservation, Watchdog};
use schedulers::{Client, McIpc, TaskId};
use userlib::cap::Notification;
use userlib::{Microseconds, Result, Rights};

benchmarks![call: CASES.len()];

/// Numbers of clients, and what wakes the measured one.
const CASES: [(usize, Wake); 5] = [
    (1, Wake::Nothing),
    (2, Wake::Client),
    (2, Wake::Server),
    (4, Wake::Server),
    (10, Wake::Server),
];
/// The most of them.
const MOST: usize = 10;
/// Priorities of the others, the last of them with the highest, and the guard; the benchmark's first thread is between them.
const LOW: u8 = PRIORITY - 20;
const GUARD: u8 = PRIORITY + 20;
/// The guard is not reminded of anything while the benchmark runs.
const WATCHDOG: Watchdog = Watchdog {
    priority: GUARD,
    period: Microseconds::from_millis(10_000),
};

/// What wakes the measured client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wake {
    /// It is alone, and does not sleep.
    Nothing,
    /// Another client, between two requests: the best case.
    Client,
    /// The server, while it serves another client: the worst case.
    Server,
}

impl Wake {
    /// What the measured client finds.
    const fn finds(self) -> &'static str {
        match self {
            Self::Nothing | Self::Client => "free server",
            Self::Server => "request in service",
        }
    }
}

type Shared = Guard<McIpc<Reverse<u8>, 1, 1, MOST>, 1, 1, MOST>;

static MAILBOXES: [Mailbox; MOST] = [const { Mailbox::new() }; MOST];
static TOOK: [AtomicUsize; ROUNDS] = [const { AtomicUsize::new(0) }; ROUNDS];
/// Whether all others have begun.
static ALL: AtomicBool = AtomicBool::new(false);

fn call(bench: &mut Bench, variant: usize) -> Result {
    let (clients, wake) = CASES[variant];
    let counter = bench.counter();
    let done: Notification = bench.peer.notification;
    let (measured, wakes) = signalled(bench)?;
    let mut begins = [(measured, wakes); MOST];
    for begin in &mut begins {
        *begin = signalled(bench)?;
    }
    let mut guard = Shared::new(bench, McIpc::new(), WATCHDOG, move |request| {
        if request[0] != 0 && wake == Wake::Server {
            // During the first request the higher-priority clients call one after the other: all requests wait.
            if !ALL.swap(true, Relaxed) {
                let others = &begins[2..clients];
                others.iter().for_each(|(_, begins)| begins.signal());
            }
            wakes.signal();
        }
        request
    })?;
    let mut threads = [None; MOST];
    for (number, thread) in threads.iter_mut().enumerate().take(clients) {
        let client = Client {
            cluster: 0,
            task: TaskId(number as u16),
        };
        let priority = match number {
            0 => PRIORITY + 10,
            _ => LOW + number as u8,
        };
        let reservation = Reservation {
            core: 0,
            control: bench.sched_control,
            priority,
            time: TIME,
        };
        let mailbox = &MAILBOXES[number];
        let (begin, _) = begins[number];
        let other = move |caller: Caller| {
            if number > 1 {
                begin.wait();
            }
            loop {
                let answer = caller.call([number, 0, 0]);
                assert!(answer.is_ok(), "the budget suffices");
                if wake == Wake::Client {
                    wakes.signal();
                }
            }
        };
        let added = guard.add(bench, client, reservation, mailbox, move |caller| {
            if number != 0 {
                return other(caller);
            }
            for took in &TOOK {
                caller.end();
                if wake != Wake::Nothing {
                    measured.wait();
                }
                let before = counter.now();
                let answer = caller.call([number, 0, 0]);
                took.store(counter.between(before, counter.now()), Relaxed);
                assert!(answer.is_ok(), "the budget suffices");
            }
            caller.end();
            done.signal();
            loop {
                measured.wait();
            }
        })?;
        *thread = Some(added);
    }
    bench.run_with(0, GUARD, &TIME, move || {
        panic!("the guard has ended: {:?}", guard.run(|_| ()));
    })?;
    for thread in threads.iter().flatten() {
        thread.start()?;
    }
    done.wait();
    let took: [usize; ROUNDS] = array::from_fn(|round| TOOK[round].load(Relaxed));
    let parameters = [("clients", clients.into()), ("finds", wake.finds().into())];
    bench.report("call", &parameters, &samples(|round| took[round]));
    Ok(())
}

/// A notification, and a capability whose signals stay until they are received.
fn signalled(bench: &mut Bench) -> Result<(Notification, Notification)> {
    let notification: Notification = bench.allocator.create()?;
    let signal = bench.allocator.mint(notification, Rights::ALL, 1)?;
    Ok((notification, signal))
}

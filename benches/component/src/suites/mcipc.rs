//! A server that clients share by the protocol MC-IPC: from the last instruction of a client before its call to the first
//! one after it, with a server that answers at once.
//!
//! The measured client has the highest priority, and sleeps between two calls. The others call without pause. So it finds a
//! request of another in service, which is completed on its own time.

use super::benchmarks;
use crate::bench::{Bench, TIME};
use crate::measure::{ROUNDS, samples};
use crate::protocol::PRIORITY;
use core::array;
use core::cmp::Reverse;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use dispatcher::guard::{Guard, Mailbox, Reservation};
use schedulers::{Client, McIpc, TaskId};
use userlib::cap::{Notification, SchedParameters};
use userlib::{Microseconds, Result, syscall};

benchmarks![call: CLIENTS.len()];

/// Numbers of clients.
const CLIENTS: [usize; 4] = [1, 2, 4, 10];
/// The most of them.
const MOST: usize = 10;
/// The measured client's budget, and its period.
const BUDGET: Microseconds = Microseconds(2_000);
const PERIOD: Microseconds = Microseconds(4_000);
/// Others, and the guard; the benchmark's first thread is between them.
const LOW: u8 = PRIORITY - 20;
const GUARD: u8 = PRIORITY + 20;

type Shared = Guard<McIpc<Reverse<u8>, 1, 1, MOST>, 1, 1, MOST>;

static MAILBOXES: [Mailbox; MOST] = [const { Mailbox::new() }; MOST];
static TOOK: [AtomicUsize; ROUNDS] = [const { AtomicUsize::new(0) }; ROUNDS];

fn call(bench: &mut Bench, variant: usize) -> Result {
    let (clients, counter) = (CLIENTS[variant], bench.counter());
    let done: Notification = bench.peer.notification;
    let mut guard = Shared::new(bench, McIpc::new(), |request| request)?;
    let control = bench.sched_control;
    let mut threads = [None; MOST];
    for (number, thread) in threads.iter_mut().enumerate().take(clients) {
        let client = Client {
            cluster: 0,
            task: TaskId(number as u16),
        };
        let is_measured = number == 0;
        let (priority, time) = match is_measured {
            true => (PRIORITY + 10, SchedParameters::new(BUDGET, PERIOD)),
            false => (LOW - number as u8, TIME),
        };
        let reservation = Reservation {
            core: 0,
            control,
            priority,
            time,
        };
        let added = guard.add(
            bench,
            client,
            reservation,
            &MAILBOXES[number],
            move |caller| {
                for took in &TOOK {
                    if !is_measured {
                        loop {
                            let _answer = caller.call([number, 0, 0]);
                        }
                    }
                    caller.end();
                    syscall::yield_until_budget(BUDGET).expect("it is its budget");
                    let before = counter.now();
                    let answer = caller.call([number, 0, 0]);
                    took.store(counter.between(before, counter.now()), Relaxed);
                    assert!(answer.is_ok(), "the budget suffices");
                }
                caller.end();
                done.signal();
            },
        )?;
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
    let parameters = [("clients", clients.into())];
    bench.report("call", &parameters, &samples(|round| took[round]));
    Ok(())
}

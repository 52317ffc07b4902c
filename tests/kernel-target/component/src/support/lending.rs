//! Clients of the guards of the crate `dispatcher`, on the cores with the numbers of their clusters.

use super::{ABOVE, BELOW, Outcome, PRIORITY, Test, fail, ms};
use crate::check;
use core::cmp::Reverse;
use core::convert::Infallible;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use dispatcher::guard::{Caller, Event, Guard, Mailbox, NestedGuard, Reservation};
use schedulers::{Client, SharedServer, TaskId};
use userlib::cap::{Endpoint, SchedParameters};
use userlib::time::Load;
use userlib::{Environment, Microseconds, Result, Thread};

/// The most clusters.
const CLUSTERS: usize = 4;
/// The most clients of a cluster.
pub const TASKS: usize = 5;
/// More than a client needs.
pub const ENOUGH: SchedParameters = SchedParameters::round_robin(ms(100));
/// The guard's priority.
pub const HIGHEST: u8 = ABOVE + 10;
/// For how long a lender is preempted.
pub const PREEMPTED: Microseconds = ms(100);

/// The most that a request of the first client has drained.
pub static DRAINED: AtomicUsize = AtomicUsize::new(0);
/// How many requests were aborted,
pub static ABORTED: AtomicUsize = AtomicUsize::new(0);
/// clients lost,
pub static LOST: AtomicUsize = AtomicUsize::new(0);
/// faults reported,
pub static FAULTED: AtomicUsize = AtomicUsize::new(0);
/// and requests served.
pub static SERVED: AtomicUsize = AtomicUsize::new(0);
/// The cluster of each request in the order of service, or [`ORPHAN`].
pub static ORDER: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];
/// Instead of a cluster: the request had been aborted.
pub const ORPHAN: usize = 9;

/// A client's name.
pub const fn client(cluster: usize, task: u16) -> Client {
    let task = TaskId(task);
    Client { cluster, task }
}

/// A guard of either kind.
pub trait AnyGuard: Sized {
    /// Adds a client.
    fn add(
        &mut self,
        environment: &mut Environment,
        client: Client,
        reservation: Reservation,
        mailbox: &'static Mailbox,
        work: impl FnOnce(Caller) + Send + 'static,
    ) -> Result<Thread>;

    /// Serves.
    fn run(self, observe: impl FnMut(Event)) -> Result<Infallible>;
}

/// Both have the same methods of their own.
macro_rules! any_guard {
    () => {
        fn add(
            &mut self,
            environment: &mut Environment,
            client: Client,
            reservation: Reservation,
            mailbox: &'static Mailbox,
            work: impl FnOnce(Caller) + Send + 'static,
        ) -> Result<Thread> {
            self.add(environment, client, reservation, mailbox, work)
        }

        fn run(self, observe: impl FnMut(Event)) -> Result<Infallible> {
            self.run(observe)
        }
    };
}

impl<Q, const CLUSTERS: usize, const CORES: usize, const TASKS: usize> AnyGuard
    for Guard<Q, CLUSTERS, CORES, TASKS>
where
    Q: SharedServer<Priority = Reverse<u8>>,
{
    any_guard!();
}

impl<const CORES: usize, const SERVERS: usize, const TASKS: usize> AnyGuard
    for NestedGuard<CORES, SERVERS, TASKS>
{
    any_guard!();
}

/// Adds a client.
pub fn add(
    test: &mut Test,
    guard: &mut impl AnyGuard,
    client: Client,
    priority: u8,
    time: SchedParameters,
    work: impl FnOnce(Caller) + Send + 'static,
) -> Outcome<Thread> {
    static MAILBOXES: [[Mailbox; TASKS]; CLUSTERS] =
        [const { [const { Mailbox::new() }; TASKS] }; CLUSTERS];
    let reservation = Reservation {
        core: 0,
        control: test.control_of(client.cluster),
        priority,
        time,
    };
    let mailbox = &MAILBOXES[client.cluster][usize::from(client.task.0)];
    let never: Endpoint = test.create()?;
    let work = move |caller: Caller| {
        work(caller);
        caller.end();
        never.wait();
    };
    Ok(guard.add(test, client, reservation, mailbox, work)?)
}

/// Starts the guard.
pub fn run(test: &mut Test, guard: impl AnyGuard + Send + 'static) -> Outcome {
    test.spawn(HIGHEST, move || {
        fail(format_args!("the guard has ended: {:?}", guard.run(note)));
    })?;
    Ok(())
}

fn note(event: Event) {
    let counter = match event {
        Event::Served {
            client: served,
            drained,
        } => {
            if served == Some(client(0, 0)) {
                DRAINED.fetch_max(drained.0 as usize, Relaxed);
            }
            let place = ORDER.get(SERVED.fetch_add(1, Relaxed));
            let number = served.map_or(ORPHAN, |client| client.cluster);
            place.inspect(|place| place.store(number, Relaxed));
            return;
        }
        Event::Aborted(_) => &ABORTED,
        Event::Lost(_) => &LOST,
        Event::Faulted(_) => &FAULTED,
        Event::Lent(_) => return,
    };
    counter.fetch_add(1, Relaxed);
}

/// Adds a client that works for [`PREEMPTED`], with a higher priority than others of its cluster. It tells the guard that it
/// does, or does not.
pub fn add_preempting(
    test: &mut Test,
    guard: &mut impl AnyGuard,
    client: Client,
    load: Load,
    tells: bool,
) -> Outcome<Thread> {
    add(test, guard, client, PRIORITY + 5, ENOUGH, move |caller| {
        if tells {
            caller.begin();
        }
        load.work_in_turns(PREEMPTED);
    })
}

/// How long the call of a client takes, while a server works on the one of a client that is preempted for [`PREEMPTED`] on
/// the other core. The thread that preempts it tells the guard, or does not.
pub fn wait_behind_a_preempted_lender(
    test: &mut Test,
    (mut guard, load): (impl AnyGuard + Send + 'static, Load),
    tells: bool,
    first: impl FnOnce(&Caller) + Send + 'static,
    second: impl FnOnce(&Caller) + Send + 'static,
) -> Outcome<Microseconds> {
    static WAITED: AtomicUsize = AtomicUsize::new(0);
    let first = add(
        test,
        &mut guard,
        client(1, 0),
        PRIORITY,
        ENOUGH,
        move |caller| {
            first(&caller);
        },
    )?;
    let preempting = add_preempting(test, &mut guard, client(1, 1), load, tells)?;
    let clock = test.clock.clone();
    let waits = add(
        test,
        &mut guard,
        client(0, 0),
        BELOW,
        ENOUGH,
        move |caller| {
            let start = clock.now();
            second(&caller);
            WAITED.store((clock.now() - start).0 as usize, Relaxed);
        },
    )?;
    run(test, guard)?;
    for thread in [first, preempting, waits] {
        thread.start()?;
        test.sleep(ms(6))?;
    }
    check!(test.comes_true(|| WAITED.load(Relaxed) != 0)?, "no answer");
    Ok(Microseconds(WAITED.load(Relaxed) as u64))
}

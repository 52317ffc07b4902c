//! Threads that do the same in the simulator and on a board: traces of both have the same events.
//!
//! Two clients call a passive server. The budget of the second one ends inside it: the handler of timeouts answers the
//! client, and lends the server time to go on. Meanwhile a ticker preempts all of them and signals, a waiter gets the
//! context of the notification with each signal, and a hog uses up what it has.
//!
//! What is compared lies between two marks. No two things happen within less time than a board needs for some kernel
//! entries, as times are never the same.
#![no_std]
#![forbid(unsafe_code)]

use userlib::cap::{Endpoint, FixedObject, Notification, Reply, SchedParameters};
use userlib::{Fault, Message, Microseconds, Result, Thread, syscall, trace};

/// The text of the mark from which on events are compared.
pub const BEGIN: &str = "begin";
/// The text of the mark up to which they are.
pub const END: &str = "end";

/// Periods of the ticker, of which a run has so many.
const TICKS: u64 = 8;

/// How a thread is made.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// Its name.
    pub name: &'static str,
    /// Its priority, below that of the root task.
    pub priority: u8,
    /// The parameters of its scheduling context.
    pub time: SchedParameters,
    /// A notification to which it is bound, and its context is, too: that lends it the context. It has it already when it
    /// starts.
    pub lender: Option<Notification>,
    /// The handler of its timeouts.
    pub timeouts: Option<Endpoint>,
}

impl Parameters {
    const fn new(name: &'static str, priority: u8, budget: u64, period: u64) -> Self {
        let time = SchedParameters::new(Microseconds(budget), Microseconds(period));
        Self {
            name,
            priority,
            time,
            lender: None,
            timeouts: None,
        }
    }
}

/// Where the threads run: its root task makes objects and threads, which run when it waits.
pub trait Place {
    /// Makes an object.
    ///
    /// # Errors
    /// Those of the kernel.
    fn create<T: FixedObject>(&mut self) -> Result<T>;
    /// Copies the capability to an endpoint, with a badge.
    ///
    /// # Errors
    /// Those of the kernel.
    fn badge(&mut self, endpoint: Endpoint, badge: usize) -> Result<Endpoint>;
    /// Makes and starts a thread.
    ///
    /// # Errors
    /// Those of the kernel.
    fn thread(
        &mut self,
        parameters: &Parameters,
        body: impl Fn() + Copy + Send + 'static,
    ) -> Result<Thread>;
}

/// Makes the threads. `work` uses the processor for a time; `finish` is called when all is done that is compared.
///
/// # Errors
/// Those of the kernel.
pub fn set_up(
    place: &mut impl Place,
    work: impl Fn(Microseconds) + Copy + Send + 'static,
    finish: impl Fn() + Copy + Send + 'static,
) -> Result {
    let (requests, timeouts): (Endpoint, Endpoint) = (place.create()?, place.create()?);
    let (caller, faulter): (Reply, Reply) = (place.create()?, place.create()?);
    let signals: Notification = place.create()?;

    let server = Parameters {
        lender: Some(place.create()?),
        timeouts: Some(timeouts),
        ..Parameters::new("server", 50, 3_000, 5_000)
    };
    let server = place.thread(&server, move || {
        requests.recv(caller);
        loop {
            work(Microseconds(1_500));
            requests.reply_recv(Message::empty(0), caller);
        }
    })?;
    let handler = Parameters::new("handler", 200, 1_000, 5_000);
    place.thread(&handler, move || {
        trace::text(0, BEGIN);
        let mut received = timeouts.recv(faulter);
        loop {
            let fault = received
                .message
                .map(|message| Fault::from_message(&message));
            if let Some(Fault::Timeout { badge, .. }) = fault {
                trace::number(0, badge as u64);
            }
            caller.send(Message::empty(1));
            // That has returned the client's context. The server goes on with its own until it receives.
            let lent = server.sched_context.bind(server.tcb);
            trace::number(1, u64::from(lent.is_ok()));
            received = timeouts.reply_recv(Message::empty(0), faulter);
        }
    })?;
    for (badge, name, budget) in [(1, "client 1", 4_000), (2, "client 2", 1_000)] {
        let endpoint = place.badge(requests, badge)?;
        let client = Parameters::new(name, 20, budget, 12_000);
        let client = Parameters {
            time: client.time.with_badge(badge),
            ..client
        };
        place.thread(&client, move || {
            for job in 0.. {
                trace::begun(0, job);
                let answer = endpoint.call(Message::empty(0)).label();
                trace::number(0, answer as u64);
                trace::done(0, job);
                syscall::yield_now();
            }
        })?;
    }
    place.thread(&Parameters::new("ticker", 100, 1_000, 7_000), move || {
        for _ in 0..TICKS {
            signals.signal();
            work(Microseconds(300));
            syscall::yield_now();
        }
        trace::text(0, END);
        finish();
    })?;
    let waiter = Parameters {
        lender: Some(signals),
        ..Parameters::new("waiter", 30, 500, 5_000)
    };
    place.thread(&waiter, move || {
        loop {
            signals.wait();
            work(Microseconds(200));
        }
    })?;
    place.thread(&Parameters::new("hog", 5, 2_000, 20_000), move || {
        loop {
            work(Microseconds(1_000));
        }
    })?;
    Ok(())
}

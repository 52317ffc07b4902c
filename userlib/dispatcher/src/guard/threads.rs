//! The threads of servers and clients.

use userlib::cap::{Endpoint, Notification, Registers, Reply, SchedControl, SchedParameters};
use userlib::thread::ThreadParameters;
use userlib::{
    CPtr, Capability, Environment, Message, Microseconds, Result, Rights, Thread, syscall,
};

use super::seats::{Phase, Seat};
use super::{Caller, Mailbox, Nesting, Words, label, words};

/// How often the guard looks whether servers still have the contexts of their lenders: the kernel does not report if another
/// thread takes one away.
#[derive(Clone, Copy, Debug)]
pub struct Watchdog {
    /// The priority of the thread that reminds the guard: the guard's, or another above all clients.
    pub priority: u8,
    /// The time between two looks, and so the longest for which the server may stand still.
    pub period: Microseconds,
}

/// The time of a client.
#[derive(Clone, Copy, Debug)]
pub struct Reservation {
    /// The number of the client's core in its cluster.
    pub core: usize,
    /// The right to configure contexts on that core.
    pub control: SchedControl,
    /// Its priority, which clients of the same core do not share.
    pub priority: u8,
    /// Its budget; the context idles.
    pub time: SchedParameters,
}

/// The rights of clients: to call.
const SENDING: Rights = Rights::WRITE.union(Rights::GRANT_REPLY);

impl Watchdog {
    /// Starts the thread that reminds the guard, by messages with this badge.
    pub(super) fn start(
        self,
        environment: &mut Environment,
        events: Endpoint,
        badge: usize,
    ) -> Result {
        let reminder = environment.allocator.mint(events, Rights::WRITE, badge)?;
        let Self { priority, period } = self;
        let parameters = ThreadParameters {
            priority,
            time: Some(SchedParameters::new(Microseconds(period.0 / 8), period)),
            fault_endpoint: CPtr::NULL,
        };
        let thread = environment.spawn(&parameters, move || {
            loop {
                syscall::yield_now();
                reminder.send(Message::empty(0));
            }
        })?;
        thread.set_name("watchdog");
        Ok(())
    }
}

/// Starts a server that answers each request by `work`, and waits until `held` holds its call for the first one. Returns the
/// thread, which has no context then, and how it began.
pub(super) fn start_server(
    environment: &mut Environment,
    events: Endpoint,
    badge: usize,
    held: Reply,
    mut work: impl FnMut(&Nesting, Words) -> Words + Copy + Send + 'static,
) -> Result<(Thread, Registers)> {
    let guard = environment.allocator.mint(events, Rights::ALL, badge)?;
    let parameters = ThreadParameters {
        priority: 1,
        // Until it waits for the first request.
        time: Some(SchedParameters::round_robin(Microseconds::from_millis(10))),
        fault_endpoint: guard.cptr(),
    };
    let server = environment.create_thread(&parameters, move || {
        let nesting = Nesting { guard };
        let mut answer = Words::default();
        loop {
            let request = guard.call(Message::new(label::SERVED, &answer));
            answer = work(&nesting, words(&request));
        }
    })?;
    server.tcb.set_name("server");
    server.tcb.set_timeout_endpoint(guard)?;
    let initial = server.tcb.read_registers(false)?;
    server.start()?;
    events.recv(held);
    server.sched_context.unbind()?;
    Ok((server, initial))
}

/// Makes a client whose messages have this badge; its thread runs `work` when it is started.
pub(super) fn seat(
    environment: &mut Environment,
    events: Endpoint,
    badge: usize,
    reservation: Reservation,
    answer: &'static Mailbox,
    work: impl FnOnce(Caller) + Send + 'static,
) -> Result<(Seat, Thread)> {
    let Reservation {
        core,
        control,
        priority,
        time,
    } = reservation;
    let allocator = &mut environment.allocator;
    let caller = Caller {
        // It could receive the messages of others with the right to read.
        guard: allocator.mint(events, SENDING, badge)?,
        gate: allocator.create()?,
        answer,
    };
    let wake: Notification = allocator.create()?;
    // A signal without bits would not stay.
    let signal = allocator.mint(wake, Rights::ALL, 1)?;
    let time = time.idling();
    let parameters = ThreadParameters {
        priority,
        time: Some(time),
        fault_endpoint: CPtr::NULL,
    };
    let thread = environment.create_thread(&parameters, move || work(caller))?;
    // On its own core.
    control.configure(thread.sched_context, &time)?;
    thread.tcb.bind_notification(wake)?;
    let seat = Seat {
        thread: thread.tcb,
        context: thread.sched_context,
        wake: signal,
        answer,
        core,
        priority,
        phase: Phase::Away,
        request: Words::default(),
        drained: Microseconds(0),
        is_apart: false,
    };
    Ok((seat, thread))
}

//! The guard of servers that call one another.

use core::array;
use core::cmp::Reverse;
use core::convert::Infallible;
use core::mem;

use schedulers::{Caller as Called, Client, Nested, SharingError, Step};
use userlib::cap::{Endpoint, Registers, Reply, SchedContext, Tcb};
use userlib::{CPtr, Environment, Fault, Message, Microseconds, Result, Thread};

use super::seats::{Budget, Phase, Seats};
use super::threads::{Reservation, Watchdog, start_server};
use super::{Caller, Event, Mailbox, NotServed, Words, label, words};

/// A server's right to call others of its group, for the server's own thread.
#[derive(Clone, Copy, Debug)]
pub struct Nesting {
    pub(super) guard: Endpoint,
}

/// A nested call is not served: the request is an orphan, and would have to wait; the server called has faulted; or it is none
/// of those that the caller may call. The caller ends its service without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

impl Nesting {
    /// Calls the server with this number, and waits for its answer.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn call(&self, server: usize, request: Words) -> core::result::Result<Words, Refused> {
        let [first, second, third] = request;
        let request = Message::new(label::CALLS, &[first, second, third, server]);
        let answer = self.guard.call(request);
        match answer.label() {
            label::ANSWER => Ok(words(&answer)),
            _ => Err(Refused),
        }
    }
}

/// What a server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// It runs while it has a lender.
    Nothing,
    /// It waits for a request.
    Idle,
    /// It waits for another server, to which it has sent this.
    Calls(usize, Words),
    /// It waits for the reply to its timeout fault.
    TimedOut,
    /// It starts again after a fault, on its own context.
    Begins,
}

#[derive(Clone, Copy, Debug)]
struct Server {
    /// How it begins.
    initial: Registers,
    hold: Hold,
    /// Holds its call or fault.
    held: Reply,
    /// The client whose request it serves.
    serves: Option<Client>,
}

/// Passes requests on to servers that call one another, by the decisions of [`Nested`], for cores with up to `TASKS` clients
/// each. It is to them what a [`Guard`](super::Guard) is to a server that calls no other.
pub struct NestedGuard<const CORES: usize, const SERVERS: usize, const TASKS: usize> {
    queues: Nested<Reverse<u8>, CORES, SERVERS, TASKS>,
    seats: Seats<CORES, TASKS, SERVERS>,
    servers: [Server; SERVERS],
    events: Endpoint,
    /// Takes the next call.
    spare: Reply,
}

impl<const CORES: usize, const SERVERS: usize, const TASKS: usize>
    NestedGuard<CORES, SERVERS, TASKS>
{
    const SERVER: usize = Seats::<CORES, TASKS, SERVERS>::SERVER;
    const WATCHDOG: usize = Seats::<CORES, TASKS, SERVERS>::WATCHDOG;

    /// A guard without clients. It starts the servers, which answer requests by `work` with their own numbers; otherwise it is
    /// as [`Guard::new`](super::Guard::new).
    pub fn new(
        environment: &mut Environment,
        queues: Nested<Reverse<u8>, CORES, SERVERS, TASKS>,
        watchdog: Watchdog,
        mut work: impl FnMut(usize, &Nesting, Words) -> Words + Copy + Send + 'static,
    ) -> Result<Self> {
        let events: Endpoint = environment.allocator.create()?;
        let no_thread = Thread {
            tcb: Tcb(CPtr::NULL),
            sched_context: SchedContext(CPtr::NULL),
        };
        let nothing = Server {
            initial: Registers::default(),
            hold: Hold::Idle,
            held: Reply(CPtr::NULL),
            serves: None,
        };
        let mut threads = [no_thread; SERVERS];
        let mut servers = [nothing; SERVERS];
        for (number, server) in servers.iter_mut().enumerate() {
            server.held = environment.allocator.create()?;
            let badge = Self::SERVER + number;
            let work = move |nesting: &Nesting, request| work(number, nesting, request);
            (threads[number], server.initial) =
                start_server(environment, events, badge, server.held, work)?;
        }
        watchdog.start(environment, events, Self::WATCHDOG)?;
        Ok(Self {
            queues,
            seats: Seats::new(threads, events, environment.tcb),
            servers,
            events,
            spare: environment.allocator.create()?,
        })
    }

    /// Adds a client, whose cluster is its core, as [`Guard::add`](super::Guard::add) does. It calls by
    /// [`Caller::call_server`].
    ///
    /// # Panics
    /// If there is no such core, or number on it.
    pub fn add(
        &mut self,
        environment: &mut Environment,
        client: Client,
        reservation: Reservation,
        answer: &'static Mailbox,
        work: impl FnOnce(Caller) + Send + 'static,
    ) -> Result<Thread> {
        assert!(reservation.core == 0, "a cluster is one core");
        self.seats
            .add(environment, client, reservation, answer, work)
    }

    /// Serves. `observe` gets each event; it must not wait.
    ///
    /// # Errors
    /// Of the kernel, if it refuses what the guard does with its own objects.
    pub fn run(mut self, mut observe: impl FnMut(Event)) -> Result<Infallible> {
        loop {
            let received = self.events.recv(self.spare);
            if let Some(message) = received.message {
                match received.badge.checked_sub(Self::SERVER) {
                    None => self.client_reports(received.badge, message, &mut observe),
                    Some(server) if server < SERVERS => {
                        self.server_reports(server, message, &mut observe)?;
                    }
                    Some(_) => (0..SERVERS).for_each(|it| self.take_back(it, &mut observe)),
                }
            }
            self.advance(&mut observe)?;
        }
    }

    fn client_reports(&mut self, badge: usize, message: Message, observe: &mut impl FnMut(Event)) {
        let client = Seats::<CORES, TASKS, SERVERS>::client(badge);
        let Some(seat) = self.seats.get(client) else {
            return;
        };
        match message.label() {
            label::BEGINS => seat.phase = Phase::Computes,
            label::ENDS => seat.phase = Phase::Away,
            label::CALLS => {
                // Before it is queued: if its context is gone, nothing may wait for it to be served.
                if seat.context.consumed().is_err() {
                    return self.act_on(client, Budget::Lost, observe);
                }
                let (server, priority) = (message.word(3), Reverse(seat.priority));
                match self.queues.invoke(client, server, priority) {
                    Ok(()) => seat.begin_wait(&message),
                    Err(SharingError::NoServer) => {
                        self.finish(client, Err(NotServed::NoServer), observe);
                    }
                    // The client waits until it has the answer: it has no other request.
                    Err(_) => {}
                }
            }
            _ => {}
        }
        // Nothing if it was no call.
        self.spare.send(Message::empty(0));
    }

    fn server_reports(
        &mut self,
        number: usize,
        message: Message,
        observe: &mut impl FnMut(Event),
    ) -> Result {
        let server = &mut self.servers[number];
        mem::swap(&mut self.spare, &mut server.held);
        match message.label() {
            label::SERVED => {
                let mut answer = Ok(words(&message));
                if mem::replace(&mut server.hold, Hold::Idle) == Hold::Begins {
                    self.seats.has_restarted(number)?;
                    answer = Err(NotServed::Faulted);
                }
                self.end_service(number, answer, observe);
            }
            label::CALLS => {
                let called = message.word(3);
                match self.queues.call(number, called) {
                    Ok(()) => server.hold = Hold::Calls(called, words(&message)),
                    Err(_) => self.resume(number, Message::empty(label::REFUSED)),
                }
            }
            _ => match Fault::from_message(&message) {
                // As for a server alone, the message's badge does not tell whose budget it was.
                Fault::Timeout { .. } => match self.seats.lender(number) {
                    Some(lender) => {
                        self.resume(number, Message::empty(label::ANSWER));
                        let budget = self.seats.check_budget(lender);
                        self.act_on(lender, budget, observe);
                    }
                    None => server.hold = Hold::TimedOut,
                },
                fault => {
                    self.restart(number, observe)?;
                    observe(Event::Faulted(fault));
                }
            },
        }
        Ok(())
    }

    /// Replies to a server, which continues when it has a lender.
    fn resume(&mut self, number: usize, reply: Message) {
        let server = &mut self.servers[number];
        server.held.send(reply);
        server.hold = Hold::Nothing;
    }

    /// A server has ended its service with this answer.
    fn end_service(
        &mut self,
        number: usize,
        answer: core::result::Result<Words, NotServed>,
        observe: &mut impl FnMut(Event),
    ) {
        self.servers[number].serves = None;
        let mut event = Event::Served {
            client: None,
            drained: Microseconds(0),
        };
        match self.queues.reply(number) {
            Ok(Some(Called::Server(outer))) => {
                let reply = match answer {
                    Ok(answer) => Message::new(label::ANSWER, &answer),
                    Err(_) => Message::empty(label::REFUSED),
                };
                return self.resume(outer, reply);
            }
            Ok(Some(Called::Client(client))) => {
                event = Event::Served {
                    client: Some(client),
                    drained: self.finish(client, answer, observe),
                };
            }
            Ok(None) => {}
            Err(_) => return,
        }
        if answer.is_ok() {
            observe(event);
        }
    }

    /// Does what is to be done until the next message. A client whose budget turns out to have ended is aborted, and one whose
    /// objects are gone is lost, so this ends after some steps for each client and server.
    fn advance(&mut self, observe: &mut impl FnMut(Event)) -> Result {
        loop {
            while let Some(step) = self.queues.step() {
                match step {
                    Step::Serve(server, client) => self.serve(server, client),
                    Step::Refuse(server) => self.resume(server, Message::empty(label::REFUSED)),
                }
            }
            let scheduled = array::from_fn(|core| self.seats.scheduled::<1>(core)[0]);
            let wanted: [_; SERVERS] = array::from_fn(|number| {
                let lender = self.queues.lender(number, &scheduled);
                lender.filter(|_| self.servers[number].hold != Hold::Begins)
            });
            // First those that a server has and another may get.
            let differs = |number: &usize| self.seats.lender(*number) != wanted[*number];
            let leaves = |number: &usize| self.seats.lender(*number).is_some();
            if let Some(number) = (0..SERVERS).filter(differs).find(leaves) {
                self.take_back(number, observe);
            } else if let Some(number) = (0..SERVERS).find(differs)
                && let Some(lender) = wanted[number]
            {
                if self.servers[number].hold == Hold::TimedOut {
                    self.resume(number, Message::empty(label::ANSWER));
                }
                let budget = self.seats.give(number, lender)?;
                self.act_on(lender, budget, observe);
            } else {
                return Ok(());
            }
        }
    }

    /// The server, which waits, gets the call of a client, or that of another server in the same request.
    fn serve(&mut self, number: usize, client: Client) {
        let nested = self.servers.iter().find_map(|outer| match outer.hold {
            Hold::Calls(called, request) if called == number && outer.serves == Some(client) => {
                Some(request)
            }
            _ => None,
        });
        let seat = self.seats.get(client);
        let request = nested.or_else(|| seat.map(|seat| seat.request));
        self.servers[number].serves = Some(client);
        self.resume(number, Message::new(0, &request.unwrap_or_default()));
    }

    /// Takes back the context of the server's lender, which continues to wait.
    fn take_back(&mut self, number: usize, observe: &mut impl FnMut(Event)) {
        if let Some((lender, budget)) = self.seats.take_back(number) {
            self.act_on(lender, budget, observe);
        }
    }

    /// Aborts the client's request if its budget has ended, and removes a client that is lost.
    fn act_on(&mut self, client: Client, budget: Budget, observe: &mut impl FnMut(Event)) {
        match budget {
            Budget::Lasts => {}
            Budget::Ended => {
                if self.queues.abort(client).is_ok() {
                    self.finish(client, Err(NotServed::Aborted), observe);
                    observe(Event::Aborted(client));
                }
            }
            Budget::Lost => {
                if self.seats.remove(client) {
                    let _no_request = self.queues.abort(client);
                    observe(Event::Lost(client));
                }
            }
        }
    }

    /// Ends the client's wait; returns what it has used of its budget.
    fn finish(
        &mut self,
        client: Client,
        answer: core::result::Result<Words, NotServed>,
        observe: &mut impl FnMut(Event),
    ) -> Microseconds {
        let (drained, budget) = self.seats.end_wait(client, answer);
        self.act_on(client, budget, observe);
        drained
    }

    /// Lets a server start again, on its own context, until it waits for a request. Meanwhile its service continues.
    fn restart(&mut self, number: usize, observe: &mut impl FnMut(Event)) -> Result {
        self.take_back(number, observe);
        let server = &mut self.servers[number];
        self.seats.restart(number, &server.initial)?;
        server.hold = Hold::Begins;
        Ok(())
    }
}

#[cfg(test)]
mod tests;

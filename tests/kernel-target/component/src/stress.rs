//! Progress and order under interrupts at arbitrary times, in host time.
//!
//! In virtual time, which counts instructions, interrupts come at the same few places in each run, and races
//! with the timer stay hidden. These tests run in host time, beside programs that keep the host busy; so they
//! check progress and order, and never shares of the processor.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::support::counters::{self, count, count_for_ever, step};
#[cfg(not(any(feature = "devices-imx31", feature = "devices-imx6")))]
use crate::support::timer::Timer;
use crate::support::{ABOVE, BELOW, Outcome, SLICE, Test, ms, us};
use crate::{check, check_eq};
use userlib::cap::{Endpoint, Notification, Reply, SchedParameters};
use userlib::{Fault, Message, Microseconds, println, syscall};

tests![
    passive_servers_go_on,
    nested_passive_servers_go_on,
    servers_that_combine_other_calls_go_on,
    servers_that_time_out_go_on,
    system_calls_continue_while_another_core_has_access,
    reduced_budgets_end_on_another_core,
];

/// How often each client must be seen to make progress.
const LOOKS: usize = 50;
/// The time between two checks.
const NAP: Microseconds = ms(50);
/// The time between two checks of a client that has made no progress yet, and the number of such checks
/// before it is found to be stuck.
const STEP: Microseconds = ms(2);
const PATIENCE: usize = 5_000;
const CLIENTS: usize = 3;
/// The clients' scheduling parameters: short budgets, so that they often end inside the server as well.
const TIME: [SchedParameters; CLIENTS] = [
    SchedParameters::new(us(300), us(2_000)).with_extra_refills(2),
    SchedParameters::new(us(700), us(5_000)).with_extra_refills(6),
    SchedParameters::new(us(1_500), us(7_000)),
];
/// Periods of the threads that preempt all others.
const PERIODS: [u64; 3] = [211, 337, 557];

/// Messages that were lost, duplicated, or answered wrongly.
static WRONG: AtomicUsize = AtomicUsize::new(0);

/// A message that begins with a number, with lengths within and beyond those of the fast paths.
fn numbered(number: usize) -> Message {
    const MAX: usize = 9;
    let mut words = [0; MAX];
    words[0] = number;
    Message::new(0, &words[..1 + number % MAX])
}

/// Threads that the kernel's timer releases, and one that a device's timer wakes.
fn disturb(test: &mut Test) -> Outcome {
    for period in PERIODS {
        let time = SchedParameters::new(us(50), us(period));
        let thread = test.timed(ABOVE + 20, time, || {
            loop {
                syscall::yield_now();
            }
        })?;
        thread.start()?;
    }
    disturb_by_device(test)
}

/// On i.MX boards a timer needs its registers mapped, which no other thread may have.
#[cfg(any(feature = "devices-imx31", feature = "devices-imx6"))]
fn disturb_by_device(_test: &mut Test) -> Outcome {
    Ok(())
}

#[cfg(not(any(feature = "devices-imx31", feature = "devices-imx6")))]
fn disturb_by_device(test: &mut Test) -> Outcome {
    let timer = Timer::new(test)?;
    let interrupt: Notification = test.create()?;
    timer.handler.set_notification(interrupt)?;
    let thread = test.timed(
        ABOVE + 21,
        SchedParameters::new(us(200), us(500)),
        move || {
            loop {
                // If the device cannot be started, the test runs without its interrupts, and passes.
                let _ = timer.start(1);
                interrupt.wait();
                let _ = timer.clear();
                let _ = timer.handler.ack();
            }
        },
    )?;
    Ok(thread.start()?)
}

/// Clients of an endpoint, each with a badge and a counter, on as many cores as there are.
fn clients(test: &mut Test, endpoint: Endpoint) -> Outcome {
    let cores = test.secondary_cores().end;
    for (index, time) in TIME.into_iter().enumerate() {
        let service = test.badge(endpoint, index)?;
        let client = test.timed_on(index % cores, BELOW, time, move || {
            for number in 0.. {
                let answer = service.call(numbered(number));
                if answer.word(0) != number + 1 {
                    WRONG.fetch_add(1, Relaxed);
                }
                step(index);
            }
        })?;
        client.start()?;
    }
    Ok(())
}

/// Checks repeatedly that each client makes progress.
///
/// On a busy host, the emulator's threads wait for processors while the guest's time passes: a client that
/// waits for the other core to leave the kernel then uses up its budget, and the time beyond it has to be
/// replenished first. So a client gets [`PATIENCE`], and the longest wait is shown.
fn all_go_on(test: &mut Test) -> Outcome {
    let mut longest = 0;
    for look in 0..LOOKS {
        for client in 0..CLIENTS {
            let before = count(client);
            let mut naps = 0;
            while count(client) == before {
                check!(
                    naps < PATIENCE,
                    "client {client} makes no progress at {before}, check {look}"
                );
                test.sleep(STEP)?;
                naps += 1;
            }
            longest = longest.max(naps);
        }
        check_eq!(WRONG.load(Relaxed), 0);
        test.sleep(NAP)?;
    }
    println!("stress: a client made its next step within {longest} naps of {STEP}");
    Ok(())
}

/// A server's state: the number that it expects from each client.
struct Service {
    expected: [usize; CLIENTS],
}

impl Service {
    const fn new() -> Self {
        Self {
            expected: [0; CLIENTS],
        }
    }

    /// The answer to a message, which must have the client's next number.
    fn answer(&mut self, client: usize, message: Option<Message>) -> Message {
        let number = message.map_or(usize::MAX, |message| message.word(0));
        if self.expected[client] != number {
            WRONG.fetch_add(1, Relaxed);
        }
        self.expected[client] = number + 1;
        // Some work, so that budgets end here, too.
        for _ in 0..number % 64 {
            core::hint::black_box(());
        }
        numbered(number + 1)
    }
}

fn passive_servers_go_on(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.spawn_passive(ABOVE, move || {
        let mut service = Service::new();
        let mut request = endpoint.recv(reply);
        loop {
            let answer = service.answer(request.badge, request.message);
            request = endpoint.reply_recv(answer, reply);
        }
    })?;
    disturb(test)?;
    clients(test, endpoint)?;
    all_go_on(test)
}

fn nested_passive_servers_go_on(test: &mut Test) -> Outcome {
    let (outer, outer_reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let (inner, inner_reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.spawn_passive(ABOVE + 1, move || {
        let mut service = Service::new();
        let mut request = inner.recv(inner_reply);
        loop {
            let message = request.message;
            let client = message.map_or(0, |message| message.word(1));
            let answer = service.answer(client % CLIENTS, message);
            request = inner.reply_recv(answer, inner_reply);
        }
    })?;
    test.spawn_passive(ABOVE, move || {
        let mut request = outer.recv(outer_reply);
        loop {
            let number = request
                .message
                .map_or(usize::MAX, |message| message.word(0));
            let answer = inner.call(Message::new(0, &[number, request.badge]));
            request = outer.reply_recv(numbered(answer.word(0)), outer_reply);
        }
    })?;
    disturb(test)?;
    clients(test, outer)?;
    all_go_on(test)
}

/// A server that replies by NBSendRecv through a capability to its reply object.
fn servers_that_combine_other_calls_go_on(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.spawn_passive(ABOVE, move || {
        let mut service = Service::new();
        let mut request = endpoint.recv(reply);
        loop {
            let answer = service.answer(request.badge, request.message);
            request = syscall::nb_send_recv(reply.0, answer, endpoint.0, reply.0);
        }
    })?;
    disturb(test)?;
    clients(test, endpoint)?;
    all_go_on(test)
}

/// A server with timeouts that are answered at once: it continues when there is budget again.
fn servers_that_time_out_go_on(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let (timeouts, timeout_reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let server = test.spawn_passive(ABOVE, move || {
        let mut service = Service::new();
        let mut request = endpoint.recv(reply);
        loop {
            let answer = service.answer(request.badge, request.message);
            request = endpoint.reply_recv(answer, reply);
        }
    })?;
    server.tcb.set_timeout_endpoint(timeouts)?;
    let handler = SchedParameters::new(ms(1), ms(2));
    let handler = test.timed(ABOVE + 10, handler, move || {
        timeouts.recv(timeout_reply);
        loop {
            timeouts.reply_recv(Message::empty(0), timeout_reply);
        }
    })?;
    handler.start()?;
    disturb(test)?;
    clients(test, endpoint)?;
    all_go_on(test)
}

/// This thread continuously makes system calls with remote access to another core, on which a thread makes
/// system calls, too. An emulator that runs its cores in turn would not show a problem.
fn system_calls_continue_while_another_core_has_access(test: &mut Test) -> Outcome {
    const CALLS: usize = 10_000;
    for core in test.secondary_cores() {
        counters::set(0, 0);
        let bell: Notification = test.create()?;
        let suspended = test.timed_on(core, BELOW, SLICE, || {})?;
        let caller = test.spawn_on(core, ABOVE, move || {
            loop {
                bell.signal();
                bell.poll();
                step(0);
            }
        })?;
        check!(test.comes_true(|| count(0) > 0)?);
        let before = count(0);
        for _ in 0..CALLS {
            suspended.tcb.set_tls_base(0)?;
        }
        let made = count(0) - before;
        check!(made > CALLS / 100, "{made} while {CALLS} were made here");
        test.delete(caller.tcb)?;
    }
    Ok(())
}

/// A budget that is reduced below what its thread has used ends as the thread's core learns of it, and a
/// handler on this core gets the fault (bug 88).
fn reduced_budgets_end_on_another_core(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let (timeouts, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
        let thread = test.passive(ABOVE, || count_for_ever(0))?;
        thread.tcb.set_timeout_endpoint(timeouts)?;
        thread.start()?;
        for nap in (1_000..1_600).step_by(30) {
            let time = test.time_on(core, &SchedParameters::new(ms(100), ms(1000)))?;
            time.bind(thread.tcb)?;
            test.sleep(us(nap))?;
            let reduced = SchedParameters::new(us(100), ms(1000));
            test.control_of(core).configure(time, &reduced)?;
            let message = timeouts.recv(reply).message.unwrap_or(Message::empty(0));
            let fault = Fault::from_message(&message);
            check!(matches!(fault, Fault::Timeout { .. }), "{fault:?}");
            test.delete(time)?;
            reply.send(Message::empty(0));
        }
        test.delete(thread.tcb)?;
    }
    Ok(())
}

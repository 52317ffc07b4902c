//! Late requests: the core of a thread waits for the entry lock, for longer than the thread's budget or the turn of its
//! domain lasts. Without fast paths, as in kernels that are traced: those look at no clock.

use std::cell::Cell;
use std::rc::Rc;

use abi::{Method, Syscall};
use host_machine::{Budget, CPtr, Machine, Message, Operands, Spec, State, Task};
use kernel::object::Fault;
use kernel::time::Ticks;

use crate::common::{make_passive, word};
use crate::thresholds::set_threshold;

/// The core of all tasks; the root task waits on core 0.
pub const HERE: usize = 1;
pub const THERE: usize = 0;

pub const SLICE: Budget = Budget::slice(100);
pub const BANDWIDTH: Budget = Budget::new(100, 1000);
/// Longer than these budgets.
pub const WAIT: u64 = 250;
pub const FAULT: Fault = Fault::UserException { number: 1, code: 0 };

/// A task on a machine with two cores.
struct Late {
    machine: Machine,
    task: Task,
}

impl Late {
    fn with(budget: Budget) -> Self {
        let mut machine = Machine::with_cores(2);
        for core in [THERE, HERE] {
            machine.kernel_of(core).arch.fast_paths = false;
        }
        machine.rest();
        let task = machine.spawn_on(HERE, Spec::new("task", 20).budget(budget));
        Self { machine, task }
    }

    /// Makes a request of the task while the other core is in the kernel, and leaves it later. The task makes the request
    /// once.
    fn make(&mut self, request: impl FnOnce(&mut Machine, Task)) {
        let task = self.task;
        let tries = Rc::new(Cell::new(0));
        let count = tries.clone();
        self.machine.before_calls = Some(Box::new(move |_| count.set(count.get() + 1)));
        let is_local = self.machine.on(HERE, |machine| {
            machine.is_done_beside(THERE, Ticks(WAIT), |machine| request(machine, task))
        });
        assert!(!is_local);
        self.machine.on(HERE, |machine| machine.advance(10));
        assert_eq!(tries.get(), 1);
        self.machine.before_calls = None;
    }

    fn running(&mut self) -> String {
        (self.machine).on(HERE, |machine| machine.running())
    }

    fn advance(&mut self, ticks: u64) {
        self.machine.on(HERE, |machine| machine.advance(ticks));
    }

    /// What a thread of the other core waits for.
    fn signal_for_there(&mut self) -> (CPtr, Task) {
        let notification = self.machine.notification();
        let waiter = (self.machine).spawn_on(THERE, Spec::new("waiter", 20).active());
        (self.machine).on(THERE, |machine| machine.wait(waiter, notification));
        (notification, waiter)
    }

    /// From now on, the turns of all threads last 200 ticks, with turns of 1000 ticks of another domain between them.
    #[cfg(feature = "domains")]
    fn limit_turns(&mut self) {
        let mut invoke = |method, words: &[usize]| {
            let answer = self.machine.invoke(abi::slots::DOMAIN, method, words, &[]);
            assert_eq!(answer, Ok(vec![]));
        };
        invoke(Method::DomainScheduleConfigure, &[0, 0, 200]);
        invoke(Method::DomainScheduleConfigure, &[1, 1, 1000]);
        invoke(Method::DomainScheduleSetStart, &[0]);
    }
}

/// From now on, a core waits for the entry lock at each system call. Returns how many there were.
pub fn wait_at_calls(machine: &mut Machine) -> Rc<Cell<usize>> {
    let tries = Rc::new(Cell::new(0));
    let count = tries.clone();
    machine.before_calls = Some(Box::new(move |machine| {
        count.set(count.get() + 1);
        machine.stall(WAIT);
        machine.kernel.pretend_wait();
    }));
    tries
}

/// A thread whose core has waited for another one, for longer than its timeslice, makes its request without waiting again,
/// whatever comes next. Otherwise cores that keep others waiting could keep it from ever making it.
#[test]
fn a_request_is_made_although_the_wait_for_it_took_the_timeslice() {
    let peer = Spec::new("peer", 20).active();
    for (budget, peer, next) in [
        (SLICE, None, "task"),
        (SLICE, Some(peer), "peer"),
        (BANDWIDTH, None, "none"),
        (BANDWIDTH, Some(peer), "peer"),
    ] {
        let mut late = Late::with(budget);
        let (notification, waiter) = late.signal_for_there();
        if let Some(peer) = peer {
            late.machine.spawn_on(HERE, peer);
        }
        late.make(|machine, task| machine.signal(task, notification));
        assert_eq!(late.machine.state(waiter), State::Runnable);
        // Its timeslice has ended, and all that it has used is charged: the budget of two and a half periods.
        assert_eq!(late.running(), next);
        if budget == BANDWIDTH {
            late.advance(1700);
            assert_eq!(late.running(), next);
            late.advance(110);
            assert_eq!(late.running(), peer.map_or("task", |_| "peer"));
        }
    }
}

/// The same if each wait is as long, and another core has access to this one, or to the thread, during each.
#[test]
fn requests_are_made_although_each_wait_takes_longer_than_the_budget() {
    type Access = fn(&mut Machine, Task, Task);
    let accesses: [Access; 4] = [
        |_, _, _| {},
        |machine, _, other| {
            machine.resume(other);
            machine.suspend(other);
        },
        |machine, task, _| {
            let read = machine.tcb(task, Method::TcbReadRegisters, &[0, 2], &[]);
            assert!(read.is_ok());
        },
        // This one is charged what it has used, and found without budget.
        |machine, _, other| {
            machine.stall(WAIT);
            machine.resume(other);
            machine.suspend(other);
        },
    ];
    for access in accesses {
        for budget in [SLICE, BANDWIDTH] {
            let mut late = Late::with(budget);
            let (notification, waiter) = late.signal_for_there();
            let (machine, task) = (&mut late.machine, late.task);
            machine.spawn_on(HERE, Spec::new("peer", 20).active());
            let other = machine.spawn_on(HERE, Spec::new("other", 10).active());
            machine.suspend(other);
            machine.others_are_late = true;
            machine.calls_are_slow = true;
            let tries = Rc::new(Cell::new(0));
            let count = tries.clone();
            machine.before_calls = Some(Box::new(move |machine| {
                if machine.kernel.core.id != HERE {
                    return;
                }
                count.set(count.get() + 1);
                access(machine, task, other);
                machine.stall(WAIT);
                machine.kernel.pretend_wait();
            }));
            machine.on(HERE, |machine| machine.signal(task, notification));
            assert_eq!(machine.state(waiter), State::Runnable);
            machine.before_calls = None;
            machine.others_are_late = false;
            late.advance(1);
            assert_eq!((late.running(), tries.get()), ("peer".to_string(), 1));
        }
    }
}

/// The timeout after such a request is told, and the request is not made again after it.
#[test]
fn the_timeout_after_a_late_request_does_not_repeat_it() {
    let mut late = Late::with(BANDWIDTH);
    let (notification, waiter) = late.signal_for_there();
    let (endpoint, reply) = (late.machine.endpoint(), late.machine.reply());
    let handler = (late.machine).spawn_on(THERE, Spec::new("handler", 30).active());
    (late.machine).on(THERE, |machine| machine.recv(handler, endpoint, reply));
    let task = late.task;
    (late.machine)
        .tcb(task, Method::TcbSetTimeoutEndpoint, &[], &[endpoint])
        .unwrap();
    late.make(|machine, task| machine.signal(task, notification));
    let machine = &mut late.machine;
    assert_eq!(machine.state(waiter), State::Runnable);
    assert_eq!(machine.state(task), State::Calling);
    let tries = wait_at_calls(machine);
    machine.on(THERE, |machine| {
        machine.send(handler, reply, &Message::default());
    });
    assert_eq!(machine.state(task), State::Runnable);
    machine.on(HERE, |machine| machine.advance(4000));
    // The handler's reply.
    assert_eq!(tries.get(), 1);
}

/// A late call lends what is left of the caller's time: nothing. The server waits for the replenishment.
#[test]
fn a_late_call_lends_no_time() {
    let mut late = Late::with(BANDWIDTH);
    let (endpoint, reply) = (late.machine.endpoint(), late.machine.reply());
    let server = (late.machine).spawn_on(THERE, Spec::new("server", 30).active());
    (late.machine).on(THERE, |machine| machine.recv(server, endpoint, reply));
    make_passive(&mut late.machine, server);
    late.make(|machine, task| machine.call(task, endpoint, &Message::default()));
    assert_eq!(late.machine.state(late.task), State::Calling);
    assert_eq!(late.machine.state(server), State::Runnable);
    assert_eq!(late.running(), "none");
    late.advance(1700);
    assert_eq!(late.running(), "none");
    late.advance(110);
    assert_eq!(late.running(), "server");
}

/// A late sender has no time at hand: an endpoint with a threshold defers it, or its message is dropped if it may not wait.
/// The server stays free for others until the replenishment.
#[test]
fn a_late_sender_has_too_little_for_a_threshold() {
    for may_wait in [true, false] {
        let mut late = Late::with(BANDWIDTH);
        let machine = &mut late.machine;
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let (source, receiving) = (machine.endpoint(), machine.reply());
        // The next replenishment suffices for it.
        set_threshold(machine, endpoint, 20, 0).unwrap();
        let server = machine.spawn_on(THERE, Spec::new("server", 30).active());
        machine.on(THERE, |machine| machine.recv(server, endpoint, reply));
        make_passive(machine, server);
        late.make(|machine, task| match may_wait {
            true => machine.call(task, endpoint, &word(1)),
            false => machine.nb_send_recv(task, endpoint, &word(1), source, receiving),
        });
        assert_eq!(late.machine.state(server), State::Receiving);
        assert_eq!(late.running(), "none");
        late.advance(1700);
        assert_eq!(late.running(), "none");
        late.advance(110);
        let (running, state) = match may_wait {
            true => ("server", State::Calling),
            false => ("none", State::Receiving),
        };
        assert_eq!(late.running(), running);
        assert_eq!(late.machine.state(late.task), state);
    }
}

/// The same if the wait took the turn of its domain.
#[cfg(feature = "domains")]
#[test]
fn a_request_is_made_although_the_wait_for_it_took_the_turn() {
    let mut late = Late::with(Budget::slice(10_000));
    let (notification, waiter) = late.signal_for_there();
    late.limit_turns();
    late.make(|machine, task| machine.signal(task, notification));
    assert_eq!(late.machine.state(waiter), State::Runnable);
    assert_eq!(late.running(), "none");
    late.advance(1000);
    assert_eq!(late.running(), "task");
}

/// A debug exception whose wait took the timeslice is told, although another thread is next: its instruction is not executed
/// again.
#[test]
fn a_debug_exception_is_told_although_the_wait_took_the_timeslice() {
    let mut late = Late::with(SLICE);
    let machine = &mut late.machine;
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let handler = machine.spawn_on(THERE, Spec::new("handler", 20).active());
    machine.on(THERE, |machine| machine.recv(handler, endpoint, reply));
    let task = machine.spawn_on(
        HERE,
        Spec::new("task", 30).fault_handler(endpoint).budget(SLICE),
    );
    machine.spawn_on(HERE, Spec::new("peer", 30).active());
    machine.on(HERE, |machine| {
        machine.is_done_beside(THERE, Ticks(WAIT), |machine| {
            machine.debug_exception(task, FAULT);
        })
    });
    assert_eq!(machine.state(task), State::Calling);
    assert_eq!(machine.state(handler), State::Runnable);
    assert_eq!(late.running(), "peer");
}

/// Lets a thread configure the context of another one, after a wait that took its budget. Returns the badge that the
/// context has then: 7 if that has happened.
fn configure_late(late: &mut Late) -> usize {
    let (machine, task) = (&mut late.machine, late.task);
    let other = machine.spawn_on(HERE, Spec::new("other", 10).active());
    let control = machine.boot_info.sched_control.start + HERE;
    let label = Method::SchedControlConfigureFlags.number();
    let message = Message::new(label, &[500, 5000, 0, 7, 0]).with_caps(&[other.context]);
    let operands = Operands {
        cap: control,
        ..Operands::default()
    };
    let tries = wait_at_calls(machine);
    machine.on(HERE, |machine| {
        machine.syscall(task, Syscall::Call, operands, &message)
    });
    assert_eq!(tries.get(), 1);
    let context = machine.context(other.context);
    machine.kernel[context].badge
}

/// The times at which preemption points look do not matter, nor that the clock goes on during a request.
#[test]
fn a_late_request_is_not_preempted_by_the_timer_that_has_expired() {
    for per_look in [0, 1] {
        let mut late = Late::with(BANDWIDTH);
        late.machine.kernel_of(HERE).arch.time_per_look = Ticks(per_look);
        (late.machine).spawn_on(HERE, Spec::new("peer", 20).active());
        assert_eq!(configure_late(&mut late), 7);
    }
}

/// The timer is off meanwhile, so no interrupt is pending for the thread.
#[test]
fn a_late_request_is_preempted_for_a_higher_priority_thread_that_is_due() {
    let mut late = Late::with(BANDWIDTH);
    let above = Spec::new("above", 50).budget(Budget::new(20, 200));
    (late.machine).spawn_on(HERE, above);
    late.advance(30);
    assert_eq!(late.running(), "task");
    assert_eq!(configure_late(&mut late), 0);
    assert_eq!(late.running(), "above");
}

/// Such a thread cannot run any more if the turn of its domain is over.
#[cfg(feature = "domains")]
#[test]
fn a_late_request_is_not_preempted_for_a_due_thread_whose_turn_is_over() {
    let mut late = Late::with(Budget::slice(10_000));
    let higher = Spec::new("higher", 50).budget(Budget::new(20, 200));
    (late.machine).spawn_on(HERE, higher);
    late.advance(30);
    late.limit_turns();
    assert_eq!(late.running(), "task");
    assert_eq!(configure_late(&mut late), 7);
    assert_eq!(late.running(), "none");
}

//! Late requests: the core of a thread waits for the entry lock, for longer than the thread's budget or the turn of its
//! domain lasts. Without fast paths, as in kernels that are traced: those look at no clock.

use std::cell::Cell;
use std::rc::Rc;

use abi::{Method, Syscall, WORD_BITS, slots};
use host_machine::{Budget, CPtr, Machine, Message, Operands, Spec, State, Task};
use kernel::object::Fault;
use kernel::time::Ticks;

use crate::common::{make_passive, word};

/// The core of all tasks; the root task waits on core 0.
const HERE: usize = 1;
const THERE: usize = 0;

const SLICE: Budget = Budget::slice(100);
const BANDWIDTH: Budget = Budget::new(100, 1000);
/// Longer than these budgets.
const WAIT: u64 = 250;
const FAULT: Fault = Fault::UserException { number: 1, code: 0 };

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
}

/// From now on, a core waits for the entry lock at each system call. Returns how many there were.
fn wait_at_calls(machine: &mut Machine) -> Rc<Cell<usize>> {
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

/// The same if the wait took the turn of its domain.
#[cfg(feature = "domains")]
#[test]
fn a_request_is_made_although_the_wait_for_it_took_the_turn() {
    let mut late = Late::with(Budget::slice(10_000));
    let (notification, waiter) = late.signal_for_there();
    let mut invoke = |method, words: &[usize]| {
        let answer = late.machine.invoke(slots::DOMAIN, method, words, &[]);
        assert_eq!(answer, Ok(vec![]));
    };
    invoke(Method::DomainScheduleConfigure, &[0, 0, 200]);
    invoke(Method::DomainScheduleConfigure, &[1, 1, 1000]);
    invoke(Method::DomainScheduleSetStart, &[0]);
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

/// A system in which one of several requests comes late, all on one core.
#[derive(Clone, Copy)]
struct Scene {
    /// The task with the budget.
    task: Task,
    /// A passive server that waits at the endpoint.
    server: Task,
    /// A thread with a context of its own.
    target: Task,
    endpoint: CPtr,
    reply: CPtr,
    /// An endpoint and a reply object that no other thread uses.
    source: CPtr,
    receiving: CPtr,
    notification: CPtr,
}

/// A request that comes late.
struct Request {
    name: &'static str,
    /// The server makes it, which the task has called before.
    is_called: bool,
    /// It concerns the server, so that the server's priority matters.
    is_served: bool,
    /// It is no system call.
    is_exception: bool,
    make: fn(&mut Machine, Scene),
}

const fn by_task(name: &'static str, make: fn(&mut Machine, Scene)) -> Request {
    Request {
        name,
        is_called: false,
        is_served: false,
        is_exception: false,
        make,
    }
}

const fn to_server(name: &'static str, make: fn(&mut Machine, Scene)) -> Request {
    Request {
        is_served: true,
        ..by_task(name, make)
    }
}

const fn by_server(name: &'static str, make: fn(&mut Machine, Scene)) -> Request {
    Request {
        is_called: true,
        ..to_server(name, make)
    }
}

const fn exception(request: Request) -> Request {
    Request {
        is_exception: true,
        ..request
    }
}

fn invoke(machine: &mut Machine, task: Task, cap: CPtr, method: Method, words: &[usize]) {
    let caps = [task.context, slots::INIT_THREAD_TCB];
    let cap_of_method = match method {
        Method::SchedControlConfigureFlags => &caps[..1],
        _ => &caps[1..],
    };
    let message = Message::new(method.number(), words).with_caps(cap_of_method);
    machine.call(task, cap, &message);
}

fn configure_on(machine: &mut Machine, scene: Scene, core: usize, budget: Budget) {
    let control = machine.boot_info.sched_control.start + core;
    let words = [budget.budget as usize, budget.period as usize, 0, 0, 0];
    let method = Method::SchedControlConfigureFlags;
    invoke(machine, scene.task, control, method, &words);
}

fn delete(machine: &mut Machine, scene: Scene, slot: CPtr) {
    let root = slots::INIT_THREAD_CNODE;
    invoke(
        machine,
        scene.task,
        root,
        Method::CNodeDelete,
        &[slot, WORD_BITS],
    );
}

const REQUESTS: &[Request] = &[
    to_server("call", |machine, scene| {
        machine.call(scene.task, scene.endpoint, &word(1))
    }),
    to_server("send", |machine, scene| {
        machine.send(scene.task, scene.endpoint, &word(1))
    }),
    by_task("receive", |machine, scene| {
        machine.recv(scene.task, scene.source, scene.receiving)
    }),
    to_server("send with donation, receive", |machine, scene| {
        let Scene {
            task,
            endpoint,
            source,
            receiving,
            ..
        } = scene;
        machine.nb_send_recv(task, endpoint, &word(1), source, receiving);
    }),
    to_server("send with donation, wait", |machine, scene| {
        machine.nb_send_wait(scene.task, scene.endpoint, &word(1), scene.notification);
    }),
    by_task("signal", |machine, scene| {
        machine.signal(scene.task, scene.notification)
    }),
    by_task("wait", |machine, scene| {
        machine.wait(scene.task, scene.notification)
    }),
    by_task("yield", |machine, scene| machine.yield_now(scene.task)),
    by_task("yield until budget", |machine, scene| {
        machine.yield_until_budget(scene.task, 50)
    }),
    by_task("yield until more budget", |machine, scene| {
        machine.yield_until_budget(scene.task, 90)
    }),
    by_task("yield to", |machine, scene| {
        let (context, method) = (scene.target.context, Method::SchedContextYieldTo);
        machine.call(scene.task, context, &Message::new(method.number(), &[]));
    }),
    by_task("yield to with timeout", |machine, scene| {
        let instant = machine.now() + 2 * WAIT;
        machine.yield_to_timeout(scene.task, scene.target.context, instant, None);
    }),
    by_task("own priority", |machine, scene| {
        invoke(
            machine,
            scene.task,
            scene.task.tcb,
            Method::TcbSetPriority,
            &[20],
        );
    }),
    by_task("own suspension", |machine, scene| {
        invoke(machine, scene.task, scene.task.tcb, Method::TcbSuspend, &[]);
    }),
    by_task("own time", |machine, scene| {
        invoke(
            machine,
            scene.task,
            scene.task.context,
            Method::SchedContextConsumed,
            &[],
        );
    }),
    by_task("own budget", |machine, scene| {
        configure_on(machine, scene, HERE, BANDWIDTH)
    }),
    by_task("own timeslice", |machine, scene| {
        configure_on(machine, scene, HERE, SLICE)
    }),
    by_task("own migration", |machine, scene| {
        configure_on(machine, scene, THERE, BANDWIDTH)
    }),
    by_task("deletion of own context", |machine, scene| {
        delete(machine, scene, scene.task.context)
    }),
    by_task("own deletion", |machine, scene| {
        delete(machine, scene, scene.task.tcb)
    }),
    exception(to_server("fault", |machine, scene| {
        machine.fault(scene.task, FAULT)
    })),
    exception(to_server("debug exception", |machine, scene| {
        machine.debug_exception(scene.task, FAULT)
    })),
    by_server("reply", |machine, scene| {
        machine.send(scene.server, scene.reply, &word(1))
    }),
    by_server("reply and receive", |machine, scene| {
        machine.reply_recv(scene.server, scene.endpoint, scene.reply, &word(1));
    }),
    by_server("reply and wait", |machine, scene| {
        machine.nb_send_wait(scene.server, scene.reply, &word(1), scene.notification);
    }),
    by_server("call without a receiver", |machine, scene| {
        machine.call(scene.server, scene.source, &word(1))
    }),
    by_server("deletion of the reply object", |machine, scene| {
        let words = [scene.reply, WORD_BITS];
        let message = Message::new(Method::CNodeDelete.number(), &words);
        machine.call(scene.server, slots::INIT_THREAD_CNODE, &message);
    }),
    by_server("yield", |machine, scene| machine.yield_now(scene.server)),
    exception(by_server("fault", |machine, scene| {
        machine.fault(scene.server, FAULT)
    })),
];

/// A machine whose task runs and has its budget.
fn scene(budget: Budget, server: u8, has_handler: bool) -> (Machine, Scene) {
    let mut machine = Machine::with_cores(2);
    for core in [THERE, HERE] {
        machine.kernel_of(core).arch.fast_paths = false;
    }
    machine.rest();
    let (timeouts, told) = (machine.endpoint(), machine.reply());
    let handler = machine.spawn_on(HERE, Spec::new("handler", 50).active());
    machine.on(HERE, |machine| machine.recv(handler, timeouts, told));
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = machine.spawn_on(HERE, Spec::new("server", server).active());
    machine.on(HERE, |machine| machine.recv(server, endpoint, reply));
    make_passive(&mut machine, server);
    let spec = Spec::new("task", 20).budget(budget).fault_handler(endpoint);
    let spec = match has_handler {
        true => spec.timeout_handler(timeouts),
        false => spec,
    };
    let task = machine.spawn_on(HERE, spec);
    let target = machine.spawn_on(HERE, Spec::new("target", 20).active());
    machine.suspend(target);
    let scene = Scene {
        task,
        server,
        target,
        endpoint,
        reply,
        source: machine.endpoint(),
        receiving: machine.reply(),
        notification: machine.notification(),
    };
    (machine, scene)
}

/// Every kind of request may come late. It is made once, no thread is left in a wrong queue (the machine checks the
/// invariants after each entry), and the thread that has the context afterwards has no time that is used up.
#[test]
fn every_request_may_come_late() {
    for request in REQUESTS {
        // Other requests are the same for each server.
        let servers: &[u8] = match request.is_served {
            true => &[10, 20, 30],
            false => &[20],
        };
        for (budget, may_time_out) in [
            (SLICE, false),
            (BANDWIDTH, true),
            (BANDWIDTH.refills(2).sporadic(), true),
        ] {
            for &server in servers {
                let actor = if request.is_called { server } else { 20 };
                for peer in [None, Some(10), Some(20), Some(25)] {
                    // A peer of a higher priority would run instead.
                    if peer <= Some(actor) {
                        comes_late(request, budget, server, peer, false);
                        if may_time_out {
                            comes_late(request, budget, server, peer, true);
                        }
                    }
                }
            }
        }
    }
}

fn comes_late(request: &Request, budget: Budget, server: u8, peer: Option<u8>, has_handler: bool) {
    let name = request.name;
    let what = format!("{name}, {budget:?}, {server}, {peer:?}, {has_handler}");
    let (mut machine, scene) = scene(budget, server, has_handler);
    let Scene { task, endpoint, .. } = scene;
    let context = machine.context(task.context);
    let mut actor = task;
    if request.is_called {
        actor = scene.server;
        machine.on(HERE, |machine| machine.call(task, endpoint, &word(1)));
    }
    if name.starts_with("yield to") {
        machine.resume(scene.target);
    }
    if let Some(priority) = peer {
        machine.spawn_on(HERE, Spec::new("peer", priority).active());
    }
    assert!(machine.on(HERE, |machine| machine.runs(actor)), "{what}");
    let tries = wait_at_calls(&mut machine);
    machine.on(HERE, |machine| {
        if request.is_exception {
            machine.stall(WAIT);
            machine.kernel.pretend_wait();
        }
        (request.make)(machine, scene);
    });
    machine.before_calls = None;
    assert_eq!(tries.get(), usize::from(!request.is_exception), "{what}");
    if budget.budget < budget.period && !name.starts_with("own") {
        let current = machine.kernel_of(HERE).core.current_context;
        assert_ne!(current, Some(context), "{what}");
    }
    let tries = wait_at_calls(&mut machine);
    machine.on(HERE, |machine| machine.advance(4000));
    assert_eq!(tries.get(), 0, "{what}: made again");
}

/// The times at which preemption points look do not matter, nor that the clock goes on during a request.
#[test]
fn a_late_request_is_not_preempted_by_the_timer_that_has_expired() {
    for per_look in [0, 1] {
        let mut late = Late::with(BANDWIDTH);
        let (machine, task) = (&mut late.machine, late.task);
        machine.kernel_of(HERE).arch.time_per_look = Ticks(per_look);
        machine.spawn_on(HERE, Spec::new("peer", 20).active());
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
        assert_eq!(machine.kernel[context].badge, 7);
    }
}

/// Another core has charged this one and found the budget used up; the clock goes on while this core finds out, and that
/// changes nothing of the replenishment for which the handler waits.
#[test]
fn a_debug_exception_after_remote_access_leaves_its_passive_handler_in_order() {
    for budget in [SLICE, BANDWIDTH] {
        let (mut machine, scene) = scene(budget, 10, false);
        machine.others_are_late = true;
        machine.calls_are_slow = true;
        machine.kernel_of(HERE).arch.time_per_look = Ticks(1);
        machine.stall(WAIT);
        machine.resume(scene.target);
        machine.suspend(scene.target);
        machine.on(HERE, |machine| machine.debug_exception(scene.task, FAULT));
        assert_eq!(machine.state(scene.task), State::Calling);
        machine.others_are_late = false;
        machine.on(HERE, |machine| machine.advance(1810));
        let running = machine.on(HERE, |machine| machine.running());
        assert_eq!(running, "server");
    }
}

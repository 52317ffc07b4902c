//! Every kind of request may come late, with any budget and beside any peer.

use abi::{Method, WORD_BITS, slots};
use host_machine::arch::Host;
use host_machine::{Budget, CPtr, Machine, Message, Spec, State, Task};
use kernel::object::SchedContext;
use kernel::time::Ticks;
use kernel::token::Ptr;

use crate::common::{make_passive, word};
use crate::cores_late::{BANDWIDTH, FAULT, HERE, SLICE, THERE, WAIT, wait_at_calls};

/// A system in which one of several requests comes late, all on one core.
#[derive(Clone, Copy)]
struct Scene {
    /// The task with the budget.
    task: Task,
    /// A passive server that waits at the endpoint.
    server: Task,
    /// A thread with a context of its own.
    target: Task,
    /// It waits for timeouts, with a reply object.
    handler: Task,
    told: CPtr,
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
        handler,
        told,
        endpoint,
        reply,
        source: machine.endpoint(),
        receiving: machine.reply(),
        notification: machine.notification(),
    };
    (machine, scene)
}

/// What was used of a context, and until when: what it has been charged, and what it will be.
fn used(machine: &mut Machine, context: Ptr<SchedContext<Host>>) -> (u64, u64) {
    let kernel = machine.kernel_of(HERE);
    let uncharged = match kernel.core.current_context == Some(context) {
        true => kernel.core.consumed,
        false => Ticks::ZERO,
    };
    ((kernel[context].consumed + uncharged).0, kernel.core.now.0)
}

/// Every kind of request may come late. It is made once, no thread is left in a wrong queue (the machine checks the
/// invariants after each entry), the thread that has the context afterwards has no time that is used up, and the context
/// was charged for the wait, once.
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
    let before = used(&mut machine, context);
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
    // A timeout message tells what was consumed, and it counts from zero again.
    if !has_handler && !name.contains("own") {
        let after = used(&mut machine, context);
        let passed = after.1 - before.1;
        assert!(passed >= WAIT, "{what}");
        assert_eq!(after.0 - before.0, passed, "{what}");
    }
    if budget.budget < budget.period && !name.starts_with("own") {
        let current = machine.kernel_of(HERE).core.current_context;
        assert_ne!(current, Some(context), "{what}");
    }
    // The handler of a timeout lets the thread continue.
    if machine.on(HERE, |machine| machine.runs(scene.handler)) {
        let answer = Message::default();
        machine.on(HERE, |machine| {
            machine.send(scene.handler, scene.told, &answer);
        });
    }
    let tries = wait_at_calls(&mut machine);
    machine.on(HERE, |machine| machine.advance(4000));
    assert_eq!(tries.get(), 0, "{what}: made again");
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

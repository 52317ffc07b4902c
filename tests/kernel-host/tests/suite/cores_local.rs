//! Entries that concern one core only do not stop the others: they are done while another core is in the kernel. Without
//! fast paths, as in kernels that are traced.

use abi::Rights;
use host_machine::{Budget, CPtr, Machine, Message, Spec, State, Task};
use kernel::time::Ticks;

use crate::common::make_passive;

/// The core of all tasks; the root task waits on core 0.
const HERE: usize = 1;
const THERE: usize = 0;

struct Scene {
    machine: Machine,
    /// A handler of timeouts that waits, and the capability by which it gets them.
    handler: Task,
    timeouts: CPtr,
}

impl Scene {
    /// A scene with a handler on the given core.
    fn with_handler_on(core: usize) -> Self {
        let mut machine = Machine::with_cores(2);
        for core in [THERE, HERE] {
            machine.kernel_of(core).arch.fast_paths = false;
        }
        machine.rest();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let handler = machine.spawn_on(core, Spec::new("handler", 50).active());
        machine.on(core, |machine| machine.recv(handler, endpoint, reply));
        let timeouts = machine.mint(endpoint, Rights::from_word(9), 6);
        Self {
            machine,
            handler,
            timeouts,
        }
    }

    fn is_local(&mut self, work: impl FnOnce(&mut Machine)) -> bool {
        self.machine.on(HERE, |machine| {
            machine.is_done_beside(THERE, Ticks(0), work)
        })
    }
}

/// A passive server, whose timeouts and whose clients' have a handler anywhere, is called and replies.
#[test]
fn calls_of_threads_with_timeout_handlers_are_local() {
    for core in [HERE, THERE] {
        let mut scene = Scene::with_handler_on(core);
        let timeouts = scene.timeouts;
        let machine = &mut scene.machine;
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let spec = Spec::new("server", 30).active().timeout_handler(timeouts);
        let server = machine.spawn_on(HERE, spec);
        machine.on(HERE, |machine| machine.recv(server, endpoint, reply));
        make_passive(machine, server);
        let spec = Spec::new("client", 20).budget(Budget::new(500, 1000));
        let client = machine.spawn_on(HERE, spec.timeout_handler(timeouts));
        for _ in 0..3 {
            let message = Message::new(1, &[2]);
            assert!(scene.is_local(|machine| {
                machine.advance(50);
                machine.call(client, endpoint, &message);
            }));
            assert_eq!(scene.machine.state(client), State::Calling);
            assert!(scene.is_local(|machine| {
                machine.advance(50);
                machine.reply_recv(server, endpoint, reply, &message);
            }));
            assert_eq!(scene.machine.state(client), State::Runnable);
        }
    }
}

/// A receive that does not block concerns its core only, once the thread has used the endpoint and the reply object.
#[test]
fn not_blocking_receives_are_local() {
    let mut scene = Scene::with_handler_on(HERE);
    let machine = &mut scene.machine;
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let task = machine.spawn_on(HERE, Spec::new("task", 20).active());
    machine.on(HERE, |machine| machine.nb_recv(task, endpoint, reply));
    assert!(scene.is_local(|machine| machine.nb_recv(task, endpoint, reply)));
    assert_eq!(scene.machine.state(task), State::Runnable);
}

/// The end of a budget is told to a handler of the same core without stopping the others; to one of another core it is
/// told, too.
#[test]
fn the_end_of_a_budget_is_told_on_the_same_core() {
    for core in [HERE, THERE] {
        let mut scene = Scene::with_handler_on(core);
        let spec = Spec::new("task", 20).budget(Budget::new(100, 1000));
        let task = scene
            .machine
            .spawn_on(HERE, spec.timeout_handler(scene.timeouts));
        let works = |machine: &mut Machine| machine.advance(100);
        if core == HERE {
            assert!(scene.is_local(works));
        } else {
            scene.machine.on(HERE, works);
        }
        assert_eq!(scene.machine.state(task), State::Calling);
        assert_eq!(scene.machine.state(scene.handler), State::Runnable);
    }
}

/// A caller that has no budget when it gets the reply is a timeout; its handler may be on another core.
#[test]
fn a_reply_without_budget_is_told_on_any_core() {
    for core in [HERE, THERE] {
        let mut scene = Scene::with_handler_on(core);
        let timeouts = scene.timeouts;
        let machine = &mut scene.machine;
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let server = machine.spawn_on(HERE, Spec::new("server", 30).active());
        machine.on(HERE, |machine| machine.recv(server, endpoint, reply));
        make_passive(machine, server);
        let spec = Spec::new("client", 20).budget(Budget::new(100, 1000));
        let client = machine.spawn_on(HERE, spec.timeout_handler(timeouts));
        machine.on(HERE, |machine| {
            machine.call(client, endpoint, &Message::new(1, &[2]));
            // The server has no handler, so it waits for a replenishment.
            machine.advance(100);
        });
        assert_eq!(machine.state(server), State::Runnable);
        let deputy = machine.spawn_on(HERE, Spec::new("deputy", 1).active());
        let works = |machine: &mut Machine| machine.send(deputy, reply, &Message::new(1, &[2]));
        if core == HERE {
            assert!(scene.is_local(works));
        } else {
            scene.machine.on(HERE, works);
        }
        assert_eq!(scene.machine.state(client), State::Calling);
        assert_eq!(scene.machine.state(scene.handler), State::Runnable);
    }
}

/// A receive without the right to is a fault, whose handler may be on another core.
#[test]
fn a_receive_without_the_right_is_told_on_any_core() {
    for is_notification in [false, true] {
        let mut scene = Scene::with_handler_on(THERE);
        let handler = scene.timeouts;
        let machine = &mut scene.machine;
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let notification = machine.notification();
        let spec = Spec::new("task", 20).active().fault_handler(handler);
        let task = machine.spawn_on(HERE, spec);
        machine.on(HERE, |machine| {
            // From now on this core owns them.
            machine.nb_recv(task, endpoint, reply);
            machine.signal(task, notification);
            machine.wait(task, notification);
        });
        assert_eq!(machine.state(task), State::Runnable);
        let source = match is_notification {
            true => notification,
            false => endpoint,
        };
        let source = machine.mint(source, Rights::WRITE, 0);
        machine.on(HERE, |machine| match is_notification {
            true => machine.wait(task, source),
            false => machine.recv(task, source, reply),
        });
        assert_eq!(machine.state(task), State::Calling);
        assert_eq!(machine.state(scene.handler), State::Runnable);
    }
}

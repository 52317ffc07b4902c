//! Faults as messages, and the effect of the handlers' replies.

use abi::fault::FaultLabel;
use abi::registers::{FLAGS, PC, SP, SYSCALL_BYTES, UNKNOWN_SYSCALL};
use abi::{Method, Rights, slots};
use host_machine::{Budget, CPtr, Machine, Message, Received, Spec, State, Task};
use kernel::arch::UserContext;
use kernel::invoke::Error;
use kernel::object::Fault;

use crate::common::{make_passive, server};

/// A handler that waits, and a task with faults that are sent to it with badge 6.
struct Scene {
    machine: Machine,
    endpoint: CPtr,
    reply: CPtr,
    handler: Task,
    task: Task,
}

impl Scene {
    fn new() -> Self {
        Self::with(Budget::slice(10_000))
    }

    fn with(budget: Budget) -> Self {
        let mut machine = Machine::new();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let handler = server(&mut machine, "handler", 20, endpoint, reply);
        let cap = machine.mint(endpoint, Rights::from_word(9), 6);
        let task = machine.spawn(Spec::new("task", 10).budget(budget).fault_handler(cap));
        Self {
            machine,
            endpoint,
            reply,
            handler,
            task,
        }
    }

    /// The fault that the handler has received.
    fn fault(&self) -> (FaultLabel, Vec<usize>) {
        let Received {
            badge,
            label,
            words,
            caps,
            ..
        } = self.machine.received(self.handler);
        assert_eq!((badge, caps), (6, 0));
        let label = [
            FaultLabel::CapFault,
            FaultLabel::UnknownSyscall,
            FaultLabel::UserException,
            FaultLabel::VmFault,
        ]
        .into_iter()
        .find(|known| *known as usize == label);
        (label.expect("a known fault"), words)
    }

    fn reply(&mut self, label: usize, words: &[usize]) {
        let message = Message::new(label, words);
        self.machine
            .reply_recv(self.handler, self.endpoint, self.reply, &message);
    }
}

const VM: Fault = Fault::Vm {
    address: 0xdead_b000,
    status: 7,
    instruction: true,
};
const EXCEPTION: Fault = Fault::UserException {
    number: 13,
    code: 5,
};

#[test]
fn vm_faults_are_told_and_the_instruction_is_tried_again() {
    for label in [0, 1] {
        let mut scene = Scene::new();
        let pc = scene.machine.kernel[scene.task.thread].context.next_pc();
        scene.machine.fault(scene.task, VM);
        assert_eq!(scene.machine.running(), "handler");
        assert_eq!(scene.machine.state(scene.task), State::Calling);
        assert_eq!(
            scene.fault(),
            (FaultLabel::VmFault, vec![pc, 0xdead_b000, 1, 7])
        );
        // Neither the label nor words matter.
        scene.reply(label, &[1, 2, 3]);
        assert!(scene.machine.runs(scene.task));
        let context = &scene.machine.kernel[scene.task.thread].context;
        assert_eq!((context.next_pc(), context.get(PC)), (pc, pc));
    }
}

#[test]
fn exceptions_are_told_and_registers_may_be_changed() {
    let mut scene = Scene::new();
    let context = &mut scene.machine.kernel[scene.task.thread].context;
    let pc = context.next_pc();
    context.set(SP, 0x7000);
    context.set(FLAGS, 0x202);
    scene.machine.fault(scene.task, EXCEPTION);
    let words = vec![pc, 0x7000, 0x202, 13, 5];
    assert_eq!(scene.fault(), (FaultLabel::UserException, words));
    scene.reply(0, &[0x3000, 0x6000]);
    assert!(scene.machine.runs(scene.task));
    let context = &scene.machine.kernel[scene.task.thread].context;
    assert_eq!(context.next_pc(), 0x3000);
    assert_eq!((context.get(SP), context.get(FLAGS)), (0x6000, 0x202));
    // Words beyond the registers are ignored; a label other than zero stops the thread.
    scene.machine.fault(scene.task, EXCEPTION);
    scene.reply(1, &[0x4000, 0x5000, 0x203, 99, 99]);
    assert_eq!(scene.machine.state(scene.task), State::Inactive);
    assert_eq!(scene.machine.register(scene.task, FLAGS), 0x203);
    scene.machine.resume(scene.task);
    let context = &scene.machine.kernel[scene.task.thread].context;
    assert_eq!(context.next_pc(), 0x4000);
}

/// The instruction of a debug exception is not executed again: its fault must not be lost because the budget is used up.
#[test]
fn a_debug_exception_is_told_without_budget() {
    for budget in [Budget::new(1000, 5000), Budget::slice(1000)] {
        for left in [0, 10, 19] {
            let mut scene = Scene::with(budget);
            let pc = scene.machine.kernel[scene.task.thread].context.next_pc();
            scene.machine.stall(1000 - left);
            scene.machine.debug_exception(scene.task, EXCEPTION);
            assert_eq!(scene.machine.running(), "handler");
            let (label, words) = scene.fault();
            assert_eq!((label, words[0]), (FaultLabel::UserException, pc));
            scene.reply(0, &[]);
            // It has no other timeslice than any thread.
            assert_eq!(scene.machine.state(scene.task), State::Runnable);
            let waits = budget.budget < budget.period;
            assert_eq!(scene.machine.running() == "none", waits);
            scene.machine.advance(4100);
            assert!(scene.machine.runs(scene.task));
        }
    }
}

/// A passive handler would get a context without budget: it handles the fault when there is some again.
#[test]
fn a_debug_exception_without_budget_waits_with_its_handler() {
    let mut scene = Scene::with(Budget::new(1000, 5000));
    make_passive(&mut scene.machine, scene.handler);
    scene.machine.stall(990);
    scene.machine.debug_exception(scene.task, EXCEPTION);
    assert_eq!(scene.machine.state(scene.task), State::Calling);
    assert_eq!(scene.machine.running(), "none");
    scene.machine.advance(4100);
    assert_eq!(scene.machine.running(), "handler");
    assert_eq!(scene.fault().0, FaultLabel::UserException);
    scene.reply(0, &[]);
    assert!(scene.machine.runs(scene.task));
}

/// A thread with a timeout handler, too, gets the fault; its timeout is told after the reply.
#[test]
fn a_debug_exception_comes_before_a_timeout() {
    let mut scene = Scene::with(Budget::new(1000, 5000));
    let (endpoint, reply) = (scene.machine.endpoint(), scene.machine.reply());
    let watcher = server(&mut scene.machine, "watcher", 30, endpoint, reply);
    let handlers = [endpoint];
    (scene.machine)
        .tcb(scene.task, Method::TcbSetTimeoutEndpoint, &[], &handlers)
        .unwrap();
    scene.machine.stall(990);
    scene.machine.debug_exception(scene.task, EXCEPTION);
    assert_eq!(scene.machine.running(), "handler");
    scene.reply(0, &[]);
    assert_eq!(scene.machine.running(), "watcher");
    assert_eq!(
        scene.machine.received(watcher).label,
        FaultLabel::Timeout as usize
    );
}

#[test]
fn unknown_system_calls_can_be_emulated() {
    let mut scene = Scene::new();
    let context = &mut scene.machine.kernel[scene.task.thread].context;
    for (value, register) in (100..).zip(UNKNOWN_SYSCALL) {
        if register != PC {
            context.set(register, value);
        }
    }
    scene.machine.trap(scene.task, 1234);
    let (label, words) = scene.fault();
    assert_eq!((label, words.len()), (FaultLabel::UnknownSyscall, 19));
    assert_eq!(words[18], 1234);
    for (index, register) in UNKNOWN_SYSCALL.into_iter().enumerate() {
        assert_eq!(words[index], scene.machine.register(scene.task, register));
    }
    // The handler advances the program counter past the call and sets a result.
    let call = words[15];
    let mut registers = words[..18].to_vec();
    (registers[0], registers[15]) = (42, call + SYSCALL_BYTES);
    scene.reply(0, &registers);
    assert!(scene.machine.runs(scene.task));
    let context = &scene.machine.kernel[scene.task.thread].context;
    assert_eq!(context.next_pc(), call + SYSCALL_BYTES);
    assert_eq!(context.get(UNKNOWN_SYSCALL[0]), 42);
}

#[test]
fn an_unknown_call_is_repeated_if_the_handler_does_not_move_on() {
    let mut scene = Scene::new();
    scene.machine.trap(scene.task, 1234);
    let first = scene.fault();
    scene.reply(0, &[]);
    // The thread made the same call again.
    assert_eq!(scene.machine.running(), "handler");
    assert_eq!(scene.fault(), first);
}

#[test]
fn capability_faults_say_what_was_looked_for() {
    let mut scene = Scene::new();
    let pc = |scene: &Scene| scene.machine.register(scene.task, PC);
    scene
        .machine
        .call(scene.task, 1 << 60 | 5, &Message::default());
    // Send phase, guard mismatch: 64 bits left, guard 0 of 52 bits found.
    let words = vec![pc(&scene), 1 << 60 | 5, 0, 4, 64, 0, 52];
    assert_eq!(scene.fault(), (FaultLabel::CapFault, words));
    scene.reply(1, &[]);
    // It retries, whatever the label, and fails again.
    assert_eq!(scene.machine.running(), "handler");
    let message = Message::default().with_caps(&[1 << 61]);
    scene.machine.suspend(scene.task);
    scene
        .machine
        .tcb(scene.task, Method::TcbWriteRegisters, &[1, 1, 0x2000], &[])
        .unwrap();
    let (endpoint, reply) = (scene.endpoint, scene.reply);
    scene.machine.recv(scene.handler, endpoint, reply);
    // Extra capabilities are looked up as well.
    scene
        .machine
        .send(scene.task, slots::INIT_THREAD_CNODE, &message);
    let words = vec![pc(&scene), 1 << 61, 0, 4, 64, 0, 52];
    assert_eq!(scene.fault(), (FaultLabel::CapFault, words));
}

#[test]
fn a_thread_without_space_has_an_invalid_root() {
    let mut scene = Scene::new();
    // The only capability to its CSpace is its own.
    let space = scene.machine.cnode(2);
    let caps = [0, space, slots::INIT_THREAD_VSPACE];
    let handler = scene.machine.mint(scene.endpoint, Rights::ALL, 6);
    scene
        .machine
        .tcb(
            scene.task,
            Method::TcbSetSpace,
            &[0, 0],
            &[handler, caps[1], caps[2]],
        )
        .unwrap();
    scene.machine.revoke(space);
    scene.machine.recv(scene.task, 3, 0);
    let pc = scene.machine.register(scene.task, PC);
    assert_eq!(scene.fault(), (FaultLabel::CapFault, vec![pc, 3, 1, 1]));
}

#[test]
fn a_fault_without_reply_object_stops_the_thread() {
    let mut scene = Scene::new();
    scene.machine.suspend(scene.handler);
    let watcher = scene.machine.spawn(Spec::new("watcher", 30).active());
    scene.machine.wait(watcher, scene.endpoint);
    scene.machine.fault(scene.task, VM);
    assert_eq!(
        scene.machine.received(watcher).label,
        FaultLabel::VmFault as usize
    );
    assert_eq!(scene.machine.state(scene.task), State::Inactive);
    // When resumed, it retries; the host raises no new fault.
    scene.machine.resume(scene.task);
    assert_eq!(scene.machine.state(scene.task), State::Runnable);
}

#[test]
fn the_end_of_the_endpoint_stops_queued_faulters() {
    let mut machine = Machine::new();
    let endpoint = machine.endpoint();
    let spec = Spec::new("task", 30).active().fault_handler(endpoint);
    let task = machine.spawn(spec);
    machine.rest();
    machine.fault(task, VM);
    assert_eq!(machine.state(task), State::Sending);
    machine.revoke(endpoint);
    assert_eq!(
        machine.state(task),
        State::Sending,
        "only a capability went"
    );
    machine.delete(endpoint);
    assert_eq!(machine.state(task), State::Inactive);
}

#[test]
fn cancelling_badged_sends_stops_faulters() {
    let mut machine = Machine::new();
    let endpoint = machine.endpoint();
    let badged = machine.mint(endpoint, Rights::ALL, 6);
    let spec = Spec::new("task", 30).active().fault_handler(badged);
    let task = machine.spawn(spec);
    machine.rest();
    machine.fault(task, VM);
    machine
        .in_root(Method::CNodeCancelBadgedSends, badged, &[])
        .unwrap();
    assert_eq!(machine.state(task), State::Inactive);
}

#[test]
fn revoking_the_endpoint_takes_the_handler_away() {
    let mut scene = Scene::new();
    scene.machine.revoke(scene.endpoint);
    scene.machine.fault(scene.task, VM);
    assert_eq!(scene.machine.state(scene.task), State::Inactive);
    assert_eq!(scene.machine.state(scene.handler), State::Receiving);
}

#[test]
fn handlers_need_rights() {
    let mut machine = Machine::new();
    let endpoint = machine.endpoint();
    let notification = machine.notification();
    let task = machine.spawn(Spec::new("task", 10).active());
    let root = slots::INIT_THREAD_TCB;
    let spaces = [slots::INIT_THREAD_CNODE, slots::INIT_THREAD_VSPACE];
    for rights in 0..16 {
        let handler = machine.mint(endpoint, Rights::from_word(rights), 1);
        let good = rights & 1 != 0 && rights & 12 != 0;
        let expected = |number| {
            if good {
                Ok(vec![])
            } else {
                Err(Error::InvalidCapability(number))
            }
        };
        let answer = machine.tcb(task, Method::TcbSetTimeoutEndpoint, &[], &[handler]);
        assert_eq!(answer, expected(1));
        let caps = [root, task.context, handler];
        let answer = machine.tcb(task, Method::TcbSetSchedParams, &[255, 10], &caps);
        assert_eq!(answer, expected(3));
        let caps = [handler, spaces[0], spaces[1]];
        let answer = machine.tcb(task, Method::TcbSetSpace, &[0, 0], &caps);
        assert_eq!(answer, expected(1));
    }
    let answer = machine.tcb(task, Method::TcbSetTimeoutEndpoint, &[], &[notification]);
    assert_eq!(answer, Err(Error::InvalidCapability(1)));
    // A null capability is accepted.
    let empty = machine.slot();
    let answer = machine.tcb(task, Method::TcbSetTimeoutEndpoint, &[], &[empty]);
    assert_eq!(answer, Ok(vec![]));
}

#[test]
fn a_handler_without_buffer_gets_what_fits_into_registers() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let handler = machine.spawn(Spec::new("handler", 20).active().without_buffer());
    let task = machine.spawn(Spec::new("task", 10).active().fault_handler(endpoint));
    machine.rest();
    machine.recv(handler, endpoint, reply);
    machine.trap(task, 99);
    let received = machine.received(handler);
    assert_eq!(received.label, FaultLabel::UnknownSyscall as usize);
    assert_eq!(received.words.len(), 4);
}

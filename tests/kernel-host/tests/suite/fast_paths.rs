//! Fast paths: equal in effect to the slow path, and eligible only in the common cases.

use crate::random::{Step, TestSystem, step};
use abi::registers::COUNT;
use abi::slots::INIT_THREAD_CNODE as ROOT;
use abi::{Method, ObjectType, Rights};
use host_machine::{Budget, CPtr, Machine, Message, Spec, State, Task};
use kernel::cap::Cap;
use kernel::collections::Linked;
use kernel::object::Membership;
use proptest::prelude::*;

/// All observable state of a simulated system.
pub(super) fn picture(system: &TestSystem) -> String {
    let machine = &system.machine;
    let core = &machine.kernel.core;
    let mut picture = format!(
        "{} at {:?}: {:?} used, timer at {:?}\n",
        machine.running(),
        core.now,
        core.consumed,
        machine.kernel.arch.deadline
    );
    for task in &system.tasks {
        let state = machine.state(*task);
        picture += &format!("{} {state:?}", machine.name(*task));
        if state != State::Gone {
            let thread = machine.thread(*task);
            let registers: Vec<_> = (0..COUNT).map(|at| machine.register(*task, at)).collect();
            // The key of a thread that is in no queue has no meaning.
            let is_queued = thread.membership != Membership::None;
            let queue = (thread.membership, is_queued.then(|| thread.links().key()));
            let passive = machine.is_passive(*task);
            picture += &format!(" {queue:?} {passive} {:?} {registers:x?}", thread.fault);
        }
        picture.push('\n');
    }
    for context in system
        .contexts
        .iter()
        .filter(|slot| !machine.is_empty(**slot))
    {
        let refills = machine.refills(*context);
        let consumed = machine.kernel[machine.context(*context)].consumed;
        picture += &format!("{} {refills:?} {consumed:?}\n", machine.holder(*context));
    }
    for slot in &system.received {
        picture += &match machine.cap(*slot) {
            Cap::Null => "nothing received\n".into(),
            Cap::Endpoint(cap) => format!("endpoint {} received\n", cap.badge),
            Cap::Notification(cap) => format!("notification {} received\n", cap.badge),
            _ => "another object received\n".into(),
        };
    }
    for notification in &system.notifications {
        if let Cap::Notification(cap) = machine.cap(*notification) {
            picture += match machine.kernel[cap.object].state {
                kernel::object::NotificationState::Idle => "idle\n",
                kernel::object::NotificationState::Waiting(_) => "waiting\n",
                kernel::object::NotificationState::Active(_) => "active\n",
            };
        }
    }
    picture
}

/// Fewer cases than proptest's default, as each is two systems, unless the environment says how many.
pub(super) fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let is_chosen = std::env::var_os("PROPTEST_CASES").is_some();
    ProptestConfig {
        failure_persistence: None,
        cases: if is_chosen { default.cases } else { 96 },
        ..default
    }
}

proptest! {
    #![proptest_config(config())]

    /// Time may pass just before a system call, which then comes before a late timer interrupt.
    #[test]
    fn both_paths_lead_to_the_same(
        history in prop::collection::vec((step(), prop_oneof![3 => Just(0), 1 => 1u64..300]), 1..150),
    ) {
        let (mut short, mut general) = (TestSystem::new(), TestSystem::new());
        general.machine.kernel.arch.fast_paths = false;
        let before = general.machine.kernel.instruments.watch.fast_paths;
        for (step, late) in &history {
            for system in [&mut short, &mut general] {
                if let Step::Act(_) = step && *late > 0 {
                    system.machine.stall_before_call(*late);
                }
                system.step(step);
                system.machine.before_calls = None;
            }
            prop_assert_eq!(picture(&short), picture(&general), "after {:?}", step);
        }
        prop_assert_eq!(general.machine.kernel.instruments.watch.fast_paths, before);
    }
}

/// A client, and a server that waits for its message.
pub(super) struct Scene {
    pub(super) machine: Machine,
    pub(super) client: Task,
    pub(super) server: Task,
    pub(super) endpoint: CPtr,
    pub(super) notification: CPtr,
    pub(super) reply: CPtr,
}

impl Scene {
    /// The server has the given priority, and a scheduling context of its own if `active`.
    pub(super) fn new(priority: u8, active: bool) -> Self {
        Self::of(Machine::new(), priority, active)
    }

    pub(super) fn of(mut machine: Machine, priority: u8, active: bool) -> Self {
        let (endpoint, notification) = (machine.endpoint(), machine.notification());
        let reply = machine.reply();
        let spec = Spec::new("server", priority);
        let server = machine.spawn(if active { spec.active() } else { spec });
        let client = machine.spawn(Spec::new("client", 5).active());
        machine.rest();
        let mut scene = Self {
            machine,
            client,
            server,
            endpoint,
            notification,
            reply,
        };
        scene.let_server_wait();
        scene
    }

    fn let_server_wait(&mut self) {
        let context = if self.machine.is_passive(self.server) {
            let context = self.machine.new_context(Budget::slice(100_000));
            self.machine.bind(context, self.server.tcb).unwrap();
            context
        } else {
            0
        };
        if !self.machine.runs(self.server) {
            self.machine.suspend(self.client);
        }
        self.machine.recv(self.server, self.endpoint, self.reply);
        if context != 0 {
            let unbind = Method::SchedContextUnbind;
            self.machine.invoke(context, unbind, &[], &[]).unwrap();
        }
        if self.machine.state(self.client) == State::Inactive {
            self.machine.resume(self.client);
        }
        assert!(self.machine.runs(self.client));
    }

    /// Whether a fast path was taken.
    pub(super) fn is_fast(&mut self, act: impl FnOnce(&mut Self)) -> bool {
        let before = self.machine.kernel.instruments.watch.fast_paths;
        act(self);
        self.machine.kernel.instruments.watch.fast_paths > before
    }

    pub(super) fn call(&mut self, message: &Message) -> bool {
        self.is_fast(|scene| {
            (scene.machine).call(scene.client, scene.endpoint, message);
        })
    }
}

pub(super) fn words(count: usize) -> Message {
    Message::new(1, &vec![7; count])
}

#[test]
fn usual_calls_and_replies_are_short() {
    for (priority, active) in [(5, false), (9, false), (3, false), (5, true), (9, true)] {
        for length in [0, 4, 10, 120] {
            let mut scene = Scene::new(priority, active);
            assert!(scene.call(&words(length)), "{priority} {active} {length}");
            assert!(scene.machine.runs(scene.server));
            assert_eq!(scene.machine.received(scene.server).words.len(), length);
            let is_short = scene.is_fast(|scene| {
                let message = words(length);
                let (server, reply) = (scene.server, scene.reply);
                (scene.machine).reply_recv(server, scene.endpoint, reply, &message);
            });
            // A higher-priority active server continues until it waits, in the same system call.
            assert!(is_short, "reply {priority} {active} {length}");
            assert!(scene.machine.runs(scene.client));
        }
    }
}

#[test]
fn signals_are_short() {
    let mut scene = Scene::new(9, true);
    let notification = scene.notification;
    let client = scene.client;
    assert!(scene.is_fast(|scene| scene.machine.signal(client, notification)));
    assert!(scene.is_fast(|scene| scene.machine.signal(client, notification)));
    assert!(scene.is_fast(|scene| scene.machine.wait(client, notification)));
    scene.machine.send(client, scene.endpoint, &words(0));
    assert!(scene.machine.runs(scene.server));
    let server = scene.server;
    assert!(scene.is_fast(|scene| scene.machine.wait(server, notification)));
    assert!(scene.machine.runs(client));
    assert!(scene.is_fast(|scene| scene.machine.signal(client, notification)));
    assert!(scene.machine.runs(server));
}

#[test]
fn waiting_without_another_ready_thread_is_not_eligible() {
    let mut scene = Scene::new(9, true);
    let (client, notification) = (scene.client, scene.notification);
    assert!(!scene.is_fast(|scene| scene.machine.wait(client, notification)));
    assert_eq!(scene.machine.running(), "none");
}

#[test]
fn waiting_on_lent_time_is_not_usual() {
    let mut scene = Scene::new(9, false);
    let (client, server, notification) = (scene.client, scene.server, scene.notification);
    let context = scene.machine.new_context(Budget::slice(100));
    scene.machine.bind(context, notification).unwrap();
    let bind = Method::TcbBindNotification;
    (scene.machine.invoke(server.tcb, bind, &[], &[notification])).unwrap();
    scene.machine.signal(client, notification);
    assert!(scene.machine.runs(server));
    assert!(!scene.is_fast(|scene| scene.machine.wait(server, notification)));
    assert!(scene.machine.runs(client));
    assert!(scene.machine.is_passive(server));
}

#[test]
fn calls_on_memory_are_short() {
    let mut scene = Scene::new(5, false);
    let client = scene.client;
    let (memory, slot) = (scene.machine.untyped(12), scene.machine.slot());
    let words = [ObjectType::X86Page4K.number(), 0, 0, 0, slot, 1];
    let retype = Message::new(Method::UntypedRetype.number(), &words).with_caps(&[ROOT]);
    assert!(scene.is_fast(|scene| scene.machine.call(client, memory, &retype)));
    assert_eq!(scene.machine.received(client).label, 0);
    let ask = Message::new(Method::X86PageGetAddress.number(), &[]);
    assert!(scene.is_fast(|scene| scene.machine.call(client, slot, &ask)));
    assert_eq!(scene.machine.received(client).words.len(), 1);
    // Errors are reported by the same fast path.
    assert!(scene.is_fast(|scene| scene.machine.call(client, memory, &retype)));
    let error = abi::ErrorCode::DeleteFirst as usize;
    assert_eq!(scene.machine.received(client).label, error);
    // A method that may affect the scheduler is not eligible.
    let suspend = Message::new(Method::TcbSuspend.number(), &[]);
    let server = scene.server.tcb;
    assert!(!scene.is_fast(|scene| scene.machine.call(client, server, &suspend)));
    assert_eq!(scene.machine.received(client).label, 0);
}

#[test]
fn a_call_on_memory_stops_for_an_interrupt() {
    let mut scene = Scene::new(5, false);
    let client = scene.client;
    let (memory, slot) = (scene.machine.untyped(12), scene.machine.slots(2));
    let words = [ObjectType::Endpoint.number(), 0, 0, 0, slot, 2];
    let retype = Message::new(Method::UntypedRetype.number(), &words).with_caps(&[ROOT]);
    // The earlier preemption points are after lookups and checks; this one is between the two
    // objects.
    scene.machine.kernel.arch.ambush = Some((3, kernel::arch::Irq(0)));
    assert!(scene.is_fast(|scene| scene.machine.call(client, memory, &retype)));
    assert!(!scene.machine.is_empty(slot) && scene.machine.is_empty(slot + 1));
    scene.machine.rest();
    assert_eq!(scene.machine.received(client).label, 0);
    assert!(!scene.machine.is_empty(slot + 1));
}

#[test]
fn capabilities_without_the_rights_are_not_usual() {
    for rights in [Rights::READ, Rights::WRITE, Rights::GRANT] {
        let mut scene = Scene::new(5, false);
        scene.endpoint = scene.machine.mint(scene.endpoint, rights, 0);
        assert!(!scene.call(&words(0)), "{rights:?}");
    }
    let mut scene = Scene::new(5, false);
    let rights = Rights::WRITE.union(Rights::GRANT_REPLY);
    scene.endpoint = scene.machine.mint(scene.endpoint, rights, 3);
    assert!(scene.call(&words(0)));
    assert_eq!(scene.machine.badge(scene.server), 3);
}

#[test]
fn a_missing_receiver_is_not_eligible() {
    let mut scene = Scene::new(5, false);
    scene.endpoint = scene.machine.endpoint();
    assert!(!scene.call(&words(0)));
    assert_eq!(scene.machine.state(scene.client), State::Sending);
}

#[test]
fn a_higher_priority_thread_is_not_eligible() {
    let mut scene = Scene::new(3, false);
    let other = scene.machine.spawn(Spec::new("other", 4).active());
    assert!(!scene.call(&words(0)));
    assert!(scene.machine.runs(other));
}

#[test]
fn faults_and_their_answers_are_short() {
    let mut scene = Scene::new(5, false);
    let endpoint = scene.endpoint;
    let client = scene.client;
    let faulty = Spec::new("faulty", 5).active().fault_handler(endpoint);
    let faulty = scene.machine.spawn(faulty);
    scene.machine.suspend(client);
    assert!(scene.machine.runs(faulty));
    let fault = kernel::object::Fault::UserException { number: 6, code: 0 };
    assert!(scene.is_fast(|scene| scene.machine.fault(faulty, fault)));
    assert!(scene.machine.runs(scene.server));
    let (server, reply) = (scene.server, scene.reply);
    assert!(scene.is_fast(|scene| {
        let message = Message::new(0, &[]);
        (scene.machine).reply_recv(server, endpoint, reply, &message);
    }));
    assert!(scene.machine.runs(faulty));
}

#[test]
fn deep_spaces_are_not_usual() {
    let mut scene = Scene::new(5, false);
    let inner = scene.machine.cnode(4);
    let _ = inner;
    // An address that can't be resolved is a fault, which the slow path reports.
    scene.endpoint = 0x7fff;
    assert!(!scene.call(&words(0)));
}

#[test]
fn round_robin_yields_are_short() {
    let mut machine = Machine::new();
    let spec = |name| Spec::new(name, 5).budget(Budget::slice(1000));
    let one = machine.spawn(spec("one"));
    machine.rest();
    let yields = |machine: &mut Machine, task| {
        let before = machine.kernel.instruments.watch.fast_paths;
        machine.yield_now(task);
        machine.kernel.instruments.watch.fast_paths > before
    };
    assert!(yields(&mut machine, one));
    assert!(machine.runs(one));
    let two = machine.spawn(spec("two"));
    for _ in 0..3 {
        let (running, other) = if machine.runs(one) {
            (one, two)
        } else {
            (two, one)
        };
        assert!(yields(&mut machine, running));
        assert!(machine.runs(other));
    }
    // With a period, budget given up is replenished only after it.
    let periodic = Spec::new("periodic", 6).budget(Budget::new(500, 1000));
    let periodic = machine.spawn(periodic);
    assert!(machine.runs(periodic));
    assert!(!yields(&mut machine, periodic));
    assert!(!machine.runs(periodic));
}

/// The criticality decides between threads that are ready since the same tick, so a thread with one continues.
#[test]
fn a_yield_with_a_criticality_is_not_eligible_beside_another_thread() {
    for criticality in [0, 1] {
        let mut machine = Machine::new();
        let spec = |name| Spec::new(name, 5).budget(Budget::slice(1000));
        let (first, second) = (machine.spawn(spec("first")), machine.spawn(spec("second")));
        machine.rest();
        machine.yield_now(second);
        machine.yield_now(first);
        machine.set_criticality(first, criticality);
        if machine.runs(second) {
            machine.yield_now(second);
        }
        assert!(machine.runs(first));
        let before = machine.kernel.instruments.watch.fast_paths;
        machine.yield_now(first);
        let is_short = machine.kernel.instruments.watch.fast_paths > before;
        assert_eq!(is_short, criticality == 0);
        assert!(machine.runs(if is_short { second } else { first }));
    }
}

#[test]
fn interrupts_are_short() {
    let mut scene = Scene::new(9, true);
    let handler = scene.machine.issue_irq(1).unwrap();
    let set = Method::IrqSetIrqHandler;
    let notification = scene.notification;
    (scene.machine.invoke(handler, set, &[], &[notification])).unwrap();
    scene.machine.send(scene.client, scene.endpoint, &words(0));
    scene.machine.wait(scene.server, notification);
    assert!(scene.machine.runs(scene.client));
    assert!(scene.is_fast(|scene| scene.machine.raise(kernel::arch::Irq(1))));
    assert!(scene.machine.runs(scene.server));
}

#[test]
fn interrupts_without_a_notification_or_a_current_thread_are_not_short() {
    let mut scene = Scene::new(9, true);
    let handler = scene.machine.issue_irq(1).unwrap();
    assert!(!scene.is_fast(|scene| scene.machine.raise(kernel::arch::Irq(1))));
    let (client, server, notification) = (scene.client, scene.server, scene.notification);
    let (set, acknowledge) = (Method::IrqSetIrqHandler, Method::IrqAckIrq);
    (scene.machine.invoke(handler, set, &[], &[notification])).unwrap();
    (scene.machine.invoke(handler, acknowledge, &[], &[])).unwrap();
    scene.machine.send(client, scene.endpoint, &words(0));
    scene.machine.wait(server, notification);
    scene.machine.suspend(client);
    assert_eq!(scene.machine.running(), "none");
    assert!(!scene.is_fast(|scene| scene.machine.raise(kernel::arch::Irq(1))));
    assert!(scene.machine.runs(server));
}

/// A thread that has used its budget and is due for replenishment while the client runs.
pub(super) fn with_a_thread_due(scene: &mut Scene, priority: u8) -> Task {
    let spec = Spec::new("due", priority).budget(Budget::new(100, 1000));
    let due = scene.machine.spawn(spec);
    let client = scene.client;
    scene.machine.suspend(client);
    assert!(scene.machine.runs(due));
    scene.machine.advance(100);
    scene.machine.resume(client);
    scene.machine.advance(2000);
    assert!(scene.machine.runs(client));
    due
}

#[test]
fn a_lower_priority_server_does_not_overtake_a_due_thread() {
    for looks in [true, false] {
        let mut scene = Scene::new(3, false);
        scene.machine.kernel.arch.reads_clock_in_fast_paths = looks;
        let due = with_a_thread_due(&mut scene, 4);
        // The slow path reads the clock in any case.
        scene.machine.nb_send(scene.client, 0, &words(0));
        assert!(scene.machine.runs(scene.client));
        assert!(!scene.call(&words(0)));
        assert!(scene.machine.runs(due));
    }
}

#[test]
fn an_interrupt_does_not_overtake_a_late_timer() {
    let mut scene = Scene::new(3, true);
    let handler = scene.machine.issue_irq(1).unwrap();
    let (notification, client) = (scene.notification, scene.client);
    let set = Method::IrqSetIrqHandler;
    (scene.machine.invoke(handler, set, &[], &[notification])).unwrap();
    scene.machine.suspend(client);
    let high = Spec::new("high", 9).budget(Budget::new(100, 1000));
    let high = scene.machine.spawn(high);
    scene.machine.advance(100);
    scene
        .machine
        .bind(scene.server.context, scene.server.tcb)
        .ok();
    scene.machine.resume(client);
    scene.machine.nb_send(client, scene.endpoint, &words(0));
    scene.machine.suspend(client);
    scene.machine.wait(scene.server, notification);
    scene.machine.resume(client);
    assert!(scene.machine.runs(client));
    scene.machine.stall(2000);
    assert!(!scene.is_fast(|scene| scene.machine.raise(kernel::arch::Irq(1))));
    assert!(scene.machine.runs(high));
}

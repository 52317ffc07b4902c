//! Fast paths: equal in effect to the slow path, and eligible only in the common cases.

use crate::random::{History, TestSystem, step};
use abi::registers::COUNT;
use abi::slots::INIT_THREAD_CNODE as ROOT;
use abi::{Method, ObjectType, Rights, endpoint_flags};
use host_machine::{Budget, CPtr, Machine, Message, Spec, State, Task};
use kernel::cap::Cap;
use kernel::collections::Linked;
use kernel::object::Membership;
use proptest::prelude::*;

/// All observable state of a simulated system.
fn picture(system: &TestSystem) -> String {
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
fn config() -> ProptestConfig {
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

    #[test]
    fn both_paths_lead_to_the_same(
        history in prop::collection::vec(step(), 1..150).prop_map(History),
    ) {
        let (mut short, mut general) = (TestSystem::new(), TestSystem::new());
        general.machine.kernel.arch.fast_paths = false;
        let before = general.machine.kernel.instruments.watch.fast_paths;
        for step in &history.0 {
            short.step(step);
            general.step(step);
            prop_assert_eq!(picture(&short), picture(&general), "after {:?}", step);
        }
        prop_assert_eq!(general.machine.kernel.instruments.watch.fast_paths, before);
    }
}

/// A client, and a server that waits for its message.
struct Scene {
    machine: Machine,
    client: Task,
    server: Task,
    endpoint: CPtr,
    notification: CPtr,
    reply: CPtr,
}

impl Scene {
    /// The server has the given priority, and a scheduling context of its own if `active`.
    fn new(priority: u8, active: bool) -> Self {
        let mut machine = Machine::new();
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
    fn is_fast(&mut self, act: impl FnOnce(&mut Self)) -> bool {
        let before = self.machine.kernel.instruments.watch.fast_paths;
        act(self);
        self.machine.kernel.instruments.watch.fast_paths > before
    }

    fn call(&mut self, message: &Message) -> bool {
        self.is_fast(|scene| {
            (scene.machine).call(scene.client, scene.endpoint, message);
        })
    }
}

fn words(count: usize) -> Message {
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
fn a_waiting_thread_lets_no_lower_priority_thread_overtake_a_due_one() {
    let mut scene = Scene::new(3, true);
    let (client, server, notification) = (scene.client, scene.server, scene.notification);
    let due = with_a_thread_due(&mut scene);
    scene.machine.send(client, scene.endpoint, &words(0));
    assert!(scene.machine.runs(client));
    assert_eq!(scene.machine.state(server), State::Runnable);
    assert!(!scene.is_fast(|scene| scene.machine.wait(client, notification)));
    assert!(scene.machine.runs(due));
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
fn capabilities_in_messages_are_not_usual() {
    let mut scene = Scene::new(5, false);
    let message = words(0).with_caps(&[scene.notification]);
    assert!(!scene.call(&message));
    assert!(scene.machine.runs(scene.server));
}

/// A scene whose endpoint has a threshold, in which the client has a budget of 100 ticks.
fn behind_a_threshold(active: bool, threshold: [usize; 2]) -> Scene {
    let mut scene = Scene::new(5, active);
    let set = Method::CNodeEndpointSetThreshold;
    let (endpoint, context) = (scene.endpoint, scene.client.context);
    scene.machine.in_root(set, endpoint, &threshold).unwrap();
    (scene.machine.configure(context, Budget::new(100, 1000))).unwrap();
    assert!(scene.machine.runs(scene.client));
    scene
}

#[test]
fn calls_with_the_budget_for_a_threshold_are_short() {
    for (active, threshold) in [(false, [30, 0]), (true, [30, 0]), (false, [80, 0])] {
        let mut scene = behind_a_threshold(active, threshold);
        assert!(scene.call(&words(1)), "{active} {threshold:?}");
        assert!(scene.machine.runs(scene.server));
        assert_eq!(scene.machine.received(scene.server).words, [7]);
    }
}

#[test]
fn a_threshold_above_what_is_left_is_not_eligible() {
    let mut scene = behind_a_threshold(false, [60, 0]);
    scene.machine.advance(30);
    // 30 of 100 ticks are used, which nothing has charged yet; the threshold asks for 60 and the smallest budget.
    assert!(!scene.call(&words(0)));
    assert!(!scene.machine.runs(scene.server));
    let mut scene = behind_a_threshold(false, [60, 0]);
    scene.machine.advance(20);
    assert!(scene.call(&words(0)));
}

#[test]
fn flags_of_a_threshold_are_not_eligible() {
    for flags in [endpoint_flags::LIMIT, endpoint_flags::TELL_BUDGET] {
        let mut scene = behind_a_threshold(false, [30, flags]);
        assert!(!scene.call(&words(0)));
        assert!(scene.machine.runs(scene.server));
        // A context with a limit needs a budget check at every entry.
        let (server, notification) = (scene.server, scene.notification);
        let is_short = scene.is_fast(|scene| scene.machine.signal(server, notification));
        assert_eq!(is_short, flags != endpoint_flags::LIMIT);
    }
}

#[test]
fn messages_without_a_reply_and_faults_are_not_eligible_behind_a_threshold() {
    let mut scene = behind_a_threshold(true, [30, 0]);
    let (client, endpoint) = (scene.client, scene.endpoint);
    assert!(!scene.is_fast(|scene| scene.machine.send(client, endpoint, &words(0))));
    let mut scene = behind_a_threshold(false, [30, 0]);
    let spec = Spec::new("faulty", 5).budget(Budget::new(100, 1000));
    let faulty = scene.machine.spawn(spec.fault_handler(scene.endpoint));
    scene.machine.suspend(scene.client);
    assert!(scene.machine.runs(faulty));
    let fault = kernel::object::Fault::UserException { number: 6, code: 0 };
    assert!(!scene.is_fast(|scene| scene.machine.fault(faulty, fault)));
}

#[test]
fn waiting_again_behind_a_threshold_is_short_for_a_server_without_a_context() {
    for active in [false, true] {
        let mut scene = behind_a_threshold(active, [30, 0]);
        assert!(scene.call(&words(0)));
        let is_short = scene.is_fast(|scene| {
            let (server, reply) = (scene.server, scene.reply);
            (scene.machine).reply_recv(server, scene.endpoint, reply, &words(0));
        });
        assert_eq!(is_short, !active);
        assert!(scene.machine.runs(scene.client));
        // The threshold is still there.
        scene.machine.advance(60);
        assert!(!scene.call(&words(0)));
        assert!(!scene.machine.runs(scene.server));
    }
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

/// The client of a scene gets a budget of 100 ticks, and the server as its timeout handler.
fn with_a_timeout_handler(priority: u8, active: bool) -> Scene {
    let mut scene = Scene::new(priority, active);
    let (client, endpoint) = (scene.client, scene.endpoint);
    let budget = Budget::new(100, 1000);
    (scene.machine.configure(client.context, budget)).unwrap();
    let set = Method::TcbSetTimeoutEndpoint;
    (scene.machine.invoke(client.tcb, set, &[], &[endpoint])).unwrap();
    assert!(scene.machine.runs(client));
    scene
}

#[test]
fn ends_of_budgets_with_a_handler_are_short() {
    for priority in [3, 5, 9] {
        let mut scene = with_a_timeout_handler(priority, true);
        assert!(scene.is_fast(|scene| scene.machine.advance(100)));
        assert!(scene.machine.runs(scene.server));
        assert_eq!(scene.machine.state(scene.client), State::Calling);
        let refills = scene.machine.refills(scene.client.context);
        assert_eq!(refills.iter().map(|refill| refill.1).sum::<u64>(), 100);
    }
}

#[test]
fn ends_of_budgets_without_an_eligible_handler_are_not_short() {
    // A passive handler can't run: the context has no budget left.
    let mut scene = with_a_timeout_handler(9, false);
    assert!(!scene.is_fast(|scene| scene.machine.advance(100)));
    // The handler does not wait.
    let mut scene = with_a_timeout_handler(9, true);
    scene.machine.suspend(scene.server);
    assert!(scene.machine.runs(scene.client));
    assert!(!scene.is_fast(|scene| scene.machine.advance(100)));
    // It has used its own budget.
    let mut scene = with_a_timeout_handler(9, true);
    let server = scene.server;
    (scene.machine.configure(server.context, Budget::new(40, 5000))).unwrap();
    scene.machine.send(scene.client, scene.endpoint, &words(0));
    assert!(scene.machine.runs(server));
    scene.machine.advance(30);
    scene.machine.recv(server, scene.endpoint, scene.reply);
    assert!(scene.machine.runs(scene.client));
    assert!(!scene.is_fast(|scene| scene.machine.advance(100)));
    // Another thread comes before it.
    let mut scene = with_a_timeout_handler(3, true);
    let other = scene.machine.spawn(Spec::new("other", 4).active());
    assert!(scene.machine.runs(scene.client));
    assert!(!scene.is_fast(|scene| scene.machine.advance(100)));
    assert!(scene.machine.runs(other));
}

/// The slow path lets a ready thread with a criticality go before the handler.
#[test]
fn the_end_of_a_budget_beside_a_thread_with_a_criticality_is_not_short() {
    let mut scene = with_a_timeout_handler(5, true);
    let critical = scene.machine.spawn(Spec::new("critical", 4).active());
    scene.machine.set_criticality(critical, 1);
    assert!(scene.machine.runs(scene.client));
    assert!(!scene.is_fast(|scene| scene.machine.advance(100)));
}

/// The handler could not run without a budget that a threshold asks for, so there is none.
#[test]
fn the_end_of_a_budget_with_a_handler_behind_a_threshold_is_not_short() {
    let mut scene = with_a_timeout_handler(9, true);
    let set = Method::CNodeEndpointSetThreshold;
    let endpoint = scene.endpoint;
    scene.machine.in_root(set, endpoint, &[30, 0]).unwrap();
    assert!(!scene.is_fast(|scene| scene.machine.advance(100)));
    assert!(!scene.machine.runs(scene.server));
}

/// The handler must not overtake a thread whose release came while the client ran.
#[test]
fn the_end_of_a_budget_while_another_thread_is_due_is_not_short() {
    let mut scene = with_a_timeout_handler(3, true);
    let client = scene.client;
    let due = (scene.machine).spawn(Spec::new("due", 4).budget(Budget::new(40, 60)));
    scene.machine.suspend(client);
    assert!(scene.machine.runs(due));
    scene.machine.yield_now(due);
    scene.machine.resume(client);
    assert!(scene.machine.runs(client));
    assert!(!scene.is_fast(|scene| scene.machine.advance(100)));
    assert!(scene.machine.runs(due));
}

/// A thread that is due comes before one of the same priority that became ready after its release.
#[test]
fn a_waiting_thread_lets_no_ready_thread_overtake_a_due_one_of_the_same_priority() {
    let mut scene = Scene::new(5, true);
    let (client, server, notification) = (scene.client, scene.server, scene.notification);
    let spec = Spec::new("due", 5).budget(Budget::new(100, 1000));
    let due = scene.machine.spawn(spec);
    scene.machine.suspend(client);
    assert!(scene.machine.runs(due));
    scene.machine.yield_now(due);
    scene.machine.resume(client);
    scene.machine.advance(2000);
    assert!(scene.machine.runs(client));
    scene.machine.send(client, scene.endpoint, &words(0));
    assert!(scene.machine.runs(client));
    assert_eq!(scene.machine.state(server), State::Runnable);
    assert!(!scene.is_fast(|scene| scene.machine.wait(client, notification)));
    assert!(scene.machine.runs(due));
}

#[test]
fn ends_of_timeslices_and_of_idling_contexts_are_not_short() {
    let idling = Budget {
        idling: true,
        ..Budget::new(100, 1000)
    };
    for budget in [Budget::slice(100), idling] {
        let mut scene = with_a_timeout_handler(9, true);
        (scene.machine.configure(scene.client.context, budget)).unwrap();
        assert!(!scene.is_fast(|scene| scene.machine.advance(100)));
    }
}

#[test]
fn releases_of_higher_priority_threads_are_short() {
    for priority in [4, 5, 6] {
        let mut scene = Scene::new(3, true);
        let spec = Spec::new("periodic", priority).budget(Budget::new(100, 1000));
        let periodic = scene.machine.spawn(spec);
        let client = scene.client;
        scene.machine.suspend(client);
        assert!(scene.machine.runs(periodic));
        scene.machine.yield_now(periodic);
        scene.machine.resume(client);
        let is_short = scene.is_fast(|scene| scene.machine.advance(1000));
        assert_eq!(is_short, priority > 5);
        assert_eq!(scene.machine.runs(periodic), priority > 5);
    }
}

#[test]
fn a_release_ends_the_idle_loop_by_a_fast_path() {
    let mut machine = Machine::new();
    let spec = Spec::new("periodic", 5).budget(Budget::new(100, 1000));
    let periodic = machine.spawn(spec);
    machine.rest();
    machine.yield_now(periodic);
    assert_eq!(machine.running(), "none");
    let before = machine.kernel.instruments.watch.fast_paths;
    machine.advance(1000);
    assert!(machine.kernel.instruments.watch.fast_paths > before);
    assert!(machine.runs(periodic));
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

/// A thread of priority 4 that has used its budget and is due for replenishment while the client
/// runs.
fn with_a_thread_due(scene: &mut Scene) -> Task {
    let spec = Spec::new("due", 4).budget(Budget::new(100, 1000));
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
        let due = with_a_thread_due(&mut scene);
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

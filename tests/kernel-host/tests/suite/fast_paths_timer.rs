//! Fast paths of timer interrupts, and of waits beside threads that are due.

use crate::fast_paths::{Scene, with_a_thread_due, words};
use abi::Method;
use host_machine::{Budget, Machine, Spec, State, Task};

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
    (scene
        .machine
        .configure(server.context, Budget::new(40, 5000)))
    .unwrap();
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

/// Without a reply object the client stops.
#[test]
fn the_end_of_a_budget_with_a_handler_that_cannot_reply_is_not_short() {
    let mut scene = with_a_timeout_handler(9, true);
    let (client, server, endpoint) = (scene.client, scene.server, scene.endpoint);
    scene.machine.send(client, endpoint, &words(0));
    scene.machine.wait(server, endpoint);
    assert!(scene.machine.runs(client));
    assert!(!scene.is_fast(|scene| scene.machine.advance(100)));
    assert!(scene.machine.runs(server));
    assert_eq!(scene.machine.state(client), State::Inactive);
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

/// The due thread comes before one of lower priority, and before one of the same priority that became ready after its
/// release.
#[test]
fn a_waiting_thread_lets_no_ready_thread_overtake_a_due_one() {
    for (ready, due) in [(3, 4), (5, 5)] {
        let mut scene = Scene::new(ready, true);
        let (client, server, notification) = (scene.client, scene.server, scene.notification);
        let due = with_a_thread_due(&mut scene, due);
        scene.machine.send(client, scene.endpoint, &words(0));
        assert!(scene.machine.runs(client));
        assert_eq!(scene.machine.state(server), State::Runnable);
        assert!(!scene.is_fast(|scene| scene.machine.wait(client, notification)));
        assert!(scene.machine.runs(due));
    }
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

type End = fn(&mut Machine, Task);

/// The budget of a thread, and the end of its first job. Each breaks one condition of its release.
const RELEASES: [(&str, Budget, End); 3] = [
    ("a thread that restarts", PERIODIC, |machine, _| {
        machine.advance(100);
    }),
    ("an idling context", PERIODIC.idling(), |machine, thread| {
        machine.yield_now(thread);
    }),
    ("a criticality", PERIODIC, |machine, thread| {
        machine.yield_now(thread);
        machine.set_criticality(thread, 1);
    }),
];

const PERIODIC: Budget = Budget::new(100, 1000);

#[test]
fn releases_with_one_unusual_condition_are_not_short() {
    for (condition, budget, end) in RELEASES {
        let mut scene = Scene::new(3, true);
        let spec = Spec::new("periodic", 9).budget(budget);
        let periodic = scene.machine.spawn(spec);
        assert!(scene.machine.runs(periodic), "{condition}");
        end(&mut scene.machine, periodic);
        assert!(scene.machine.runs(scene.client), "{condition}");
        let rest = 1000 - scene.machine.now();
        let is_short = scene.is_fast(|scene| scene.machine.advance(rest));
        assert!(!is_short, "{condition}");
        assert!(scene.machine.runs(periodic), "{condition}");
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

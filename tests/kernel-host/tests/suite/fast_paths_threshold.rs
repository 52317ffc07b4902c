//! Fast paths through endpoints with a threshold.

use crate::fast_paths::{Scene, words};
use abi::{Method, endpoint_flags};
use host_machine::{Budget, Spec};

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
fn budgets_are_not_told_by_fast_paths() {
    let mut scene = behind_a_threshold(false, [30, endpoint_flags::TELL_BUDGET]);
    assert!(!scene.call(&words(0)));
    assert!(scene.machine.runs(scene.server));
}

/// Every threshold requires that senders donate.
#[test]
fn a_call_that_must_donate_is_short() {
    let mut scene = behind_a_threshold(false, [0, endpoint_flags::DONATION_REQUIRED]);
    assert!(scene.call(&words(0)));
    assert!(scene.machine.runs(scene.server));
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

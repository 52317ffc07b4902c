//! Events while a sender is deferred for an endpoint's threshold.

use abi::{ErrorCode, Method, Rights, slots};
use host_machine::{Budget, Spec, State};
use kernel::arch::Irq;

use crate::common::word;
use crate::thresholds::{BUDGET, Scene, set_threshold};

#[test]
fn the_deferred_are_asked_again_by_the_threshold_of_then() {
    let deferred = |threshold| {
        let mut scene = Scene::new(100, 0, BUDGET).used(150);
        scene.call();
        assert_eq!(scene.machine.running(), "none");
        set_threshold(&mut scene.machine, scene.endpoint, threshold, 0).unwrap();
        scene
            .machine
            .advance_until(|machine| machine.running() != "none");
        scene
    };
    deferred(1000).assert_refused(ErrorCode::BudgetTooSmall, &[1020, 200]);
    for threshold in [0, 50, 100] {
        deferred(threshold).assert_served();
    }
}

#[test]
fn the_deferred_can_be_stopped_and_their_endpoint_deleted() {
    let mut scene = Scene::new(100, 0, BUDGET).used(150);
    scene.call();
    scene.machine.suspend(scene.client);
    scene.machine.advance(2000);
    assert_eq!(scene.machine.state(scene.client), State::Inactive);
    scene.machine.resume(scene.client);
    scene.assert_served();

    let mut scene = Scene::new(100, 0, BUDGET).used(150);
    scene.call();
    scene.machine.delete(scene.endpoint);
    scene
        .machine
        .advance_until(|machine| machine.running() != "none");
    // The endpoint no longer exists at the retry.
    assert!(scene.machine.runs(scene.client));
    let answer = scene.machine.received(scene.client);
    assert_eq!(answer.label, ErrorCode::InvalidCapability as usize);

    let mut scene = Scene::new(100, 0, BUDGET).used(150);
    scene.call();
    scene.machine.delete(scene.client.context);
    scene.machine.advance(2000);
    assert_eq!(scene.machine.running(), "none");
    assert_eq!(scene.machine.state(scene.server), State::Receiving);

    // A thread that gets the context of a deleted, deferred sender is not deferred itself.
    let mut scene = Scene::new(100, 0, BUDGET).used(150);
    scene.call();
    scene.machine.delete(scene.client.tcb);
    let context = scene.client.context;
    scene.client = scene.machine.spawn(Spec::new("heir", 10));
    scene.machine.bind(context, scene.client.tcb).unwrap();
    scene
        .machine
        .advance_until(|machine| machine.running() != "none");
    assert!(scene.machine.runs(scene.client));
    assert_eq!(scene.machine.state(scene.server), State::Receiving);
    scene.call();
    assert_eq!(scene.machine.received(scene.server).words, [7]);
}

#[test]
fn the_deferred_may_lose_their_capability() {
    let mut scene = Scene::new(100, 0, BUDGET).used(150);
    let badged = scene.machine.mint(scene.endpoint, Rights::ALL, 5);
    scene.machine.call(scene.client, badged, &word(7));
    assert_eq!(scene.machine.running(), "none");
    scene
        .machine
        .in_root(Method::CNodeRevoke, scene.endpoint, &[])
        .unwrap();
    scene
        .machine
        .advance_until(|machine| machine.running() != "none");
    assert!(scene.machine.runs(scene.client));
    let answer = scene.machine.received(scene.client);
    assert_eq!(answer.label, ErrorCode::InvalidCapability as usize);
    // The endpoint still exists and accepts other calls.
    scene.machine.advance(2000);
    scene.call();
    scene.assert_served();
}

#[test]
fn a_context_reconfigured_in_the_middle_of_a_deferral_is_asked_again() {
    let reconfigured = |budget| {
        let mut scene = Scene::new(100, 0, BUDGET).used(150);
        scene.call();
        let context = scene.client.context;
        let machine = &mut scene.machine;
        machine
            .configure(context, Budget::new(budget, 500))
            .unwrap();
        machine.advance_until(|machine| machine.running() != "none");
        scene
    };
    reconfigured(110).assert_refused(ErrorCode::BudgetTooSmall, &[120, 110]);
    reconfigured(400).assert_served();
}

/// An interrupt preempts the second try of a deferred sender. The third one is judged like the second.
#[test]
fn a_second_try_that_is_preempted_is_still_one() {
    const RADIX: usize = 4;
    const ITSELF: usize = (1 << RADIX) - 1;
    const ENDPOINT: usize = 1;
    // What the sender uses between its release and the second try.
    for (used, served) in [(10, true), (30, false)] {
        let mut scene = Scene::new(100, 0, Budget::new(120, 1000)).used(50);
        let (endpoint, client, machine) = (scene.endpoint, scene.client, &mut scene.machine);
        // A capability space of many levels: a lookup in it has preemption points.
        let space = machine.cnode(RADIX);
        machine.copy_into(endpoint, space, ENDPOINT, RADIX).unwrap();
        machine.copy_into(space, space, ITSELF, RADIX).unwrap();
        let caps = [0, space, slots::INIT_THREAD_VSPACE];
        machine
            .tcb(client, Method::TcbSetSpace, &[0, 0], &caps)
            .unwrap();
        scene.endpoint = usize::MAX << RADIX | ENDPOINT;
        scene.call();
        assert_eq!(scene.machine.running(), "none");
        scene.machine.divert(client);
        scene.machine.advance_until(|machine| machine.runs(client));
        scene.machine.advance(used);
        scene.machine.kernel.arch.ambush = Some((0, Irq(0)));
        scene.call();
        scene.machine.kernel.arch.ambush = None;
        assert!(scene.machine.runs(scene.machine.root), "it was preempted");
        scene.machine.rest();
        if served {
            scene.assert_served();
        } else {
            assert_eq!(scene.machine.running(), "none");
        }
    }
}

/// What a deferred sender uses between its release and its second try is forgiven as long as it can be the
/// way out of the kernel and back, whether it was preempted on the way or not.
#[test]
fn the_deferred_have_no_time_to_waste_before_they_ask_again() {
    for preempted in [false, true] {
        for (way, served) in [(0, true), (1, true), (20, true), (21, false), (150, false)] {
            let mut scene = Scene::new(100, 0, Budget::new(120, 1000)).used(50);
            scene.call();
            assert_eq!(scene.machine.running(), "none");
            scene.machine.divert(scene.client);
            let client = scene.client;
            scene.machine.advance_until(|machine| machine.runs(client));
            scene.machine.advance(way);
            if preempted {
                let hog = scene.machine.spawn(Spec::new("hog", 30).active());
                scene.machine.advance(10);
                scene.machine.suspend(hog);
            }
            if !scene.machine.runs(client) {
                assert!(way > 100, "nothing is left of the merged replenishments");
                continue;
            }
            scene.call();
            if served {
                scene.assert_served();
                // The budget of the threshold is available in any case.
                scene.machine.advance(99);
                scene.assert_served();
            } else {
                assert_eq!(scene.machine.running(), "none");
                assert_eq!(scene.machine.state(scene.server), State::Receiving);
            }
        }
    }
}

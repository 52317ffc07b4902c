//! Servers can neither lift a limit nor keep the context: any end of a call with a limit returns the
//! context.

use abi::endpoint_flags::LIMIT;
use abi::{ErrorCode, Method};
use host_machine::{Budget, Spec, State, Task};
use kernel::object::Fault;

use crate::common::word;
use crate::limits::Scene;
use crate::thresholds::set_threshold;

/// The client, and each server but the last, has called the next one.
pub fn chain(limits: &[usize]) -> Scene {
    let mut scene = Scene::new(limits);
    scene.call();
    for index in 1..limits.len() {
        scene.call_next(index - 1);
    }
    assert!(scene.machine.runs(scene.servers[limits.len() - 1]));
    scene
}

impl Scene {
    fn suspend(&mut self, index: usize) {
        self.machine.suspend(self.servers[index]);
    }

    /// Checks how much of its budget of 1000 the client gets back.
    fn assert_left(&self, least: u64) {
        let refills = self.machine.refills(self.client.context);
        let now = refills.iter().filter(|refill| refill.0 <= self.now());
        let left: u64 = now.map(|refill| refill.1).sum();
        assert!(left >= least, "{refills:?}");
    }

    /// The server does not run and has no context.
    fn assert_without_time(&self, server: Task) {
        assert!(self.machine.is_passive(server));
        assert!(!self.machine.runs(server));
    }
}

#[test]
fn a_server_that_drops_out_leaves_the_limit_of_its_caller() {
    let mut scene = chain(&[100, 50]);
    scene.machine.advance(10);
    scene.suspend(0);
    assert!(scene.machine.runs(scene.servers[1]));
    assert_eq!(scene.machine.state(scene.client), State::Calling);
    scene.machine.advance(89);
    assert!(scene.machine.runs(scene.servers[1]));
    scene.machine.advance(1);
    scene.handle();
    scene.assert_limited(scene.client);
    scene.assert_left(900);

    // The same in the middle of a longer chain.
    let mut scene = chain(&[500, 300, 100]);
    scene.machine.advance(10);
    scene.suspend(0);
    assert!(scene.machine.runs(scene.servers[2]));
    scene.machine.advance(90);
    scene.handle();
    scene.assert_limited(scene.servers[1]);
    scene.machine.advance(399);
    assert!(scene.machine.runs(scene.servers[1]));
    scene.machine.advance(1);
    scene.handle();
    scene.assert_limited(scene.client);
    scene.assert_left(500);
}

#[test]
fn the_answer_to_a_server_that_dropped_out_is_not_for_its_caller() {
    for limits in [&[100, 50][..], &[500, 300, 100]] {
        let mut scene = chain(limits);
        scene.suspend(0);
        for index in (1..limits.len()).rev() {
            scene.answer(index);
        }
        scene.assert_limited(scene.client);
        assert_eq!(scene.machine.received(scene.client).words, []);
        assert_eq!(scene.machine.state(scene.servers[1]), State::Receiving);
        scene.assert_without_time(scene.servers[1]);
    }
}

#[test]
fn all_servers_between_may_drop_out() {
    for order in [[0, 1], [1, 0]] {
        let mut scene = chain(&[500, 300, 100]);
        for index in order {
            scene.suspend(index);
        }
        scene.machine.advance(499);
        assert!(scene.machine.runs(scene.servers[2]));
        scene.machine.advance(1);
        scene.handle();
        scene.assert_limited(scene.client);
        scene.assert_left(500);
        assert_eq!(scene.machine.state(scene.servers[0]), State::Inactive);
        assert_eq!(scene.machine.state(scene.servers[1]), State::Inactive);
    }
}

/// Calls without a limit behave as in the ABI: the chain is cut, and the caller stays blocked.
#[test]
fn without_a_lender_the_time_goes_back_to_its_owner() {
    let mut scene = chain(&[0, 100]);
    scene.suspend(0);
    scene.machine.advance(99);
    assert!(scene.machine.runs(scene.servers[1]));
    scene.machine.advance(1);
    scene.handle();
    scene.assert_without_time(scene.servers[1]);
    assert_eq!(scene.machine.holder(scene.client.context), "client");
    assert_eq!(scene.machine.state(scene.client), State::Calling);
    scene.assert_left(900);
}

#[test]
fn a_client_that_drops_out_does_not_lift_its_limit() {
    for resumed in [false, true] {
        for finishes in [false, true] {
            let mut scene = chain(&[400, 100]);
            scene.machine.suspend(scene.client);
            if resumed {
                scene.machine.resume(scene.client);
            }
            scene.answer(1);
            assert!(scene.machine.runs(scene.servers[0]));
            scene.machine.advance(399);
            assert!(scene.machine.runs(scene.servers[0]));
            if finishes {
                // A server that waits at an endpoint with a limit returns a borrowed context.
                scene.answer(0);
            } else {
                scene.machine.advance(1);
                scene.handle();
            }
            // When resumed, the client repeats its call.
            let again = resumed && finishes;
            assert_eq!(scene.machine.runs(scene.servers[0]), again);
            if !resumed {
                scene.assert_without_time(scene.servers[0]);
                assert_eq!(scene.machine.holder(scene.client.context), "client");
                assert_eq!(scene.machine.running(), "none");
            }
        }
    }
}

#[test]
fn a_reply_object_is_not_reused_at_the_expense_of_the_client() {
    let mut scene = chain(&[100]);
    let other = scene.machine.endpoint();
    scene.machine.advance(1);
    scene
        .machine
        .nb_recv(scene.servers[0], other, scene.replies[0]);
    scene.assert_limited(scene.client);
    scene.assert_left(999);
    scene.assert_without_time(scene.servers[0]);

    let mut scene = chain(&[100]);
    let other = scene.machine.endpoint();
    scene
        .machine
        .recv(scene.servers[0], other, scene.replies[0]);
    scene.assert_limited(scene.client);
    assert_eq!(scene.machine.state(scene.servers[0]), State::Receiving);

    // Another thread uses it while the server is preempted.
    let mut scene = chain(&[100]);
    let other = scene.machine.endpoint();
    let thief = scene.machine.spawn(Spec::new("thief", 25).active());
    scene.machine.recv(thief, other, scene.replies[0]);
    scene.assert_limited(scene.client);
    scene.assert_without_time(scene.servers[0]);
}

#[test]
fn a_reply_object_is_not_deleted_at_the_expense_of_the_client() {
    let mut scene = chain(&[100]);
    scene.machine.delete(scene.replies[0]);
    scene.assert_limited(scene.client);
    scene.assert_left(1000);
    scene.assert_without_time(scene.servers[0]);

    let mut scene = chain(&[500, 100]);
    scene.machine.delete(scene.replies[1]);
    scene.assert_limited(scene.servers[0]);

    // Without a limit, the ABI's rule applies.
    let mut scene = chain(&[0]);
    scene.machine.delete(scene.replies[0]);
    assert_eq!(scene.machine.state(scene.client), State::Inactive);
}

/// The end of an outer call does not stop the inner server: the client waits until the inner call
/// ends.
#[test]
fn an_outer_call_ends_when_the_time_comes_back() {
    let end = |scene: &mut Scene, how: usize| match how {
        0 => scene.machine.delete(scene.replies[0]),
        1 => {
            let endpoint = scene.machine.endpoint();
            let thief = scene.machine.spawn(Spec::new("thief", 25).active());
            scene.machine.recv(thief, endpoint, scene.replies[0]);
        }
        _ => {
            let other = scene.machine.spawn(Spec::new("other", 25).active());
            scene.machine.send(other, scene.replies[0], &word(9));
            scene.machine.suspend(other);
        }
    };
    for how in 0..3 {
        for finishes in [false, true] {
            let mut scene = chain(&[500, 100]);
            end(&mut scene, how);
            assert!(scene.machine.runs(scene.servers[1]));
            assert_eq!(scene.machine.state(scene.client), State::Calling);
            let told = scene.machine.received(scene.servers[0]).label;
            assert_eq!(told, ErrorCode::LimitReached as usize);
            scene.assert_without_time(scene.servers[0]);
            if finishes {
                scene.answer(1);
            } else {
                scene.machine.advance(500);
                scene.handle();
            }
            scene.assert_limited(scene.client);
        }
    }
}

#[test]
fn a_fault_is_raised_again_when_its_handler_drops_out() {
    let mut scene = Scene::new(&[100, 50]);
    let fault = Fault::UserException { number: 1, code: 2 };
    let client = scene.client;
    scene
        .machine
        .tcb(
            client,
            Method::TcbSetSpace,
            &[0, 0],
            &[scene.endpoints[0], 2, 3],
        )
        .unwrap();
    scene.machine.fault(client, fault);
    scene.call_next(0);
    scene.suspend(0);
    scene.answer(1);
    assert!(scene.machine.runs(client));
    assert_eq!(scene.machine.holder(client.context), "client");
}

#[test]
fn yield_costs_no_more_than_the_limit() {
    for budget in [Budget::new(1000, 10_000), Budget::slice(1000)] {
        let budget = budget.badge(77);
        let mut scene = Scene::new(&[100]);
        scene
            .machine
            .configure(scene.client.context, budget)
            .unwrap();
        scene.call();
        scene.machine.advance(30);
        scene.machine.yield_now(scene.servers[0]);
        scene.handle();
        // The limit counts as used: the client's context continues after that.
        scene.machine.advance(70);
        scene.assert_limited(scene.client);
        scene.assert_left(900);
    }
}

/// The reply to the timeout lets the server continue after its Yield.
#[test]
fn yield_is_over_when_the_limit_is_reached() {
    let mut scene = chain(&[100]);
    let server = scene.servers[0];
    scene
        .machine
        .tcb(server, Method::TcbSetTimeoutEndpoint, &[], &[0])
        .unwrap();
    scene.machine.yield_now(server);
    scene.machine.advance(100);
    scene.assert_limited(scene.client);
    let context = scene.machine.new_context(Budget::new(500, 10_000));
    scene.machine.bind(context, server.tcb).unwrap();
    assert!(scene.machine.runs(server));
    scene.machine.advance(400);
    assert!(scene.machine.runs(server));
}

#[test]
fn yield_until_budget_does_not_merge_what_was_lent() {
    let mut scene = Scene::new(&[100]);
    scene.machine.advance(850);
    scene.call();
    let (server, context) = (scene.servers[0], scene.client.context);
    let before = scene.machine.refills(context);
    scene.machine.yield_until_budget(server, 100);
    assert!(scene.machine.runs(server));
    assert_eq!(scene.machine.received(server).label, 0);
    assert_eq!(scene.machine.refills(context), before);
    // The operator also reduces the budget: 60 of 200 are left, and 40 of the limit.
    scene.machine.advance(60);
    let less = Budget::new(200, 10_000).badge(77);
    scene.machine.configure(context, less).unwrap();
    let before = scene.machine.refills(context);
    scene.machine.yield_until_budget(server, 100);
    assert!(scene.machine.runs(server));
    let answer = scene.machine.received(server);
    assert_eq!(answer.label, ErrorCode::BudgetTooSmall as usize);
    assert_eq!(scene.machine.refills(context), before);
}

/// A caller that got another context does not take its old context back, but the limit holds.
#[test]
fn a_caller_with_other_time_leaves_no_time_without_limit() {
    let mut scene = chain(&[100]);
    let other = scene.machine.new_context(Budget::new(500, 10_000));
    scene.machine.bind(other, scene.client.tcb).unwrap();
    scene
        .machine
        .recv(scene.servers[0], scene.endpoints[0], scene.replies[0]);
    assert!(scene.machine.is_passive(scene.servers[0]));

    let mut scene = chain(&[100]);
    let other = scene.machine.new_context(Budget::new(500, 10_000));
    scene.machine.bind(other, scene.client.tcb).unwrap();
    scene.machine.advance(100);
    scene.handle();
    scene.assert_without_time(scene.servers[0]);
    assert!(scene.machine.runs(scene.client));
    assert_eq!(scene.machine.holder(scene.client.context), "none");
}

/// A server in the middle that got another context does not cut off the way back: the context returns to the
/// client, whose own call has no limit and goes on.
#[test]
fn a_server_with_other_time_passes_the_context_on_to_its_caller() {
    let mut scene = chain(&[0, 100]);
    let (client, middle, last) = (scene.client, scene.servers[0], scene.servers[1]);
    let other = scene.machine.new_context(Budget::new(500, 10_000));
    scene.machine.bind(other, middle.tcb).unwrap();
    scene.answer(1);
    scene.assert_without_time(last);
    assert_eq!(scene.machine.holder(client.context), "client");
    assert_eq!(scene.machine.state(client), State::Calling);
    assert!(scene.machine.runs(middle));
    // More than the limit: it ended with the call.
    scene.machine.advance(200);
    assert!(scene.machine.runs(middle));
    scene.answer(0);
    assert!(scene.machine.runs(client));
    assert_eq!(scene.machine.received(client).words, [8]);
    scene.machine.advance(200);
    assert!(scene.machine.runs(client));
}

/// The same if the limit is reached instead of a reply.
#[test]
fn a_reached_limit_passes_the_context_on_to_the_outer_caller() {
    let mut scene = chain(&[0, 100]);
    let (client, middle, last) = (scene.client, scene.servers[0], scene.servers[1]);
    let other = scene.machine.new_context(Budget::new(500, 10_000));
    scene.machine.bind(other, middle.tcb).unwrap();
    scene.machine.advance(100);
    scene.handle();
    scene.assert_without_time(last);
    assert_eq!(scene.machine.holder(client.context), "client");
    assert_eq!(scene.machine.state(client), State::Calling);
    assert!(scene.machine.runs(middle));
    let answer = scene.machine.received(middle);
    assert_eq!(answer.label, ErrorCode::LimitReached as usize);
}

/// Removing or raising a threshold while a limited caller waits does not lift the limit.
#[test]
fn an_endpoint_that_changes_does_not_lift_the_outer_limit() {
    for changed in [(0, 0), (900, LIMIT)] {
        let mut scene = Scene::new(&[300, 100]);
        let (client, second) = (scene.client, scene.servers[1]);
        scene.machine.suspend(client);
        // The second server is busy first.
        let early = scene.machine.spawn(Spec::new("early", 9).active());
        scene.machine.call(early, scene.endpoints[1], &word(1));
        for task in [client, scene.servers[0]] {
            scene.machine.set_priority(task, 25);
        }
        scene.machine.resume(client);
        scene.call();
        scene.call_next(0);
        assert!(scene.machine.runs(second), "{}", scene.machine.running());
        set_threshold(&mut scene.machine, scene.endpoints[1], changed.0, changed.1).unwrap();
        scene.answer(1);
        assert!(scene.machine.runs(second), "{}", scene.machine.running());
        scene.machine.advance(299);
        assert!(scene.machine.runs(second));
        scene.machine.advance(1);
        // Both calls are ended, one after the other.
        scene.handle();
        scene.handle();
        scene.assert_limited(client);
    }
}

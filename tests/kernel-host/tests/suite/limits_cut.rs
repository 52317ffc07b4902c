//! Deletion or reuse of reply objects of calls with limits: they track no call any more, whatever
//! contexts their callers have got or lost in the meantime.

use abi::{ErrorCode, Method};
use host_machine::{Message, Spec, State};

use crate::limits::Scene;
use crate::limits_kept::chain;

/// How a reply object loses its call.
#[derive(Clone, Copy)]
enum End {
    Deleted,
    Reused,
}

impl Scene {
    fn end(&mut self, index: usize, how: End) {
        let reply = self.replies[index];
        match how {
            End::Deleted => self.machine.delete(reply),
            End::Reused => {
                let endpoint = self.machine.endpoint();
                let other = self.machine.spawn(Spec::new("other", 25).active());
                self.machine.recv(other, endpoint, reply);
                assert_eq!(self.machine.state(other), State::Receiving);
            }
        }
    }

    /// All threads can be suspended, one after the other: none refers to the lost reply object.
    fn stop_all(&mut self) {
        self.machine.suspend(self.client);
        for server in self.servers.clone() {
            self.machine.suspend(server);
        }
    }

    fn unbind_client(&mut self) {
        let context = self.client.context;
        self.machine
            .invoke(context, Method::SchedContextUnbind, &[], &[])
            .unwrap();
    }
}

#[test]
fn a_caller_with_other_time_leaves_nothing_behind() {
    for how in [End::Deleted, End::Reused] {
        let mut scene = chain(&[500, 100]);
        let other = scene
            .machine
            .spawn(Spec::new("lender", 5).active().suspended());
        let unbind = Method::SchedContextUnbind;
        scene
            .machine
            .invoke(other.context, unbind, &[], &[])
            .unwrap();
        let server = scene.servers[0];
        scene.machine.bind(other.context, server.tcb).unwrap();
        scene.end(1, how);
        // The client still waits for the first server, which continues on the context that it got;
        // the client's context has returned to the client.
        assert_eq!(scene.machine.state(scene.client), State::Calling);
        assert_eq!(scene.machine.holder(scene.client.context), "client");
        assert_eq!(scene.machine.state(server), State::Runnable);
        scene.machine.advance(500);
        assert!(!scene.machine.runs(scene.servers[1]));
        scene.stop_all();
    }
}

#[test]
fn a_stack_without_context_can_be_taken_apart() {
    for how in [End::Deleted, End::Reused] {
        let mut scene = chain(&[500, 300, 100]);
        scene.unbind_client();
        scene.end(1, how);
        assert_eq!(scene.machine.state(scene.client), State::Calling);
        scene.stop_all();
    }
}

/// Only the innermost call has lost its limit, with the context: the other ones fail when their reply
/// objects go away, wherever they are.
#[test]
fn calls_of_a_stack_without_context_fail_alike() {
    for how in [End::Deleted, End::Reused] {
        for index in 0..2 {
            let mut scene = chain(&[500, 300, 100]);
            scene.unbind_client();
            scene.end(index, how);
            let told = scene.machine.received(scene.servers[index]).label;
            assert_eq!(told, ErrorCode::LimitReached as usize);
            scene.stop_all();
        }
    }
}

#[test]
fn longer_stacks_without_context_can_be_taken_apart() {
    for how in [End::Deleted, End::Reused] {
        let mut scene = chain(&[600, 500, 300, 100]);
        scene.unbind_client();
        scene.end(1, how);
        scene.stop_all();
    }
    let mut scene = chain(&[500, 300, 100]);
    scene.unbind_client();
    scene.machine.suspend(scene.servers[0]);
    scene.stop_all();
}

/// On the fast path of its reply.
#[test]
fn a_reply_to_a_call_that_was_cut_off_ends_its_outer_limit() {
    let mut scene = Scene::new(&[500, 100]);
    scene.call();
    // The limit of 500 stays in force.
    scene.machine.suspend(scene.client);
    scene.call_next(0);
    scene.unbind_client();
    for server in scene.servers.clone() {
        let machine = &mut scene.machine;
        let lender = machine.spawn(Spec::new("lender", 5).active().suspended());
        let unbind = Method::SchedContextUnbind;
        machine.invoke(lender.context, unbind, &[], &[]).unwrap();
        machine.bind(lender.context, server.tcb).unwrap();
    }
    let (inner, outer) = (scene.servers[1], scene.servers[0]);
    assert!(scene.machine.runs(inner));
    let before = scene.machine.kernel.instruments.watch.fast_paths;
    // Without a threshold.
    let (endpoint, reply) = (scene.machine.endpoint(), scene.replies[1]);
    scene
        .machine
        .reply_recv(inner, endpoint, reply, &Message::default());
    assert!(scene.machine.runs(outer));
    assert!(scene.machine.kernel.instruments.watch.fast_paths > before);
}

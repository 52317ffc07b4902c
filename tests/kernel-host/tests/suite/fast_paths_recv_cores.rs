//! Fast paths of Recv, and of replies by Send, with several cores: eligible only if this core owns all objects.

use abi::Method;
use host_machine::{Budget, Machine, Spec, Task};

use crate::common::word;
use crate::cores_late::wait_at_calls;
use crate::fast_paths::Scene;

fn scene() -> Scene {
    let mut scene = Scene::of(Machine::with_cores(2), 9, true);
    assert!(scene.call(&word(1)));
    scene
}

impl Scene {
    /// A thread of a core does something, and stops.
    fn once_beside(&mut self, core: usize, act: impl FnOnce(&mut Machine, Task)) {
        let other = self.machine.spawn_on(core, Spec::new("other", 30).active());
        self.machine.on(core, |machine| act(machine, other));
        self.machine.suspend(other);
    }
}

type Own = fn(&mut Scene, usize);

/// Make a core the owner of one of the objects of Recv each.
const RECVS: [(&str, Own); 3] = [
    ("the endpoint", |scene, core| {
        let (endpoint, reply) = (scene.machine.endpoint(), scene.machine.reply());
        scene.once_beside(core, |machine, other| {
            machine.nb_recv(other, endpoint, reply);
        });
        scene.endpoint = endpoint;
    }),
    ("the reply object", |scene, core| {
        let (endpoint, reply) = (scene.machine.endpoint(), scene.machine.reply());
        scene.once_beside(core, |machine, other| machine.recv(other, endpoint, reply));
        scene.reply = reply;
    }),
    ("the notification", |scene, core| {
        let bell = scene.machine.notification();
        scene.once_beside(core, |machine, other| {
            machine.signal(other, bell);
            machine.wait(other, bell);
        });
        let bind = Method::TcbBindNotification;
        (scene.machine.tcb(scene.server, bind, &[], &[bell])).unwrap();
    }),
];

#[test]
fn a_recv_with_an_object_of_another_core_is_not_short() {
    for (object, own) in RECVS {
        for core in [0, 1] {
            let mut scene = scene();
            assert!(scene.reply(0));
            own(&mut scene, core);
            assert!(scene.machine.runs(scene.server), "{object} of {core}");
            assert_eq!(scene.recv(), core == 0, "{object} of {core}");
        }
    }
}

/// Make a core the owner of one of the objects of a reply each; the server runs.
const REPLIES: [(&str, Own); 2] = [
    ("the caller", |scene, core| {
        let caller = scene
            .machine
            .spawn_on(core, Spec::new("caller", 5).active());
        let endpoint = scene.machine.endpoint();
        scene.reply = scene.machine.reply();
        scene.machine.recv(scene.server, endpoint, scene.reply);
        (scene.machine).on(core, |machine| machine.call(caller, endpoint, &word(1)));
        scene.machine.advance(0);
    }),
    ("the reply object", |scene, core| {
        let (server, client) = (scene.server, scene.client);
        let endpoint = scene.machine.endpoint();
        let reply = scene.machine.reply();
        let long = Budget::slice(100_000);
        let machine = &mut scene.machine;
        machine.send(server, scene.reply, &word(1));
        machine.configure_on(core, server.context, long).unwrap();
        machine.on(core, |machine| machine.recv(server, endpoint, reply));
        machine.call(client, endpoint, &word(1));
        machine.configure_on(0, server.context, long).unwrap();
        scene.reply = reply;
    }),
];

#[test]
fn a_reply_with_an_object_of_another_core_is_not_short() {
    for (object, own) in REPLIES {
        for core in [0, 1] {
            let mut scene = scene();
            own(&mut scene, core);
            assert!(scene.machine.runs(scene.server), "{object} of {core}");
            assert_eq!(scene.reply(0), core == 0, "{object} of {core}");
        }
    }
}

/// A caller whose core has waited for the entry lock waits for the reply without budget.
#[test]
fn a_reply_to_a_call_that_came_late_is_not_short() {
    for is_late in [false, true] {
        for by_send in [true, false] {
            let mut scene = Scene::of(Machine::with_cores(2), 9, true);
            let (client, server) = (scene.client, scene.server);
            let (endpoint, reply) = (scene.endpoint, scene.reply);
            let budget = Budget::new(100, 1000);
            scene.machine.configure(client.context, budget).unwrap();
            if is_late {
                wait_at_calls(&mut scene.machine);
            }
            scene.machine.call(client, endpoint, &word(1));
            scene.machine.before_calls = None;
            assert!(scene.machine.runs(server));
            let is_short = match by_send {
                true => scene.reply(0),
                false => scene.is_fast(|scene| {
                    (scene.machine).reply_recv(server, endpoint, reply, &word(2));
                }),
            };
            assert_eq!(is_short, !is_late);
        }
    }
}

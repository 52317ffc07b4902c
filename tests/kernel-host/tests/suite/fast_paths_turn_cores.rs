//! Fast paths of a scheduler's turn with several cores: eligible only if this core owns all objects.

use host_machine::{Machine, Spec, Task};

use crate::common::word;
use crate::fast_paths_turn::{BUDGET, Scene, Turn};

impl Scene {
    /// A thread of a core, below the scheduler or above it.
    fn spawn_on(&mut self, core: usize, priority: u8) -> Task {
        let spec = Spec::new("other", priority).budget(BUDGET);
        self.machine.spawn_on(core, spec)
    }

    /// A thread of a core does something, and stops.
    fn once_on(&mut self, core: usize, act: impl FnOnce(&mut Machine, Task)) {
        let other = self.spawn_on(core, 30);
        self.machine.on(core, |machine| act(machine, other));
        self.machine.suspend(other);
    }
}

type Own = fn(&mut Scene, &mut Turn, usize);

/// Make a core the owner of one of the objects of a turn each.
const OWNED: [(&str, Own); 6] = [
    ("the context", |scene, turn, core| {
        let (other, inbox) = (scene.spawn_on(core, 10), scene.machine.reply());
        scene.machine.recv(scene.scheduler, scene.endpoint, inbox);
        let endpoint = scene.endpoint;
        scene
            .machine
            .on(core, |machine| machine.call(other, endpoint, &word(1)));
        (turn.context, turn.caps, turn.reply) = (other.context, vec![inbox], inbox);
    }),
    ("the reply object that is answered", |scene, turn, core| {
        let (other, scheduler) = (scene.spawn_on(0, 10), scene.scheduler);
        let (endpoint, inbox) = (scene.machine.endpoint(), scene.machine.reply());
        let long = host_machine::Budget::slice(10_000);
        let machine = &mut scene.machine;
        machine.configure_on(core, scheduler.context, long).unwrap();
        machine.on(core, |machine| machine.recv(scheduler, endpoint, inbox));
        machine.call(other, endpoint, &word(1));
        machine.configure_on(0, scheduler.context, long).unwrap();
        (turn.context, turn.caps) = (other.context, vec![inbox]);
        turn.reply = machine.reply();
    }),
    ("the context of the last turn", |scene, _, core| {
        let other = scene.spawn_on(core, 10);
        let instant = scene.machine.now() + 10;
        (scene.machine).yield_to_timeout(scene.scheduler, other.context, instant, None);
    }),
    ("the endpoint", |scene, turn, core| {
        let (endpoint, reply) = (scene.machine.endpoint(), scene.machine.reply());
        scene.once_on(core, |machine, other| {
            machine.nb_recv(other, endpoint, reply);
        });
        turn.source = endpoint;
    }),
    ("the reply object to receive with", |scene, turn, core| {
        let (endpoint, reply) = (scene.machine.endpoint(), scene.machine.reply());
        scene.once_on(core, |machine, other| {
            machine.recv(other, endpoint, reply);
        });
        turn.reply = reply;
    }),
    ("the notification of the scheduler", |scene, _, core| {
        let bell = scene.machine.notification();
        scene.once_on(core, |machine, other| {
            machine.signal(other, bell);
            machine.wait(other, bell);
        });
        scene.bind_to_scheduler(bell);
    }),
];

#[test]
fn turns_with_an_object_of_another_core_are_not_short() {
    for (object, own) in OWNED {
        for core in [0, 1] {
            let mut scene = Scene::of(Machine::with_cores(2), BUDGET);
            let mut turn = scene.turn(1000);
            own(&mut scene, &mut turn, core);
            assert!(scene.machine.runs(scene.scheduler), "{object} of {core}");
            let is_short = scene.is_fast(|scene| scene.take(&turn));
            assert_eq!(is_short, core == 0, "{object} of {core}");
        }
    }
}

/// A timer of a thread of another core.
#[test]
fn a_call_beside_a_timer_that_another_core_has_set_is_not_short() {
    for core in [0, 1] {
        let mut scene = Scene::of(Machine::with_cores(2), BUDGET);
        let (other, idle) = (scene.spawn_on(core, 30), scene.machine.endpoint());
        scene.machine.suspend(other);
        scene.answer();
        scene.receive();
        scene.machine.resume(other);
        let (thread, context) = (scene.threads[0], scene.threads[0].context);
        let instant = scene.machine.now() + 1000;
        scene.machine.on(core, |machine| {
            machine.yield_to_timeout(other, context, instant, None);
            machine.wait(other, idle);
        });
        assert!(scene.machine.runs(thread));
        assert_eq!(scene.call(), core == 0);
    }
}

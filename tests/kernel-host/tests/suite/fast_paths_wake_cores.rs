//! Fast paths that wake a thread, with several cores: eligible only if it waits for its event on this core.

use host_machine::{Budget, Machine, Spec};

use crate::cores_late::wait_at_calls;
use crate::fast_paths::{Scene, words};

#[test]
fn a_thread_that_waits_on_another_core_is_not_woken_by_a_fast_path() {
    for is_signal in [true, false] {
        for core in [0, 1] {
            let mut scene = Scene::of(Machine::with_cores(2), 9, true);
            let (bell, endpoint) = (scene.machine.notification(), scene.machine.endpoint());
            let (client, reply) = (scene.client, scene.machine.reply());
            let waiter = (scene.machine).spawn_on(core, Spec::new("waiter", 30).active());
            scene.machine.on(core, |machine| match is_signal {
                true => machine.wait(waiter, bell),
                false => machine.recv(waiter, endpoint, reply),
            });
            assert!(scene.machine.runs(client));
            let is_short = scene.is_fast(|scene| match is_signal {
                true => scene.machine.signal(client, bell),
                false => scene.machine.send(client, endpoint, &words(0)),
            });
            assert_eq!(is_short, core == 0);
            scene.machine.on(core, |machine| {
                machine.advance(0);
                assert!(machine.runs(waiter));
            });
        }
    }
}

/// A notification of another core, for which no thread waits.
#[test]
fn a_signal_to_a_notification_of_another_core_is_not_short() {
    for core in [0, 1] {
        let mut scene = Scene::of(Machine::with_cores(2), 9, true);
        let (client, bell) = (scene.client, scene.machine.notification());
        let other = (scene.machine).spawn_on(core, Spec::new("other", 30).active());
        scene.machine.on(core, |machine| {
            machine.signal(other, bell);
            machine.wait(other, bell);
        });
        scene.machine.suspend(other);
        assert!(scene.machine.runs(client));
        assert_eq!(
            scene.is_fast(|scene| scene.machine.signal(client, bell)),
            core == 0
        );
    }
}

/// A thread whose core has waited for the entry lock waits for its event without budget.
#[test]
fn a_thread_whose_wait_came_late_is_not_woken_by_a_fast_path() {
    for is_late in [false, true] {
        for is_signal in [true, false] {
            let mut scene = Scene::of(Machine::with_cores(2), 9, true);
            let (bell, endpoint) = (scene.machine.notification(), scene.machine.endpoint());
            let (client, reply) = (scene.client, scene.machine.reply());
            let spec = Spec::new("waiter", 30).budget(Budget::new(100, 1000));
            let waiter = scene.machine.spawn(spec);
            if is_late {
                wait_at_calls(&mut scene.machine);
            }
            match is_signal {
                true => scene.machine.wait(waiter, bell),
                false => scene.machine.recv(waiter, endpoint, reply),
            }
            scene.machine.before_calls = None;
            assert!(scene.machine.runs(client));
            let is_short = scene.is_fast(|scene| match is_signal {
                true => scene.machine.signal(client, bell),
                false => scene.machine.send(client, endpoint, &words(0)),
            });
            assert_eq!(is_short, !is_late);
            assert_eq!(scene.machine.runs(waiter), !is_late);
        }
    }
}

//! Fast paths that wake a thread with a context of its own, by a signal or a message, beside the current one. Each test
//! of a condition breaks only that one.

use abi::{Method, Rights};
use host_machine::{Budget, Spec};

use crate::common::{make_passive, server, waiter};
use crate::fast_paths::{Scene, words};

/// What wakes a thread.
#[derive(Clone, Copy, Debug)]
enum Event {
    Signal,
    Send,
}

const EVENTS: [Event; 2] = [Event::Signal, Event::Send];

/// A client, and a server with a context of its own that waits for an event.
fn scene(event: Event, priority: u8) -> Scene {
    let mut scene = Scene::new(priority, true);
    if let Event::Signal = event {
        let bell = scene.notification;
        scene.server = waiter(&mut scene.machine, "waiter", priority, bell);
    }
    assert!(scene.machine.runs(scene.client));
    scene
}

impl Scene {
    /// The client wakes the server.
    fn wake(&mut self, event: Event) -> bool {
        let client = self.client;
        self.is_fast(|scene| match event {
            Event::Signal => scene.machine.signal(client, scene.notification),
            Event::Send => scene.machine.send(client, scene.endpoint, &words(0)),
        })
    }

    /// The server waits for the next event.
    fn wait_again(&mut self, event: Event) {
        let server = self.server;
        match event {
            Event::Signal => self.machine.wait(server, self.notification),
            Event::Send => self.machine.recv(server, self.endpoint, self.reply),
        }
        assert!(self.machine.runs(self.client));
    }
}

/// A woken thread comes after ready ones of the client's priority, and before those of a lower one.
#[test]
fn a_woken_thread_has_the_same_place_by_both_paths() {
    for event in EVENTS {
        for (priority, is_short) in [(3, true), (3, false), (5, true), (5, false)] {
            let mut scene = scene(event, priority);
            let (client, server) = (scene.client, scene.server);
            let other = scene.machine.spawn(Spec::new("other", priority).active());
            if scene.machine.runs(other) {
                scene.machine.yield_now(other);
            }
            assert!(scene.machine.runs(client));
            scene.machine.kernel.arch.fast_paths = is_short;
            assert_eq!(scene.wake(event), is_short, "{event:?} {priority}");
            assert!(scene.machine.runs(client));
            scene.machine.suspend(client);
            let order = if priority == 5 {
                [other, server]
            } else {
                [server, other]
            };
            for task in order {
                assert!(scene.machine.runs(task), "{event:?} {priority} {is_short}");
                scene.machine.suspend(task);
            }
        }
    }
}

/// The client is at the front of its ready queue while a thread that it has woken runs.
#[test]
fn a_preempted_thread_has_the_same_place_by_both_paths() {
    for event in EVENTS {
        for is_short in [true, false] {
            let mut scene = scene(event, 9);
            let other = scene.machine.spawn(Spec::new("other", 5).active());
            if scene.machine.runs(other) {
                scene.machine.yield_now(other);
            }
            scene.machine.kernel.arch.fast_paths = is_short;
            assert_eq!(scene.wake(event), is_short, "{event:?}");
            assert!(scene.machine.runs(scene.server));
            scene.wait_again(event);
        }
    }
}

type Break = fn(&mut Scene);

/// The client has less than the smallest budget left.
fn use_budget(scene: &mut Scene) {
    let context = scene.client.context;
    (scene.machine.configure(context, Budget::new(100, 5000))).unwrap();
    scene.machine.advance(90);
}

/// A higher-priority thread is due at the client's system call, but the timer interrupt is late.
fn let_a_thread_be_due(scene: &mut Scene) {
    let spec = Spec::new("due", 12).budget(Budget::new(100, 1000));
    scene.machine.spawn(spec);
    scene.machine.advance(100);
    scene.machine.stall_before_call(2000);
}

/// Break one condition of both events each.
const ALWAYS: [(&str, Break); 5] = [
    ("no budget of the client", use_budget),
    ("no context of the server", |scene| {
        make_passive(&mut scene.machine, scene.server);
    }),
    ("an idling context", |scene| {
        let idling = Budget::new(1000, 10_000).idling();
        let context = scene.server.context;
        scene.machine.configure(context, idling).unwrap();
    }),
    ("a criticality", |scene| {
        let server = scene.server;
        scene.machine.set_criticality(server, 1);
    }),
    ("a due thread", let_a_thread_be_due),
];

#[test]
fn events_with_one_unusual_condition_are_not_short() {
    for event in EVENTS {
        for priority in [3, 5, 9] {
            for (condition, break_it) in ALWAYS {
                let mut scene = scene(event, priority);
                break_it(&mut scene);
                assert!(scene.machine.runs(scene.client), "{event:?}: {condition}");
                assert!(!scene.wake(event), "{event:?} {priority}: {condition}");
            }
        }
    }
}

fn assert_not_short(event: Event, cases: &[(&str, Break)]) {
    for (condition, break_it) in cases {
        let mut scene = scene(event, 9);
        break_it(&mut scene);
        assert!(scene.machine.runs(scene.client), "{condition}");
        assert!(!scene.wake(event), "{condition}");
    }
}

/// A timer that is set for the thread may end while it waits.
#[test]
fn a_thread_with_a_timer_is_not_woken_by_a_fast_path() {
    for event in EVENTS {
        let mut scene = scene(event, 9);
        let server = scene.server;
        assert!(scene.wake(event));
        let setter = scene.machine.spawn(Spec::new("setter", 20).active());
        let (idle, instant) = (scene.machine.notification(), scene.machine.now() + 1000);
        (scene.machine).yield_to_timeout(setter, server.context, instant, None);
        scene.machine.wait(setter, idle);
        assert!(scene.machine.runs(server));
        scene.wait_again(event);
        assert!(!scene.wake(event), "{event:?}");
        assert!(scene.machine.runs(server));
    }
}

/// Break one condition of a signal each.
const SIGNALS: [(&str, Break); 5] = [
    ("no right to signal", |scene| {
        scene.notification = scene.machine.mint(scene.notification, Rights::READ, 0);
    }),
    ("a bound thread that receives", |scene| {
        let (bell, endpoint) = (scene.machine.notification(), scene.machine.endpoint());
        let reply = scene.machine.reply();
        let bound = server(&mut scene.machine, "bound", 9, endpoint, reply);
        let bind = Method::TcbBindNotification;
        scene.machine.tcb(bound, bind, &[], &[bell]).unwrap();
        scene.notification = bell;
    }),
    (
        "no thread that waits, and a budget check at each entry",
        |scene| {
            scene.machine.kernel.arch.reads_clock_in_fast_paths = false;
            scene.notification = scene.machine.notification();
            let context = scene.client.context;
            let idling = Budget::new(1000, 10_000).idling();
            scene.machine.configure(context, idling).unwrap();
        },
    ),
    ("no thread that waits, and no budget", |scene| {
        scene.notification = scene.machine.notification();
        use_budget(scene);
    }),
    ("no thread that waits, and a due thread", |scene| {
        scene.notification = scene.machine.notification();
        let_a_thread_be_due(scene);
    }),
];

#[test]
fn signals_with_one_unusual_condition_are_not_short() {
    assert_not_short(Event::Signal, &SIGNALS);
}

/// Break one condition of a Send each.
const SENDS: [(&str, Break); 2] = [
    ("no right to send", |scene| {
        scene.endpoint = scene.machine.mint(scene.endpoint, Rights::READ, 0);
    }),
    ("no receiver", |scene| {
        scene.endpoint = scene.machine.endpoint();
    }),
];

#[test]
fn sends_with_one_unusual_condition_are_not_short() {
    assert_not_short(Event::Send, &SENDS);
}

/// Unused budget of a sporadic context counts from the time at which its thread wakes up, of another one from the time at
/// which it runs. A replenishment that is due when the first one ends, or before, is merged into it.
#[test]
fn both_paths_let_unused_budget_count_from_the_same_time() {
    const PERIOD: u64 = 1000;
    // The first replenishment holds 60 ticks, and the second one comes 1000 after the first run.
    for (wait, is_merged) in [(500, false), (939, false), (940, true), (1500, true)] {
        for (is_sporadic, priority) in [(true, 9), (true, 3), (false, 9), (false, 3)] {
            for is_short in [true, false] {
                let case = format!("{wait} {is_sporadic} {priority} {is_short}");
                let mut scene = scene(Event::Send, 9);
                let server = scene.server;
                let budget = Budget::new(100, PERIOD);
                let budget = if is_sporadic {
                    budget.sporadic()
                } else {
                    budget
                };
                scene.machine.configure(server.context, budget).unwrap();
                assert!(scene.wake(Event::Send));
                let start = scene.machine.now();
                scene.machine.advance(40);
                scene.wait_again(Event::Send);
                let rest = [(start + 40, 60), (start + PERIOD, 40)];
                assert_eq!(scene.machine.refills(server.context), rest);
                scene.machine.set_priority(server, priority);
                scene.machine.advance(wait - 40);
                scene.machine.kernel.arch.fast_paths = is_short;
                assert_eq!(scene.wake(Event::Send), is_short, "{case}");
                let expected = match (is_sporadic || priority > 5, is_merged) {
                    (true, true) => vec![(start + wait, 100)],
                    (true, false) => vec![(start + wait, 60), rest[1]],
                    (false, _) => rest.to_vec(),
                };
                assert_eq!(scene.machine.refills(server.context), expected, "{case}");
                // It runs until the end of the first one.
                if priority > 5 {
                    scene.machine.advance(expected[0].1 - 1);
                    assert!(scene.machine.runs(server), "{case}");
                    scene.machine.advance(1);
                    assert!(scene.machine.runs(scene.client), "{case}");
                }
            }
        }
    }
}

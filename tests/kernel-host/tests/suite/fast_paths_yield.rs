//! The fast path of Yield. Each test of a condition breaks only that one.

use host_machine::{Budget, Machine, Spec, Task};

use crate::fast_paths::words;

/// Threads of one priority, of which the first one runs.
struct Scene {
    machine: Machine,
    tasks: Vec<Task>,
}

const PRIORITY: u8 = 5;

impl Scene {
    fn new(count: usize) -> Self {
        let mut machine = Machine::new();
        let spec = Spec::new("task", PRIORITY).active();
        let tasks: Vec<_> = (0..count).map(|_| machine.spawn(spec)).collect();
        machine.rest();
        let mut scene = Self { machine, tasks };
        scene.put_in_order();
        scene
    }

    /// Puts the threads into their ready queue, the last one first.
    fn put_in_order(&mut self) {
        for task in self.tasks.iter().rev() {
            self.machine.set_priority(*task, PRIORITY + 1);
            self.machine.set_priority(*task, PRIORITY);
        }
        assert!(self.machine.runs(self.tasks[0]));
    }

    fn yields(&mut self, task: Task) -> bool {
        let before = self.machine.kernel.instruments.watch.fast_paths;
        self.machine.yield_now(task);
        self.machine.kernel.instruments.watch.fast_paths > before
    }

    /// Another thread.
    fn other(&mut self, priority: u8, budget: Budget) -> Task {
        self.machine
            .spawn(Spec::new("other", priority).budget(budget))
    }

    /// The first thread continues, whatever happens to the other ones.
    fn beside_the_first(&mut self, act: impl FnOnce(&mut Self)) {
        let first = self.tasks[0];
        self.machine.set_priority(first, PRIORITY + 1);
        act(self);
        self.machine.set_priority(first, PRIORITY);
    }
}

/// All threads of a priority take turns, and each gets a whole timeslice.
#[test]
fn yielding_threads_take_turns_by_both_paths() {
    for is_short in [true, false] {
        for count in 1..5 {
            let mut scene = Scene::new(count);
            scene.machine.kernel.arch.fast_paths = is_short;
            for turn in 0..3 * count {
                let task = scene.tasks[turn % count];
                assert!(scene.machine.runs(task), "{count}: {turn}");
                scene.machine.advance(10);
                assert_eq!(scene.yields(task), is_short, "{count}: {turn}");
                let refills = scene.machine.refills(task.context);
                assert_eq!(refills.iter().map(|refill| refill.1).sum::<u64>(), 10_000);
                assert_eq!(refills[0].1, 10_000, "{count}: {turn}");
            }
            // The place that a thread has left is empty, and all others are there.
            for task in scene.tasks.clone() {
                assert!(scene.machine.runs(task));
                scene.machine.suspend(task);
            }
            assert_eq!(scene.machine.running(), "none");
        }
    }
}

/// A thread that has become ready meanwhile comes before the one that yields, and after those that were ready.
#[test]
fn a_thread_that_yields_comes_after_one_that_was_woken() {
    for is_short in [true, false] {
        let mut scene = Scene::new(3);
        let (one, two, three) = (scene.tasks[0], scene.tasks[1], scene.tasks[2]);
        let (endpoint, reply) = (scene.machine.endpoint(), scene.machine.reply());
        scene.machine.kernel.arch.fast_paths = is_short;
        scene.machine.recv(one, endpoint, reply);
        assert!(scene.machine.runs(two));
        scene.machine.send(two, endpoint, &words(0));
        for task in [two, three, one, two] {
            assert!(scene.machine.runs(task));
            assert_eq!(scene.yields(task), is_short);
        }
    }
}

type Break = fn(&mut Scene);

/// Break one condition each.
const CONDITIONS: [(&str, Break); 6] = [
    ("no budget", |scene| scene.machine.advance(9_990)),
    ("a period", |scene| {
        scene.beside_the_first(|scene| {
            let context = scene.tasks[0].context;
            let budget = Budget::new(5_000, 10_000);
            scene.machine.configure(context, budget).unwrap();
        });
    }),
    ("a due thread", |scene| {
        let due = scene.other(12, Budget::new(100, 1000));
        scene.machine.yield_now(due);
        scene.machine.set_priority(due, 3);
        scene.machine.advance(1000);
    }),
    ("a ready thread with a criticality", |scene| {
        let critical = scene.other(2, Budget::slice(1000));
        scene.machine.set_criticality(critical, 1);
    }),
    ("a next thread that restarts", |scene| {
        scene.beside_the_first(|scene| {
            let next = scene.tasks[1];
            scene.machine.suspend(next);
            scene.machine.resume(next);
        });
    }),
    ("a next thread with an idling context", |scene| {
        scene.beside_the_first(|scene| {
            let context = scene.tasks[1].context;
            let idling = Budget::new(5_000, 10_000).idling();
            scene.machine.configure(context, idling).unwrap();
        });
    }),
];

#[test]
fn yields_with_one_unusual_condition_are_not_short() {
    for (condition, break_it) in CONDITIONS {
        let mut scene = Scene::new(2);
        break_it(&mut scene);
        let first = scene.tasks[0];
        assert!(scene.machine.runs(first), "{condition}");
        assert!(!scene.yields(first), "{condition}");
    }
}

/// It is told how long the thread ran that it has set a timer for, when it runs again.
#[test]
fn a_yield_to_a_thread_with_a_timer_for_another_one_is_not_short() {
    let mut scene = Scene::new(1);
    let first = scene.tasks[0];
    scene.beside_the_first(|scene| {
        let setter = scene.other(20, Budget::slice(10_000));
        let target = scene.other(2, Budget::slice(10_000));
        let instant = scene.machine.now() + 1000;
        (scene.machine).yield_to_timeout(setter, target.context, instant, None);
        scene.machine.set_priority(setter, PRIORITY);
    });
    assert!(scene.machine.runs(first));
    assert!(!scene.yields(first));
    assert!(!scene.machine.runs(first));
}

//! Due replenishments: when threads are released, and the timer deadline.

use std::collections::BTreeMap;

use abi::Method;
use host_machine::{Budget, CPtr, Machine, Spec, Task};
use kernel::collections::Linked;
use kernel::object::Membership;
use kernel::time::Ticks;
use proptest::prelude::*;

use crate::common::{passive_server, waiter, word};

/// Tasks of one priority that use up a budget of 20 each as soon as they can, in order of creation,
/// and then wait for a replenishment. Afterwards no thread runs.
fn herd(machine: &mut Machine, count: usize, priority: u8, period: u64) -> Vec<Task> {
    let spec = Spec::new("herd", priority)
        .budget(Budget::new(20, period).refills(2))
        .without_buffer();
    let herd: Vec<Task> = (0..count).map(|_| machine.spawn(spec)).collect();
    rest(machine);
    machine.advance(20 * count as u64);
    assert_eq!(machine.running(), "none");
    herd
}

/// Lets the root task rest if it runs.
fn rest(machine: &mut Machine) {
    if machine.runs(machine.root) {
        machine.rest();
    }
}

/// The root task signals a notification.
fn signal(machine: &mut Machine, notification: CPtr) {
    machine
        .invoke(notification, Method::InvalidInvocation, &[], &[])
        .expect("a call on a notification signals it");
}

fn deadline(machine: &Machine) -> u64 {
    machine.kernel.arch.deadline.0
}

/// How often the kernel is entered in `time` microseconds.
fn entries(machine: &mut Machine, time: u64) -> usize {
    let before = machine.entries;
    machine.advance(time);
    machine.entries - before
}

#[test]
fn a_storm_of_releases_does_not_delay_higher_priorities() {
    for count in [1, 10, 50] {
        let mut machine = Machine::with_memory(22);
        let bell = machine.notification();
        let high = waiter(&mut machine, "high", 20, bell);
        let herd = herd(&mut machine, count, 10, 5000);
        signal(&mut machine, bell);
        assert!(machine.runs(high));
        // All of them are due during the slice of the high-priority thread, without any kernel entry.
        assert_eq!(deadline(&machine), machine.now() + 10_000);
        assert_eq!(entries(&mut machine, 9_000), 0);
        assert!(machine.runs(high));
        // As soon as it waits, they run.
        machine.wait(high, bell);
        assert!(herd.iter().any(|task| machine.runs(*task)));
    }
}

#[test]
fn a_release_that_preempts_is_waited_for() {
    let mut machine = Machine::new();
    let periodic = machine.spawn(Spec::new("periodic", 20).budget(Budget::new(20, 1000)));
    let worker = machine.spawn(Spec::new("worker", 10).active());
    let start = machine.now();
    machine.rest();
    assert!(machine.runs(periodic));
    machine.advance(20);
    assert!(machine.runs(worker));
    assert_eq!(deadline(&machine), start + 1000);
    machine.advance(979);
    assert!(machine.runs(worker));
    machine.advance(1);
    assert!(machine.runs(periodic));
}

#[test]
fn an_equal_is_not_waited_for() {
    let mut machine = Machine::new();
    machine.spawn(Spec::new("periodic", 10).budget(Budget::new(20, 1000)));
    let worker = machine.spawn(Spec::new("worker", 10).active());
    machine.rest();
    machine.advance_until(|machine| machine.runs(worker));
    let start = machine.now();
    machine.advance(1);
    assert!(machine.runs(worker));
    assert!(deadline(&machine) >= start + 9_000);
    machine.advance(5_000);
    assert!(machine.runs(worker));
    // Its slice ends, and the other thread runs.
    machine.advance(5_000);
    assert_eq!(machine.running(), "periodic");
}

#[test]
fn the_timer_deadline_follows_a_donated_context_to_another_priority() {
    let mut machine = Machine::new();
    let [endpoint, reply] = [machine.endpoint(), machine.reply()];
    let server = passive_server(&mut machine, "server", 5, endpoint, reply);
    let client = machine.spawn(Spec::new("client", 20).active());
    let middle = machine.spawn(Spec::new("middle", 10).budget(Budget::new(20, 1000)));
    let bell = machine.notification();
    rest(&mut machine);
    // The client lets the middle thread use up its budget, and runs again.
    machine.wait(client, bell);
    assert!(machine.runs(middle));
    machine.advance(20);
    signal(&mut machine, bell);
    assert!(machine.runs(client));
    let quiet = deadline(&machine);
    assert!(
        quiet > machine.now() + 2_000,
        "the middle thread does not matter"
    );
    machine.call(client, endpoint, &word(0));
    assert!(machine.runs(server));
    assert!(deadline(&machine) < machine.now() + 1_000, "it matters");
    machine.reply_recv(server, endpoint, reply, &word(0));
    assert!(machine.runs(client));
    assert_eq!(deadline(&machine), quiet);
    machine.call(client, endpoint, &word(0));
    let due = deadline(&machine);
    machine.advance(due - machine.now());
    assert!(machine.runs(middle));
}

#[test]
fn due_threads_run_in_the_order_of_their_release() {
    let mut machine = Machine::with_memory(21);
    let bell = machine.notification();
    let high = waiter(&mut machine, "high", 20, bell);
    let herd = herd(&mut machine, 8, 10, 5000);
    let mut expected: Vec<(u64, Task)> = herd
        .iter()
        .map(|task| (machine.refills(task.context)[0].0, *task))
        .collect();
    expected.sort_by_key(|(time, _)| *time);
    signal(&mut machine, bell);
    machine.advance(9_000);
    machine.wait(high, bell);
    for (_, task) in expected {
        assert!(machine.runs(task));
        machine.advance(20);
    }
}

#[test]
fn a_thread_that_is_due_counts_as_ready() {
    let mut machine = Machine::new();
    let bell = machine.notification();
    let high = waiter(&mut machine, "high", 20, bell);
    let herd = herd(&mut machine, 2, 10, 1000);
    signal(&mut machine, bell);
    machine.advance(2_000);
    assert!(machine.runs(high));
    // It now has a higher priority than the running thread, so it preempts.
    machine.set_priority(herd[1], 30);
    assert!(machine.runs(herd[1]));
    machine.advance(20);
    assert!(machine.runs(high));
    // A suspended thread is not due; when resumed, it is ready.
    machine.suspend(herd[0]);
    machine.wait(high, bell);
    assert_eq!(machine.running(), "none");
    machine.resume(herd[0]);
    assert!(machine.runs(herd[0]));
}

#[test]
fn a_new_priority_of_a_waiting_thread_moves_the_timer_deadline() {
    let mut machine = Machine::new();
    let herd = herd(&mut machine, 1, 10, 1000);
    let worker = machine.spawn(Spec::new("worker", 15).active());
    let due = machine.refills(herd[0].context)[0].0;
    assert!(machine.runs(worker));
    assert!(deadline(&machine) > due);
    machine.set_priority(herd[0], 16);
    assert_eq!(deadline(&machine), due);
    machine.set_priority(herd[0], 15);
    assert!(deadline(&machine) > due);
    machine.set_priority(herd[0], 200);
    assert_eq!(deadline(&machine), due);
    machine.tcb(herd[0], Method::TcbSuspend, &[], &[]).unwrap();
    assert!(deadline(&machine) > due);
}

/// A reference model: of the ready threads with the highest priority, the one that has been ready for
/// the longest time runs next.
#[derive(Default)]
struct Reference {
    /// Since when each task that does not run is ready; a preempted task precedes all others.
    ready: BTreeMap<usize, u64>,
}

impl Reference {
    fn of(machine: &Machine, tasks: &[Task], now: u64) -> Self {
        let since = |task: &Task| {
            let thread = machine.thread(*task);
            let instant = thread.links().key();
            match thread.membership {
                Membership::Ready => Some(instant),
                Membership::Release if instant <= now => Some(instant),
                _ => None,
            }
        };
        let ready = tasks.iter().enumerate();
        Self {
            ready: ready
                .filter_map(|(index, task)| Some((index, since(task)?)))
                .collect(),
        }
    }

    fn highest_ready(&self, priorities: &[u8]) -> Option<u8> {
        self.ready.keys().map(|index| priorities[*index]).max()
    }

    fn longest_ready(&self, priorities: &[u8], priority: u8) -> Option<u64> {
        let equals = self
            .ready
            .iter()
            .filter(|(index, _)| priorities[**index] == priority);
        equals.map(|(_, since)| *since).min()
    }
}

/// When the kernel has to act next, found by a search over all tasks.
fn next_event(machine: &Machine, tasks: &[Task]) -> Ticks {
    let core = &machine.kernel.core;
    let level = core.current.map(|thread| machine.kernel[thread].priority);
    let releases = tasks.iter().filter_map(|task| {
        let thread = machine.thread(*task);
        let preempts = level.is_none_or(|level| thread.priority > level);
        (thread.membership == Membership::Release && preempts).then(|| Ticks(thread.links().key()))
    });
    let budget = core.current_context.map(|context| {
        core.now.saturating_sub(core.consumed) + machine.kernel[context].head().amount
    });
    releases.chain(budget).min().unwrap_or(Ticks::NEVER)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// The running thread has the highest priority of the ready ones, and of equals it has been ready
    /// for the longest time; the timer deadline is exactly the next event that matters.
    #[test]
    fn the_choice_agrees_with_the_rule(
        specs in prop::collection::vec((1u8..5, 20u64..60, 1u64..10, 2usize..5, any::<bool>()), 2..9),
        steps in prop::collection::vec((1u64..50, any::<u8>(), 1u8..5), 1..150),
    ) {
        let mut machine = Machine::with_memory(22);
        let mut priorities = Vec::new();
        let mut tasks = Vec::new();
        for (priority, budget, factor, refills, sporadic) in specs {
            let budget = Budget::new(budget, budget * (factor + 1)).refills(refills);
            let budget = if sporadic { budget.sporadic() } else { budget };
            tasks.push(machine.spawn(Spec::new("task", priority).budget(budget).without_buffer()));
            priorities.push(priority);
        }
        machine.rest();
        for (ticks, which, priority) in steps {
            if which < 16 {
                // An occasional change of priority.
                let index = usize::from(which) % tasks.len();
                machine.set_priority(tasks[index], priority);
                priorities[index] = priority;
            }
            for _ in 0..ticks {
                let before = machine.kernel.core.current;
                let pool = Reference::of(&machine, &tasks, machine.now() + 1);
                machine.advance(1);
                prop_assert_eq!(machine.kernel.arch.deadline, next_event(&machine, &tasks));
                let left = Reference::of(&machine, &tasks, machine.now());
                let Some(index) = tasks.iter().position(|task| machine.runs(*task)) else {
                    prop_assert!(left.ready.is_empty(), "no thread runs while one is ready");
                    continue;
                };
                prop_assert!(left.highest_ready(&priorities) <= Some(priorities[index]));
                if before != Some(tasks[index].thread) {
                    let since = pool.ready.get(&index).copied();
                    let longest = pool.longest_ready(&priorities, priorities[index]);
                    prop_assert_eq!(since, longest, "the one ready for the longest time runs");
                }
            }
        }
    }
}

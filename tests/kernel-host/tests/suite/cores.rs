//! Several cores: where threads run, and remote access.

use abi::{GuardData, Method, ObjectType, Rights, WORD_BITS, slots};
use host_machine::{Budget, CPtr, Machine, Spec, State, Task};
use kernel::arch::Arch;
use kernel::invariants::{Reach, check_thread};
use kernel::time::Ticks;

use crate::common::{make_passive, word};

fn machine() -> Machine {
    let mut machine = Machine::with_cores(2);
    machine.rest();
    machine
}

fn busy(machine: &mut Machine, core: usize, name: &'static str, priority: u8) -> Task {
    machine.spawn_on(core, Spec::new(name, priority).active())
}

fn runs_on(machine: &mut Machine, core: usize) -> String {
    machine.on(core, |machine| machine.running())
}

/// An endpoint and a reply object.
fn endpoint(machine: &mut Machine) -> (CPtr, CPtr) {
    let endpoint = machine.create(ObjectType::Endpoint, 0);
    (endpoint, machine.create(ObjectType::Reply, 0))
}

/// A passive server that waits at an endpoint, initialised on the given core.
fn passive_server(machine: &mut Machine, core: usize, endpoint: CPtr, reply: CPtr) -> Task {
    let server = busy(machine, core, "server", 200);
    machine.on(core, |machine| machine.recv(server, endpoint, reply));
    make_passive(machine, server);
    assert_eq!(machine.state(server), State::Receiving);
    server
}

#[test]
fn there_is_time_of_every_core() {
    let machine = machine();
    assert_eq!(machine.boot_info.nodes, 2);
    assert_eq!(machine.boot_info.sched_control.len(), 2);
}

#[test]
fn a_thread_of_each_core_runs() {
    let mut machine = machine();
    busy(&mut machine, 0, "here", 10);
    busy(&mut machine, 1, "there", 5);
    assert_eq!(runs_on(&mut machine, 0), "here");
    assert_eq!(runs_on(&mut machine, 1), "there");
}

#[test]
fn a_running_thread_moves_with_its_time() {
    let mut machine = machine();
    let task = busy(&mut machine, 0, "task", 10);
    for core in [1, 0, 1] {
        machine
            .configure_on(core, task.context, Budget::new(1000, 5000))
            .unwrap();
        assert_eq!(runs_on(&mut machine, core), "task");
        assert_eq!(runs_on(&mut machine, 1 - core), "none");
    }
}

#[test]
fn the_core_that_ran_is_charged() {
    let mut machine = machine();
    let task = machine.spawn_on(1, Spec::new("task", 10).budget(Budget::new(300, 1000)));
    busy(&mut machine, 0, "other", 10);
    machine.advance(300);
    assert_eq!(runs_on(&mut machine, 1), "none");
    assert_eq!(runs_on(&mut machine, 0), "other");
    machine.advance(700);
    assert_eq!(runs_on(&mut machine, 1), "task");
    // The time consumed remains with the context when it migrates.
    machine.advance(100);
    machine
        .configure_on(0, task.context, Budget::new(300, 1000))
        .unwrap();
    let consumed = machine.invoke(task.context, Method::SchedContextConsumed, &[], &[]);
    assert_eq!(consumed, Ok(vec![400]));
}

#[test]
fn a_passive_server_runs_where_its_client_runs() {
    let mut machine = machine();
    let (endpoint, reply) = endpoint(&mut machine);
    let server = passive_server(&mut machine, 1, endpoint, reply);
    let here = busy(&mut machine, 0, "here", 10);
    let there = busy(&mut machine, 1, "there", 10);
    for (core, client) in [(0, here), (1, there), (0, here)] {
        machine.on(core, |machine| machine.call(client, endpoint, &word(7)));
        assert_eq!(runs_on(&mut machine, core), "server");
        machine.on(core, |machine| {
            assert_eq!(machine.received(server).words, [7]);
            machine.reply_recv(server, endpoint, reply, &word(8));
            assert_eq!(machine.received(client).words, [8]);
        });
        assert_eq!(machine.state(server), State::Receiving);
        assert_eq!(runs_on(&mut machine, 0), "here");
        assert_eq!(runs_on(&mut machine, 1), "there");
    }
}

#[test]
fn an_active_server_answers_from_its_own_core() {
    let mut machine = machine();
    let (endpoint, reply) = endpoint(&mut machine);
    let server = busy(&mut machine, 1, "server", 10);
    machine.on(1, |machine| machine.recv(server, endpoint, reply));
    let client = busy(&mut machine, 0, "client", 10);
    machine.call(client, endpoint, &word(1));
    assert_eq!(runs_on(&mut machine, 0), "none");
    assert_eq!(runs_on(&mut machine, 1), "server");
    machine.on(1, |machine| {
        machine.reply_recv(server, endpoint, reply, &word(2))
    });
    assert_eq!(runs_on(&mut machine, 0), "client");
    assert_eq!(machine.received(client).words, [2]);
}

#[test]
fn a_signal_wakes_a_thread_of_another_core() {
    let mut machine = machine();
    let notification = machine.create(ObjectType::Notification, 0);
    let waiter = busy(&mut machine, 1, "waiter", 10);
    machine.on(1, |machine| machine.wait(waiter, notification));
    assert_eq!(runs_on(&mut machine, 1), "none");
    let sender = busy(&mut machine, 0, "sender", 10);
    machine.signal(sender, notification);
    assert_eq!(runs_on(&mut machine, 0), "sender");
    assert_eq!(runs_on(&mut machine, 1), "waiter");
}

#[test]
fn a_thread_that_runs_elsewhere_can_be_stopped_and_resumed() {
    let mut machine = machine();
    let task = busy(&mut machine, 1, "task", 10);
    busy(&mut machine, 1, "other", 5);
    machine.suspend(task);
    assert_eq!(runs_on(&mut machine, 1), "other");
    machine.resume(task);
    assert_eq!(runs_on(&mut machine, 1), "task");
}

#[test]
fn priorities_of_another_core_can_be_changed() {
    let mut machine = machine();
    let first = busy(&mut machine, 1, "first", 20);
    let second = busy(&mut machine, 1, "second", 10);
    machine.set_priority(second, 30);
    assert_eq!(runs_on(&mut machine, 1), "second");
    machine.set_priority(second, 5);
    assert_eq!(runs_on(&mut machine, 1), "first");
    machine.set_priority(first, 1);
    assert_eq!(runs_on(&mut machine, 1), "second");
}

#[test]
fn a_thread_that_runs_elsewhere_can_be_deleted() {
    let mut machine = machine();
    let task = busy(&mut machine, 1, "task", 10);
    busy(&mut machine, 1, "other", 5);
    machine.delete(task.tcb);
    assert_eq!(runs_on(&mut machine, 1), "other");
}

#[test]
fn time_of_a_thread_that_runs_elsewhere_can_be_deleted() {
    let mut machine = machine();
    let task = busy(&mut machine, 1, "task", 10);
    machine.delete(task.context);
    assert_eq!(runs_on(&mut machine, 1), "none");
    machine.advance(10_000);
}

#[test]
fn a_fault_is_told_on_another_core() {
    let mut machine = machine();
    let (endpoint, reply) = endpoint(&mut machine);
    let handler = busy(&mut machine, 0, "handler", 10);
    machine.recv(handler, endpoint, reply);
    let spec = Spec::new("task", 10).active().fault_handler(endpoint);
    let task = machine.spawn_on(1, spec);
    machine.on(1, |machine| {
        machine.fault(
            task,
            kernel::object::Fault::UserException { number: 3, code: 0 },
        );
    });
    // The handler has a scheduling context of its own, so it runs on its own core.
    assert_eq!(runs_on(&mut machine, 0), "handler");
    assert_eq!(runs_on(&mut machine, 1), "none");
    machine.reply_recv(handler, endpoint, reply, &word(0));
    assert_eq!(runs_on(&mut machine, 1), "task");
}

#[test]
fn a_timeout_is_told_on_another_core() {
    let mut machine = machine();
    let (endpoint, reply) = endpoint(&mut machine);
    let handler = busy(&mut machine, 0, "handler", 10);
    machine.recv(handler, endpoint, reply);
    let spec = Spec::new("task", 10)
        .budget(Budget::new(100, 1000))
        .timeout_handler(endpoint);
    machine.spawn_on(1, spec);
    machine.advance(100);
    assert_eq!(runs_on(&mut machine, 1), "none");
    assert_eq!(runs_on(&mut machine, 0), "handler");
}

#[test]
fn yielding_to_a_thread_elsewhere_only_tells() {
    let mut machine = machine();
    let target = busy(&mut machine, 1, "target", 10);
    let caller = busy(&mut machine, 0, "caller", 10);
    machine.advance(500);
    let used = machine.invoke_as(
        caller,
        target.context,
        Method::SchedContextYieldTo,
        &[],
        &[],
    );
    assert!(used.is_ok());
    assert_eq!(runs_on(&mut machine, 0), "caller");
    assert_eq!(runs_on(&mut machine, 1), "target");
}

#[test]
fn each_core_has_its_level_of_criticality() {
    let mut machine = machine();
    let low = busy(&mut machine, 1, "low", 5);
    busy(&mut machine, 1, "high", 10);
    machine.set_criticality(low, 1);
    let level = |machine: &mut Machine, core: usize, level: usize| {
        let control = machine.boot_info.sched_control.start + core;
        let method = Method::SchedControlSetCriticalityLevel;
        machine.invoke(control, method, &[level], &[]).unwrap();
    };
    level(&mut machine, 0, 1);
    assert_eq!(runs_on(&mut machine, 1), "high");
    level(&mut machine, 1, 1);
    assert_eq!(runs_on(&mut machine, 1), "low");
}

/// The slice of a thread is over; its core has not noticed before another core changes the thread.
#[test]
fn a_thread_detached_at_the_end_of_its_slice_leaves_a_usable_budget() {
    type Take = fn(&mut Machine, Task);
    let ways: [Take; 5] = [
        |machine, task| machine.suspend(task),
        |machine, task| machine.delete(task.tcb),
        |machine, task| machine.delete(task.context),
        |machine, task| {
            let unbound = machine.invoke(task.context, Method::SchedContextUnbind, &[], &[]);
            assert_eq!(unbound, Ok(vec![]));
        },
        |machine, task| {
            machine
                .configure_on(0, task.context, Budget::slice(10_000))
                .unwrap();
        },
    ];
    for take_away in ways {
        // Around the end of the slice, and long after it.
        for late in (9_900..10_100).chain([25_000]) {
            let mut machine = machine();
            let task = busy(&mut machine, 1, "task", 10);
            busy(&mut machine, 1, "other", 5);
            machine.stall(late);
            take_away(&mut machine, task);
            assert_eq!(runs_on(&mut machine, 1), "other");
            machine.advance(1);
        }
    }
}

/// The server replies to a caller on its core and, from a notification that was signalled meanwhile,
/// gets a scheduling context of another core. (1662 of seL4's record.)
#[test]
fn a_server_moves_in_a_receive_to_the_core_of_its_notification() {
    let mut machine = machine();
    let (endpoint, reply) = endpoint(&mut machine);
    let server = passive_server(&mut machine, 0, endpoint, reply);
    let bell = machine.create(ObjectType::Notification, 0);
    let bound = machine.tcb(server, Method::TcbBindNotification, &[], &[bell]);
    assert_eq!(bound, Ok(vec![]));
    let context = machine.create(ObjectType::SchedContext, 8);
    machine
        .configure_on(1, context, Budget::slice(1_000))
        .unwrap();
    machine.bind(context, bell).unwrap();
    let client = busy(&mut machine, 0, "client", 10);
    for _ in 0..3 {
        machine.call(client, endpoint, &word(1));
        assert_eq!(runs_on(&mut machine, 0), "server");
        machine.signal(server, bell);
        machine.reply_recv(server, endpoint, reply, &word(2));
        assert_eq!(machine.received(client).words, [2]);
        assert_eq!(runs_on(&mut machine, 0), "client");
        assert_eq!(runs_on(&mut machine, 1), "server");
        machine.on(1, |machine| machine.recv(server, endpoint, reply));
        assert_eq!(runs_on(&mut machine, 1), "none");
    }
}

/// The server replies to a caller and takes the budget of the next, on another core. (986 of seL4's
/// record.)
#[test]
fn a_server_moves_with_a_reply_to_the_core_of_the_next_caller() {
    let mut machine = machine();
    let (endpoint, reply) = endpoint(&mut machine);
    let server = passive_server(&mut machine, 0, endpoint, reply);
    let bell = machine.create(ObjectType::Notification, 0);
    let ringer = busy(&mut machine, 0, "ringer", 220);
    let clients: Vec<_> = [0, 1]
        .into_iter()
        .map(|core| (core, busy(&mut machine, core, "client", 100)))
        .collect();
    // Suspended, so that the server runs despite its lower priority.
    machine.suspend(ringer);
    for &(core, client) in &clients {
        machine.on(core, |machine| machine.call(client, endpoint, &word(1)));
        if machine.state(server) != State::Waiting {
            machine.on(core, |machine| machine.wait(server, bell));
        }
    }
    machine.resume(ringer);
    for turn in 0..12 {
        let (core, client) = clients[turn % clients.len()];
        assert_eq!(machine.state(server), State::Waiting, "turn {turn}");
        machine.signal(ringer, bell);
        machine.suspend(ringer);
        assert_eq!(runs_on(&mut machine, core), "server", "turn {turn}");
        machine.on(core, |machine| {
            machine.reply_recv(server, endpoint, reply, &word(2));
        });
        let (next, _) = clients[(turn + 1) % clients.len()];
        assert_eq!(runs_on(&mut machine, next), "server", "turn {turn}");
        machine.on(next, |machine| machine.wait(server, bell));
        assert_eq!(runs_on(&mut machine, core), "client", "turn {turn}");
        machine.on(core, |machine| machine.call(client, endpoint, &word(1)));
        machine.resume(ringer);
    }
}

/// A context is rebound from a running thread to another one after its budget is used up, before its
/// core has noticed.
#[test]
fn time_that_is_used_up_elsewhere_is_given_away_empty() {
    for late in 250..350 {
        let mut machine = machine();
        let budget = Budget::new(300, 1_000);
        let task = machine.spawn_on(1, Spec::new("task", 10).budget(budget));
        let heir = machine.spawn(Spec::new("heir", 10));
        machine.stall(late);
        let unbind = Method::SchedContextUnbind;
        assert_eq!(machine.invoke(task.context, unbind, &[], &[]), Ok(vec![]));
        machine.bind(task.context, heir.tcb).unwrap();
        let least = machine.kernel.arch.clock().min_budget().0;
        let runs = if late + least <= 300 { "heir" } else { "none" };
        assert_eq!(runs_on(&mut machine, 1), runs, "{late}");
        machine.advance(900);
        assert_eq!(runs_on(&mut machine, 1), "heir");
    }
}

/// A thread with a slice that was over at a remote access waits for its next replenishment.
#[test]
fn a_slice_that_remote_access_ends_is_over() {
    for late in 250..350 {
        let mut machine = machine();
        let (endpoint, reply) = endpoint(&mut machine);
        let handler = busy(&mut machine, 0, "handler", 10);
        machine.recv(handler, endpoint, reply);
        let spec = Spec::new("task", 10).budget(Budget::new(300, 1_000));
        machine.spawn_on(1, spec.timeout_handler(endpoint));
        let other = busy(&mut machine, 1, "other", 5);
        machine.stall(late);
        machine.set_priority(other, 6);
        let least = machine.kernel.arch.clock().min_budget().0;
        let over = late + least > 300;
        let runs = if over { "other" } else { "task" };
        assert_eq!(runs_on(&mut machine, 1), runs, "{late}");
        let told = if over { "handler" } else { "none" };
        assert_eq!(runs_on(&mut machine, 0), told, "{late}");
    }
}

/// A thread that runs on another core is bound to a context without budget before that core notices.
#[test]
fn time_that_is_exchanged_for_empty_time_stops_a_thread() {
    let mut machine = machine();
    let budget = Budget::new(300, 5_000);
    let spender = machine.spawn_on(1, Spec::new("spender", 20).budget(budget));
    machine.advance(400);
    let task = busy(&mut machine, 1, "task", 10);
    assert_eq!(runs_on(&mut machine, 1), "task");
    machine.others_are_late = true;
    let unbind = Method::SchedContextUnbind;
    for context in [task.context, spender.context] {
        assert_eq!(machine.invoke(context, unbind, &[], &[]), Ok(vec![]));
    }
    machine.bind(spender.context, task.tcb).unwrap();
    machine.others_are_late = false;
    machine.advance(10);
    assert_eq!(runs_on(&mut machine, 1), "none");
    machine.advance(4_700);
    assert_eq!(runs_on(&mut machine, 1), "task");
}

/// The same with a context that has so little budget left that the new thread waits; it was charged
/// before.
#[test]
fn time_that_was_taken_away_is_charged_no_more() {
    for late in [100, 290, 295] {
        let mut machine = machine();
        let task = machine.spawn_on(1, Spec::new("task", 10).budget(Budget::new(300, 1_000)));
        let heir = machine.spawn(Spec::new("heir", 10));
        machine.others_are_late = true;
        for time in [late, 5] {
            machine.stall(time);
            // Any operation that is a remote access of the core.
            machine.set_priority(task, 9);
        }
        let unbind = Method::SchedContextUnbind;
        assert_eq!(machine.invoke(task.context, unbind, &[], &[]), Ok(vec![]));
        machine.bind(task.context, heir.tcb).unwrap();
        machine.stall(5);
        machine.set_priority(heir, 9);
        machine.others_are_late = false;
        machine.advance(1);
        let consumed = machine.invoke(task.context, Method::SchedContextConsumed, &[], &[]);
        assert!(consumed.is_ok());
        machine.advance(900);
        assert_eq!(runs_on(&mut machine, 1), "heir");
    }
}

/// A thread that runs on another core must wait for a replenishment, as its budget was made smaller
/// than the time consumed; time that passes until its core notices is not charged.
#[test]
fn a_postponed_thread_is_not_charged() {
    for late in 200..300 {
        let mut machine = machine();
        let budget = Budget::new(300, 1_000).refills(4);
        let task = machine.spawn_on(1, Spec::new("task", 10).budget(budget));
        machine.others_are_late = true;
        machine.stall(late);
        for budget in [Budget::new(210, 2_000), Budget::new(205, 1_500)] {
            machine
                .configure_on(1, task.context, budget.refills(4))
                .unwrap();
            machine.stall(30);
        }
        machine.set_priority(task, 9);
        machine.others_are_late = false;
        machine.advance(3_000);
    }
}

/// The interrupt by which a core notices the end of a slice takes time, which no context is charged
/// for.
#[test]
fn noticing_the_end_of_a_slice_is_not_on_the_next_one() {
    for late in 250..350 {
        let mut machine = machine();
        machine.kernel_of(1).arch.time_per_look = Ticks(4);
        let budget = Budget::new(300, 1_000).refills(4);
        let task = machine.spawn_on(1, Spec::new("task", 10).budget(budget));
        machine.others_are_late = true;
        machine.stall(late);
        machine.set_priority(task, 9);
        machine.others_are_late = false;
        machine.advance(3_000);
    }
}

/// Two remote accesses happen before the core notices: at the first the slice is over, at the second
/// the thread has executed further.
#[test]
fn what_is_used_after_the_end_of_a_slice_is_charged_before_the_thread_waits() {
    for late in 250..350 {
        let mut machine = machine();
        let budget = Budget::new(300, 1_000).refills(4).sporadic();
        let task = machine.spawn_on(1, Spec::new("task", 10).budget(budget));
        machine.others_are_late = true;
        for time in [late, 7] {
            machine.stall(time);
            machine.set_priority(task, 9);
        }
        machine.others_are_late = false;
        machine.advance(3_000);
    }
}

/// If a core has not read its clock for long, a ready thread of another core does not appear overdue
/// to it.
#[test]
fn checks_go_by_the_time_of_the_core_of_a_thread() {
    let (mut machine, mut was_preempted) = (machine(), false);
    machine.spawn_on(1, Spec::new("task", 10).budget(Budget::new(300, 1_000)));
    let task = machine.kernel_of(1).core.current.unwrap();
    machine.spawn_on(1, Spec::new("high", 20).budget(Budget::new(100, 1_150)));
    for _ in 0..300 {
        machine.advance(10);
        was_preempted |= machine.kernel_of(1)[task].membership == kernel::object::Membership::Ready;
        check_thread(machine.kernel_of(0), task, Reach::WHOLE).unwrap();
    }
    assert!(was_preempted);
}

/// A thread that runs on another core is suspended, given a lower priority and resumed before that
/// core notices: then a higher-priority thread must run.
#[test]
fn a_lowered_thread_does_not_continue_after_a_stop() {
    let mut machine = machine();
    let task = busy(&mut machine, 1, "task", 100);
    busy(&mut machine, 1, "other", 50);
    assert_eq!(runs_on(&mut machine, 1), "task");
    machine.others_are_late = true;
    machine.suspend(task);
    machine.set_priority(task, 10);
    machine.resume(task);
    machine.others_are_late = false;
    machine.advance(1);
    assert_eq!(runs_on(&mut machine, 1), "other");
}

/// Another core makes the budget of a running thread smaller. The remaining budget is used up just
/// when the thread's core has noticed that.
#[test]
fn a_smaller_budget_counts_when_its_core_notices() {
    for late in 150..210 {
        let mut machine = machine();
        machine.kernel_of(1).arch.time_per_look = Ticks(4);
        let budget = Budget::new(1_000, 5_000);
        let task = machine.spawn_on(1, Spec::new("task", 10).budget(budget));
        machine.others_are_late = true;
        machine
            .configure_on(1, task.context, Budget::new(200, 5_000))
            .unwrap();
        machine.stall(late);
        machine.others_are_late = false;
        machine.advance(1_000);
        assert_eq!(runs_on(&mut machine, 1), "none");
    }
}

/// A system call comes between a remote modification and the IPI by which its core would notice.
#[test]
fn a_system_call_just_after_remote_access_is_performed() {
    let mut machine = machine();
    let notification = machine.create(ObjectType::Notification, 0);
    let waiter = busy(&mut machine, 1, "waiter", 20);
    machine.on(1, |machine| machine.wait(waiter, notification));
    let sender = busy(&mut machine, 1, "sender", 10);
    assert_eq!(runs_on(&mut machine, 1), "sender");
    machine.others_are_late = true;
    machine.set_priority(sender, 9);
    machine.calls_are_slow = true;
    machine.on(1, |machine| machine.signal(sender, notification));
    assert_eq!(runs_on(&mut machine, 1), "waiter");
}

/// The test for core-local system calls follows few levels of CNodes; a call with a longer path is
/// performed all the same.
#[test]
fn a_name_of_many_levels_is_found() {
    for levels in [4, 5, WORD_BITS] {
        let mut machine = machine();
        let first = machine.cnode(1);
        // Its first slot leads back to the CNode itself, for any number of levels.
        machine.copy_into(first, first, 0, 1).unwrap();
        let notification = machine.create(ObjectType::Notification, 0);
        machine.copy_into(notification, first, 1, 1).unwrap();
        let guard = GuardData {
            guard: 0,
            size: WORD_BITS - levels,
        };
        let root = machine.mint(first, Rights::ALL, guard.word());
        let task = busy(&mut machine, 1, "task", 20);
        let caps = [0, root, slots::INIT_THREAD_VSPACE];
        machine
            .tcb(task, Method::TcbSetSpace, &[0, 0], &caps)
            .unwrap();
        assert_eq!(runs_on(&mut machine, 1), "task");
        machine.on(1, |machine| machine.signal(task, 1));
        machine.on(1, |machine| machine.wait(task, 1));
        assert_eq!(machine.state(task), State::Runnable, "{levels}");
        machine.on(1, |machine| machine.wait(task, 1));
        assert_eq!(machine.state(task), State::Waiting, "{levels}");
    }
}

//! Criticality: bands above and below the criticality level.

use abi::{Method, Rights, slots};
use host_machine::{Budget, Machine, Message, Spec, State, Task};
use kernel::invoke::Error;

use crate::common::{make_passive, passive_server, waiter, word};
use crate::thresholds::set_threshold;

/// A machine with a root task in the upper band at every level.
fn machine() -> Machine {
    let mut machine = Machine::with_memory(21);
    machine.set_criticality(machine.root, 7);
    machine.rest();
    machine
}

fn spawn(machine: &mut Machine, name: &'static str, priority: u8, criticality: u8) -> Task {
    let task = machine.spawn(Spec::new(name, priority).active().suspended());
    machine.set_criticality(task, criticality);
    machine.resume(task);
    task
}

fn set_level(machine: &mut Machine, level: usize) {
    assert_eq!(machine.set_level(level), Ok(vec![]));
}

#[test]
fn the_level_divides_threads_into_bands() {
    for (level, order) in [
        (0, ["high", "middle", "low", "lowest"]),
        (1, ["middle", "low", "lowest", "high"]),
        (3, ["low", "high", "middle", "lowest"]),
        (7, ["high", "middle", "low", "lowest"]),
    ] {
        let mut machine = machine();
        let specs = [
            ("high", 40, 0),
            ("middle", 30, 2),
            ("low", 20, 3),
            ("lowest", 10, 2),
        ];
        let tasks = specs.map(|(name, priority, criticality)| {
            let task = spawn(&mut machine, name, priority, criticality);
            (name, task)
        });
        let never = machine.notification();
        set_level(&mut machine, level);
        for name in order {
            assert_eq!(machine.running(), name, "at level {level}");
            let (_, task) = tasks.into_iter().find(|(one, _)| *one == name).unwrap();
            machine.wait(task, never);
        }
    }
}

#[test]
fn equals_take_turns_whatever_their_criticality() {
    let mut machine = machine();
    for (index, name) in ["one", "two", "three"].into_iter().enumerate() {
        let budget = Budget::slice(1000);
        let task = machine.spawn(Spec::new(name, 10).budget(budget).suspended());
        machine.set_criticality(task, 2 * index as u8);
        machine.resume(task);
    }
    for level in [0, 1] {
        set_level(&mut machine, level);
        let mut order = Vec::new();
        for _ in 0..6 {
            order.push(machine.running());
            machine.advance(1000);
        }
        let turn = if level == 0 { 3 } else { 2 };
        for index in turn..6 {
            assert_eq!(order[index], order[index - turn], "{order:?}");
        }
        order.sort();
        order.dedup();
        assert_eq!(order.len(), turn, "level {level}");
    }
    // The thread that was in the lower band has waited for the longest time.
    set_level(&mut machine, 0);
    machine.advance(1000);
    assert_eq!(machine.running(), "one");
}

#[test]
fn servers_run_at_the_criticality_of_their_clients() {
    let mut machine = machine();
    let [outer, inner] = [(); 2].map(|()| machine.endpoint());
    let [first, second] = [(); 2].map(|()| machine.reply());
    let front = passive_server(&mut machine, "front", 20, outer, first);
    let back = passive_server(&mut machine, "back", 20, inner, second);
    let rival = spawn(&mut machine, "rival", 30, 0);
    let client = spawn(&mut machine, "client", 10, 4);
    assert!(machine.runs(rival));
    set_level(&mut machine, 4);
    machine.call(client, outer, &word(1));
    assert!(machine.runs(front));
    machine.call(front, inner, &word(2));
    assert!(machine.runs(back), "nested");
    // The server's own criticality does not matter.
    machine.set_criticality(back, 0);
    machine.set_criticality(front, 0);
    assert!(machine.runs(back));
    machine.reply_recv(back, inner, second, &word(3));
    assert!(machine.runs(front));
    machine.reply_recv(front, outer, first, &word(4));
    assert!(machine.runs(client));
    machine.call(client, outer, &word(5));
    set_level(&mut machine, 5);
    assert!(
        machine.runs(rival),
        "the client is in the lower band, and so is the server"
    );
    assert_eq!(machine.state(front), State::Runnable);
}

#[test]
fn a_new_criticality_reaches_the_time_wherever_it_is() {
    let mut machine = machine();
    let [outer, inner] = [(); 2].map(|()| machine.endpoint());
    let [first, second] = [(); 2].map(|()| machine.reply());
    let front = passive_server(&mut machine, "front", 20, outer, first);
    let back = passive_server(&mut machine, "back", 20, inner, second);
    let client = spawn(&mut machine, "client", 10, 0);
    machine.call(client, outer, &word(1));
    machine.call(front, inner, &word(2));
    let rival = spawn(&mut machine, "rival", 30, 0);
    set_level(&mut machine, 1);
    assert!(machine.runs(rival));
    machine.set_criticality(client, 1);
    assert!(machine.runs(back), "at once, two calls away");
    machine.set_criticality(client, 0);
    assert!(machine.runs(rival));
    machine.set_criticality(client, 1);
    // A context that is bound to another thread takes that thread's criticality.
    let context = [client.context];
    for method in [Method::SchedContextUnbind, Method::SchedContextUnbind] {
        assert_eq!(machine.invoke(context[0], method, &[], &[]), Ok(vec![]));
    }
    assert!(machine.runs(rival));
    let heir = machine.spawn(Spec::new("heir", 5));
    machine.bind(context[0], heir.tcb).unwrap();
    assert!(machine.runs(rival));
    machine.set_criticality(heir, 2);
    assert!(machine.runs(heir));
    machine.set_criticality(client, 0);
    assert!(
        machine.runs(heir),
        "the client's criticality does not matter any more"
    );
}

#[test]
fn an_owner_may_go_away_while_its_time_is_lent() {
    let mut machine = machine();
    let endpoint = machine.endpoint();
    let reply = machine.reply();
    let server = passive_server(&mut machine, "server", 20, endpoint, reply);
    let client = spawn(&mut machine, "client", 10, 3);
    let rival = spawn(&mut machine, "rival", 30, 0);
    set_level(&mut machine, 3);
    assert!(machine.runs(client));
    machine.call(client, endpoint, &word(1));
    assert!(machine.runs(server));
    machine
        .in_root(Method::CNodeDelete, client.tcb, &[])
        .unwrap();
    assert!(machine.runs(server), "the context keeps its criticality");
    // The context has no owner now, so the thread that runs on it decides.
    machine.set_criticality(server, 0);
    assert!(machine.runs(rival));
}

#[test]
fn time_lent_by_a_notification_has_the_criticality_of_the_borrower() {
    let mut machine = machine();
    let notification = machine.notification();
    let lent = machine.new_context(Budget::new(500, 1000));
    let borrower = waiter(&mut machine, "borrower", 10, notification);
    make_passive(&mut machine, borrower);
    machine.bind(lent, notification).unwrap();
    machine.set_criticality(borrower, 2);
    let rival = spawn(&mut machine, "rival", 30, 0);
    set_level(&mut machine, 2);
    machine.signal(rival, notification);
    assert!(machine.runs(borrower));
    machine.set_criticality(borrower, 1);
    assert!(machine.runs(rival));
    machine.set_criticality(borrower, 2);
    assert!(machine.runs(borrower));
}

#[test]
fn releases_preempt_by_band() {
    let mut machine = machine();
    let budget = Budget::new(100, 1000);
    let sleeper = |machine: &mut Machine, name, priority, criticality| {
        let task = machine.spawn(Spec::new(name, priority).budget(budget).suspended());
        machine.set_criticality(task, criticality);
        machine.resume(task);
        task
    };
    let critical = sleeper(&mut machine, "critical", 10, 1);
    let high = sleeper(&mut machine, "high", 50, 0);
    let worker = spawn(&mut machine, "worker", 30, 0);
    // Level 0: the higher-priority thread preempts, the critical one does not.
    assert!(machine.runs(high));
    machine.yield_now(high);
    assert!(machine.runs(worker));
    machine.suspend(worker);
    machine.yield_now(critical);
    machine.resume(worker);
    set_level(&mut machine, 1);
    machine.advance(900);
    let mut seen = Vec::new();
    for _ in 0..300 {
        machine.advance(1);
        if seen.last() != Some(&machine.running()) {
            seen.push(machine.running());
        }
    }
    let place = |name: &str| seen.iter().position(|one| one == name);
    assert!(place("critical") > place("worker"), "{seen:?}");
    assert!(place("high").is_some(), "{seen:?}");
    // A worker in the upper band is preempted only by threads of the upper band.
    machine.set_criticality(worker, 1);
    set_level(&mut machine, 1);
    for _ in 0..3000 {
        machine.advance(1);
        assert!(machine.runs(worker));
    }
}

#[test]
fn criticality_needs_authority() {
    let mut machine = machine();
    let boss = spawn(&mut machine, "boss", 40, 0);
    let root = [slots::INIT_THREAD_TCB];
    let range = |maximum| {
        Err(Error::Range {
            minimum: 0,
            maximum,
        })
    };
    let methods = [Method::TcbSetCriticality, Method::TcbSetMcCriticality];
    for method in methods {
        assert_eq!(machine.tcb(boss, method, &[8], &root), range(7));
        assert_eq!(machine.tcb(boss, method, &[usize::MAX], &root), range(7));
        assert_eq!(machine.tcb(boss, method, &[1], &[boss.tcb]), range(0));
        assert_eq!(
            machine.tcb(boss, method, &[1], &[boss.context]),
            Err(Error::InvalidCapability(1))
        );
        assert_eq!(machine.tcb(boss, method, &[], &root), Err(Error::Truncated));
        assert_eq!(machine.tcb(boss, method, &[1], &[]), Err(Error::Truncated));
    }
    let set = machine.tcb(boss, Method::TcbSetMcCriticality, &[3], &root);
    assert_eq!(set, Ok(vec![]));
    for method in methods {
        assert_eq!(machine.tcb(boss, method, &[4], &[boss.tcb]), range(3));
        assert_eq!(machine.tcb(boss, method, &[3], &[boss.tcb]), Ok(vec![]));
    }
    assert_eq!(machine.set_level(8), range(7));
    assert_eq!(machine.set_level(usize::MAX), range(7));
    let control = machine.boot_info.sched_control.start;
    let method = Method::SchedControlSetCriticalityLevel;
    assert_eq!(
        machine.invoke(control, method, &[], &[]),
        Err(Error::Truncated)
    );
    assert_eq!(
        machine.invoke(boss.tcb, method, &[1], &[]),
        Err(Error::IllegalOperation)
    );
    let copy = machine.mint(control, Rights::NONE, 0);
    assert_eq!(machine.invoke(copy, method, &[0], &[]), Ok(vec![]));
}

#[test]
fn waiters_are_served_by_priority_at_every_level() {
    let mut machine = machine();
    let endpoint = machine.endpoint();
    let reply = machine.reply();
    let callers = [("critical", 10, 2), ("high", 20, 0)].map(|(name, priority, criticality)| {
        let task = spawn(&mut machine, name, priority, criticality);
        machine.set_priority(task, 250);
        if machine.runs(machine.root) {
            machine.rest();
        }
        machine.call(task, endpoint, &Message::new(0, &[]));
        machine.set_priority(task, priority);
        task
    });
    set_level(&mut machine, 2);
    let server = spawn(&mut machine, "server", 30, 7);
    for caller in [callers[1], callers[0]] {
        machine.recv(server, endpoint, reply);
        assert_eq!(machine.state(caller), State::Calling);
    }
}

/// A server whose client is gone exchanges the client's context for that of the next caller, in one entry.
#[test]
fn a_server_that_takes_over_time_of_another_criticality_has_its_rank() {
    let mut machine = machine();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = passive_server(&mut machine, "server", 30, endpoint, reply);
    set_threshold(&mut machine, endpoint, 1, 0).unwrap();
    let critical = spawn(&mut machine, "critical", 10, 2);
    machine.call(critical, endpoint, &word(1));
    let next = spawn(&mut machine, "next", 50, 0);
    machine.call(next, endpoint, &word(2));
    set_level(&mut machine, 1);
    let other = spawn(&mut machine, "other", 40, 0);
    machine.suspend(critical);
    assert!(machine.runs(server), "on critical time");

    machine.reply_recv(server, endpoint, reply, &word(0));
    assert_eq!(machine.running(), "other");
    machine.suspend(other);
    assert_eq!(machine.running(), "server");
}

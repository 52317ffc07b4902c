//! Remote accesses again and again, each just before a system call of the modified core.

use std::cell::Cell;
use std::rc::Rc;

use abi::{Method, ObjectType};
use host_machine::{Budget, CPtr, Machine, Message, Spec, State, Task};
use kernel::arch::UserContext;
use kernel::object::Fault;

fn thread(machine: &mut Machine, name: &'static str, priority: u8) -> Task {
    machine.spawn_on(1, Spec::new(name, priority).active())
}

fn suspended(machine: &mut Machine, name: &'static str, priority: u8) -> Task {
    let task = thread(machine, name, priority);
    machine.suspend(task);
    task
}

/// Two cores, a thread that runs on the second one, and a notification.
fn machine() -> (Machine, Task, CPtr) {
    let mut machine = Machine::with_cores(2);
    machine.rest();
    let bell = machine.create(ObjectType::Notification, 0);
    let caller = thread(&mut machine, "caller", 20);
    (machine, caller, bell)
}

fn runs(machine: &mut Machine) -> String {
    machine.on(1, |machine| machine.running())
}

/// The root task, on the first core, makes a remote access before each system call, at most `most`
/// times. The second core takes its IPI later. Returns the count of accesses.
fn access_before_calls(
    machine: &mut Machine,
    most: usize,
    mut access: impl FnMut(&mut Machine) + 'static,
) -> Rc<Cell<usize>> {
    let accesses = Rc::new(Cell::new(0));
    let count = accesses.clone();
    machine.others_are_late = true;
    machine.calls_are_slow = true;
    machine.before_calls = Some(Box::new(move |machine| {
        if count.get() < most {
            count.set(count.get() + 1);
            access(machine);
        }
    }));
    accesses
}

/// The caller's own registers are read, and its priority is set to what it is.
#[test]
fn system_calls_are_performed_however_often_another_core_reads_their_thread() {
    type Access = fn(&mut Machine, Task);
    let ways: [Access; 2] = [
        |machine, caller| {
            let read = machine.tcb(caller, Method::TcbReadRegisters, &[0, 2], &[]);
            assert!(read.is_ok());
        },
        |machine, caller| {
            let set = machine.tcb(caller, Method::TcbSetTlsBase, &[0], &[]);
            assert_eq!(set, Ok(vec![]));
        },
    ];
    for way in ways {
        let (mut machine, caller, bell) = machine();
        let accesses = access_before_calls(&mut machine, 1000, move |machine| way(machine, caller));
        for turn in 1..=5 {
            machine.on(1, |machine| machine.signal(caller, bell));
            machine.on(1, |machine| machine.wait(caller, bell));
            assert_eq!(machine.state(caller), State::Runnable);
            assert_eq!(accesses.get(), 2 * turn, "one remote access for each call");
        }
    }
}

#[test]
fn system_calls_are_performed_however_often_another_core_has_access() {
    type Access = fn(&mut Machine, Task);
    let ways: [Access; 3] = [
        |machine, other| {
            let set = machine.tcb(other, Method::TcbSetTlsBase, &[0], &[]);
            assert_eq!(set, Ok(vec![]));
        },
        |machine, other| {
            machine.resume(other);
            machine.suspend(other);
        },
        |machine, other| machine.resume(other),
    ];
    for way in ways {
        let (mut machine, caller, bell) = machine();
        let other = suspended(&mut machine, "other", 10);
        let accesses = access_before_calls(&mut machine, 1000, move |machine| way(machine, other));
        for turn in 1..=5 {
            machine.on(1, |machine| machine.signal(caller, bell));
            machine.on(1, |machine| machine.wait(caller, bell));
            assert_eq!(machine.state(caller), State::Runnable);
            assert_eq!(accesses.get(), 2 * turn, "one remote access for each call");
        }
        machine.on(1, |machine| machine.wait(caller, bell));
        assert_eq!(machine.state(caller), State::Waiting);
    }
}

/// The call is performed when its thread runs again.
#[test]
fn another_core_lets_a_higher_priority_thread_run_before_the_call() {
    let (mut machine, caller, bell) = machine();
    let above = suspended(&mut machine, "above", 30);
    access_before_calls(&mut machine, 1, move |machine| machine.resume(above));
    machine.on(1, |machine| machine.signal(caller, bell));
    assert_eq!(runs(&mut machine), "above");
    machine.suspend(above);
    machine.others_are_late = false;
    machine.advance(1);
    assert_eq!(runs(&mut machine), "caller");
    machine.on(1, |machine| machine.wait(caller, bell));
    assert_eq!(machine.state(caller), State::Runnable);
}

/// Its registers are written when it has just executed a system-call instruction.
#[test]
fn a_caller_whose_registers_another_core_writes_does_not_make_its_call() {
    let (mut machine, caller, bell) = machine();
    access_before_calls(&mut machine, 1, move |machine| {
        let written = machine.tcb(caller, Method::TcbWriteRegisters, &[0, 1, 0x4000], &[]);
        assert_eq!(written, Ok(vec![]));
    });
    machine.on(1, |machine| machine.signal(caller, bell));
    machine.others_are_late = false;
    machine.advance(1);
    let thread = caller.thread;
    assert_eq!(machine.kernel_of(1)[thread].context.next_pc(), 0x4000);
    machine.on(1, |machine| machine.wait(caller, bell));
    assert_eq!(machine.state(caller), State::Waiting);
}

/// It makes its call when it is resumed.
#[test]
fn another_core_that_stops_the_caller_postpones_its_call() {
    let (mut machine, caller, bell) = machine();
    let accesses = access_before_calls(&mut machine, 1, move |machine| machine.suspend(caller));
    machine.on(1, |machine| machine.signal(caller, bell));
    assert_eq!(
        (accesses.get(), machine.state(caller)),
        (1, State::Inactive)
    );
    machine.others_are_late = false;
    machine.resume(caller);
    machine.advance(1);
    assert_eq!(runs(&mut machine), "caller");
    machine.on(1, |machine| machine.wait(caller, bell));
    assert_eq!(machine.state(caller), State::Runnable);
}

#[test]
fn faults_are_delivered_however_often_another_core_has_access() {
    let (mut machine, handler, _) = machine();
    let endpoint = machine.create(ObjectType::Endpoint, 0);
    let reply = machine.create(ObjectType::Reply, 0);
    machine.on(1, |machine| machine.recv(handler, endpoint, reply));
    let spec = Spec::new("task", 10).active().fault_handler(endpoint);
    let task = machine.spawn_on(1, spec);
    let other = suspended(&mut machine, "other", 5);
    machine.others_are_late = true;
    let set = machine.tcb(other, Method::TcbSetTlsBase, &[0], &[]);
    assert_eq!(set, Ok(vec![]));
    machine.calls_are_slow = true;
    let fault = Fault::UserException { number: 3, code: 0 };
    machine.on(1, |machine| machine.fault(task, fault));
    assert_eq!(runs(&mut machine), "caller", "the handler");
}

/// Another core makes the budget of a running thread so small that it is used up before the thread's core
/// notices. A handler on the other core is told.
#[test]
fn a_budget_that_a_remote_access_ends_is_told_elsewhere() {
    for late in 150..210 {
        let (mut machine, _, _) = machine();
        let endpoint = machine.create(ObjectType::Endpoint, 0);
        let reply = machine.create(ObjectType::Reply, 0);
        let handler = machine.spawn_on(0, Spec::new("handler", 10).active());
        machine.recv(handler, endpoint, reply);
        let spec = Spec::new("task", 30).budget(Budget::new(1_000, 5_000));
        let task = machine.spawn_on(1, spec.timeout_handler(endpoint));
        machine.others_are_late = true;
        machine
            .configure_on(1, task.context, Budget::new(200, 5_000))
            .unwrap();
        machine.stall(late);
        machine.others_are_late = false;
        machine.advance(1_000);
        assert_eq!(runs(&mut machine), "caller", "{late}");
        assert_eq!(
            machine.on(0, |machine| machine.running()),
            "handler",
            "{late}"
        );
    }
}

/// The timer of `YieldToTimeout` ends the run of a thread that another core has suspended just before or after.
#[test]
fn a_suspended_thread_does_not_time_out() {
    for (before, after) in [(90, 20), (110, 0)] {
        let mut machine = Machine::with_cores(2);
        machine.rest();
        let timeouts = machine.create(ObjectType::Endpoint, 0);
        let reply = machine.create(ObjectType::Reply, 0);
        let scheduler = thread(&mut machine, "scheduler", 20);
        let budget = Budget::new(300, 10_000);
        let spec = Spec::new("target", 10)
            .budget(budget)
            .timeout_handler(timeouts);
        let target = machine.spawn_on(1, spec);
        let timer = machine.now() + 100;
        machine.on(1, |machine| {
            machine.yield_to_timeout(scheduler, target.context, timer, None)
        });
        machine.on(1, |machine| machine.recv(scheduler, timeouts, reply));
        assert_eq!(runs(&mut machine), "target");
        machine.others_are_late = true;
        machine.stall(before);
        machine.suspend(target);
        machine.stall(after);
        machine.others_are_late = false;
        machine.advance(1);
        assert_eq!(machine.state(target), State::Inactive);
        assert_eq!(machine.state(scheduler), State::Receiving);
    }
}

/// Its new core is late, and would read the context that stays behind.
#[test]
fn a_thread_that_migrates_has_its_answer_before() {
    type Migrate = fn(&mut Machine, Task);
    let ways: [Migrate; 2] = [
        |machine, caller| {
            let budget = Budget::new(1_000, 5_000);
            machine.configure_on(1, caller.context, budget).unwrap();
        },
        |machine, caller| {
            let budget = Budget::new(1_000, 5_000);
            let context = machine.new_context(budget);
            machine.configure_on(1, context, budget).unwrap();
            let unbind = Method::SchedContextUnbind;
            machine.invoke(caller.context, unbind, &[], &[]).unwrap();
            machine.bind(context, caller.tcb).unwrap();
        },
    ];
    for migrate in ways {
        let mut machine = Machine::with_cores(2);
        machine.rest();
        let [target, caller] =
            ["target", "caller"].map(|name| machine.spawn_on(0, Spec::new(name, 10).active()));
        if machine.runs(target) {
            machine.yield_now(target);
        }
        let message = Message::new(Method::SchedContextYieldTo.number(), &[]);
        machine.call(caller, target.context, &message);
        assert!(machine.runs(target));
        assert!(machine.kernel[caller.thread].yield_answer.is_some());
        machine.others_are_late = true;
        migrate(&mut machine, caller);
        assert!(machine.kernel[caller.thread].yield_answer.is_none());
        assert_eq!(machine.received(caller).label, 0);
    }
}

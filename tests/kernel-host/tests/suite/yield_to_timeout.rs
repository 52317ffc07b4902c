//! `SchedContext_YieldToTimeout`, and what replies to `SchedContext_YieldTo` report in addition to
//! seL4's.

use abi::fault::{FaultLabel, timeout_flags};
use abi::registers::MR;
use abi::{Method, slots, yield_target};
use host_machine::{Answer, Budget, CPtr, Machine, Message, Spec, State, Task, answer};
use kernel::invoke::Error;

use crate::common::{passive_server, server, waiter, word};

/// A scheduler, and the threads that it runs; it receives their timeouts.
struct Scene {
    machine: Machine,
    timeouts: CPtr,
    replies: Vec<CPtr>,
    scheduler: Task,
    threads: Vec<Task>,
}

const BUDGET: Budget = Budget::new(300, 10_000);

impl Scene {
    /// `priority` is that of the scheduler; the threads have priority 10 and wait for their first
    /// turn.
    fn new(priority: u8, budgets: &[Budget]) -> Self {
        let mut machine = Machine::new();
        let timeouts = machine.endpoint();
        let replies = budgets.iter().map(|_| machine.reply()).collect();
        let scheduler = machine.spawn(Spec::new("scheduler", priority).active());
        let threads = (budgets.iter().zip(0..))
            .map(|(budget, badge)| {
                let spec = Spec::new("thread", 10).budget(budget.badge(badge));
                machine.spawn(spec.timeout_handler(timeouts).suspended())
            })
            .collect();
        machine.rest();
        assert!(machine.runs(scheduler));
        let mut scene = Self {
            machine,
            timeouts,
            replies,
            scheduler,
            threads,
        };
        for thread in scene.threads.clone() {
            scene.machine.resume(thread);
            if priority > 10 {
                assert!(scene.machine.runs(scheduler));
            }
        }
        scene
    }

    fn yield_to(&mut self, thread: usize, time: u64, reply: bool) {
        let instant = self.machine.now() + time;
        let context = self.threads[thread].context;
        let reply = reply.then_some(self.replies[thread]);
        self.machine
            .yield_to_timeout(self.scheduler, context, instant, reply);
    }

    fn answer(&self) -> Answer {
        answer(self.machine.received(self.scheduler))
    }

    fn receive(&mut self, thread: usize) {
        let (endpoint, reply) = (self.timeouts, self.replies[thread]);
        self.machine.recv(self.scheduler, endpoint, reply);
    }

    /// The scheduler has received a timeout message.
    fn assert_told(&self, thread: usize, consumed: usize, flags: usize) {
        assert!(self.machine.runs(self.scheduler));
        let told = self.machine.received(self.scheduler);
        assert_eq!(told.label, FaultLabel::Timeout as usize);
        let now = self.machine.now() as usize;
        assert_eq!(told.words, [thread, consumed, flags, now]);
    }
}

#[test]
fn the_run_ends_on_time_and_the_handler_is_notified() {
    let mut scene = Scene::new(20, &[BUDGET]);
    scene.yield_to(0, 100, false);
    // A scheduler with a higher priority continues; the reply has the time.
    assert!(scene.machine.runs(scene.scheduler));
    let now = scene.machine.now() as usize;
    assert_eq!(scene.answer(), Ok(vec![0, yield_target::RUNNABLE, now]));
    scene.receive(0);
    assert!(scene.machine.runs(scene.threads[0]));
    scene.machine.advance(99);
    assert!(scene.machine.runs(scene.threads[0]));
    scene.machine.advance(1);
    scene.assert_told(0, 100, timeout_flags::INSTANT);
    assert_eq!(scene.machine.state(scene.threads[0]), State::Calling);
}

#[test]
fn the_budget_may_end_first() {
    let mut scene = Scene::new(20, &[BUDGET]);
    scene.yield_to(0, 400, false);
    scene.receive(0);
    scene.machine.advance(300);
    scene.assert_told(0, 300, 0);
    // This ends the timer as well.
    let reply = scene.replies[0];
    scene
        .machine
        .send(scene.scheduler, reply, &Message::default());
    scene.receive(0);
    scene
        .machine
        .advance_until(|machine| machine.running() == "thread");
    scene.machine.advance(299);
    assert!(scene.machine.runs(scene.threads[0]));
}

#[test]
fn one_call_and_one_receive_are_a_turn() {
    let mut scene = Scene::new(20, &[BUDGET, BUDGET]);
    for thread in [0, 1] {
        scene.yield_to(thread, 50, false);
        scene.receive(thread);
        scene.machine.advance(50);
        scene.assert_told(thread, 50, timeout_flags::INSTANT);
    }
    for round in 0..4 {
        let thread = round % 2;
        scene.yield_to(thread, 50, true);
        scene.receive(thread);
        assert!(scene.machine.runs(scene.threads[thread]));
        scene.machine.advance(50);
        scene.assert_told(thread, 50, timeout_flags::INSTANT);
    }
}

#[test]
fn an_equal_scheduler_waits_and_learns_how_it_ended() {
    let mut scene = Scene::new(10, &[Budget::slice(5_000)]);
    let bell = scene.machine.notification();
    scene
        .machine
        .advance_until(|machine| machine.running() == "scheduler");
    let start = scene.machine.now();
    scene.yield_to(0, 100, false);
    assert!(scene.machine.runs(scene.threads[0]));
    scene.machine.advance(30);
    scene.machine.wait(scene.threads[0], bell);
    assert!(scene.machine.runs(scene.scheduler));
    let Ok(words) = scene.answer() else {
        panic!("it is answered");
    };
    let now = (start + 30) as usize;
    assert_eq!(words[1..], [yield_target::BLOCKED, now]);
    // The timer stays set: a later wake-up of the thread is reported to the handler.
    scene.receive(0);
    scene.machine.advance(100);
    scene
        .machine
        .by_root(|machine, root| machine.signal(root, bell));
    let told = scene.machine.received(scene.scheduler);
    let flags = timeout_flags::INSTANT | timeout_flags::BLOCKED;
    assert_eq!(told.words[2..], [flags, scene.machine.now() as usize]);
}

#[test]
fn what_was_received_before_the_timeout_is_not_lost() {
    let mut scene = Scene::new(20, &[BUDGET]);
    let (endpoint, reply) = (scene.machine.endpoint(), scene.machine.reply());
    scene.yield_to(0, 100, false);
    scene.receive(0);
    scene.machine.recv(scene.threads[0], endpoint, reply);
    scene.machine.advance(200);
    let message = Message::new(0, &[5]);
    scene
        .machine
        .by_root(|machine, root| machine.nb_send(root, endpoint, &message));
    scene.assert_told(0, 0, timeout_flags::INSTANT | timeout_flags::BLOCKED);
    scene.yield_to(0, 100, true);
    scene.receive(0);
    assert!(scene.machine.runs(scene.threads[0]));
    assert_eq!(scene.machine.received(scene.threads[0]).words, [5]);
}

#[test]
fn a_time_that_has_passed_is_answered_with_the_time_only() {
    let mut scene = Scene::new(10, &[BUDGET]);
    scene
        .machine
        .advance_until(|machine| machine.running() == "scheduler");
    let context = scene.threads[0].context;
    let instant = scene.machine.now();
    scene
        .machine
        .yield_to_timeout(scene.scheduler, context, instant, None);
    assert!(scene.machine.runs(scene.scheduler));
    let Ok(words) = scene.answer() else {
        panic!("it is answered");
    };
    assert_eq!(words[2], instant as usize);
}

#[test]
fn without_handler_the_turn_ends() {
    let mut scene = Scene::new(10, &[Budget::slice(5_000)]);
    let thread = scene.threads[0];
    scene
        .machine
        .tcb(thread, Method::TcbSetTimeoutEndpoint, &[], &[0])
        .unwrap();
    scene
        .machine
        .advance_until(|machine| machine.running() == "scheduler");
    scene.yield_to(0, 100, false);
    assert!(scene.machine.runs(thread));
    scene.machine.advance(99);
    assert!(scene.machine.runs(thread));
    scene.machine.advance(1);
    assert!(scene.machine.runs(scene.scheduler));
    let now = scene.machine.now() as usize;
    let Ok(words) = scene.answer() else {
        panic!("it is answered");
    };
    assert_eq!(words[1..], [yield_target::RUNNABLE, now]);
}

#[test]
fn time_slices_end_by_a_timer_as_well() {
    let mut scene = Scene::new(20, &[Budget::slice(5_000)]);
    scene.yield_to(0, 100, false);
    scene.receive(0);
    scene.machine.advance(100);
    scene.assert_told(0, 100, timeout_flags::INSTANT);
}

#[test]
fn a_preempted_run_ends_when_it_would_go_on() {
    let mut scene = Scene::new(20, &[BUDGET]);
    let bell = scene.machine.notification();
    let middle = waiter(&mut scene.machine, "middle", 15, bell);
    scene.yield_to(0, 100, false);
    scene.receive(0);
    scene.machine.advance(60);
    scene
        .machine
        .by_root(|machine, root| machine.signal(root, bell));
    assert!(scene.machine.runs(middle));
    scene.machine.advance(80);
    assert!(scene.machine.runs(middle), "nothing that matters happens");
    scene.machine.wait(middle, bell);
    scene.assert_told(0, 60, timeout_flags::INSTANT);
}

#[test]
fn the_timer_follows_lent_time() {
    let mut scene = Scene::new(20, &[BUDGET]);
    let (endpoint, reply) = (scene.machine.endpoint(), scene.machine.reply());
    let server = passive_server(&mut scene.machine, "server", 10, endpoint, reply);
    scene
        .machine
        .tcb(
            server,
            Method::TcbSetTimeoutEndpoint,
            &[],
            &[scene.timeouts],
        )
        .unwrap();
    scene.yield_to(0, 100, false);
    scene.receive(0);
    scene.machine.advance(40);
    scene.machine.call(scene.threads[0], endpoint, &word(1));
    assert!(scene.machine.runs(server));
    scene.machine.advance(60);
    scene.assert_told(0, 100, timeout_flags::INSTANT);
    assert_eq!(scene.machine.state(server), State::Calling);
}

#[test]
fn a_scheduler_has_one_timer() {
    let mut scene = Scene::new(20, &[BUDGET, BUDGET]);
    scene.yield_to(0, 100, false);
    scene.yield_to(1, 150, false);
    scene.receive(0);
    assert!(scene.machine.runs(scene.threads[1]));
    scene.machine.advance(150);
    scene.assert_told(1, 150, timeout_flags::INSTANT);
    scene.receive(0);
    // The first thread runs until its budget is used up.
    assert!(scene.machine.runs(scene.threads[0]));
    scene.machine.advance(299);
    assert!(scene.machine.runs(scene.threads[0]));
    scene.machine.advance(1);
    // No timer is left that would make the message longer.
    let told = scene.machine.received(scene.scheduler);
    assert_eq!(told.words, [0, 300]);
}

#[test]
fn the_timer_ends_with_the_thread_that_set_it() {
    for how in 0..3 {
        let mut scene = Scene::new(20, &[BUDGET]);
        let (endpoint, reply) = (scene.machine.endpoint(), scene.machine.reply());
        scene.yield_to(0, 100, false);
        scene.machine.recv(scene.scheduler, endpoint, reply);
        match how {
            0 => scene.machine.suspend(scene.scheduler),
            1 => scene.machine.delete(scene.scheduler.tcb),
            _ => {
                let other = scene.machine.spawn(Spec::new("other", 20).active());
                let context = scene.threads[0].context;
                let message = Message::new(Method::SchedContextYieldTo.number(), &[]);
                scene.machine.call(other, context, &message);
                scene.machine.suspend(other);
            }
        }
        assert!(scene.machine.runs(scene.threads[0]));
        scene.machine.advance(299);
        assert!(scene.machine.runs(scene.threads[0]), "{how}");
    }
}

#[test]
fn bad_calls_are_refused() {
    let mut scene = Scene::new(20, &[BUDGET, BUDGET]);
    let context = scene.threads[0].context;
    let scheduler = scene.scheduler;
    let label = Method::SchedContextYieldToTimeout.number();
    scene
        .machine
        .call(scheduler, context, &Message::new(label, &[]));
    assert_eq!(scene.answer(), Err(Error::Truncated));
    for instant in [u64::MAX, u64::MAX - 1] {
        scene
            .machine
            .yield_to_timeout(scheduler, context, instant, None);
        // The clock of this machine counts microseconds.
        let maximum = u64::MAX as usize - 1;
        let expected = match instant {
            u64::MAX => Err(Error::Range {
                minimum: 0,
                maximum,
            }),
            _ => Ok(()),
        };
        assert_eq!(scene.answer().map(drop), expected);
    }
    // Only the reply object of this thread's timeout message is accepted.
    let (reply, endpoint) = (scene.replies[0], scene.timeouts);
    for (cap, error) in [
        (reply, Error::IllegalOperation),
        (endpoint, Error::InvalidCapability(1)),
    ] {
        scene
            .machine
            .yield_to_timeout(scheduler, context, 1 << 40, Some(cap));
        assert_eq!(scene.answer(), Err(error));
    }
    scene
        .machine
        .yield_to_timeout(scheduler, scheduler.context, 1 << 40, None);
    assert_eq!(scene.answer(), Err(Error::IllegalOperation));
    scene
        .machine
        .tcb(
            scheduler,
            Method::TcbSetMcPriority,
            &[9],
            &[slots::INIT_THREAD_TCB],
        )
        .unwrap();
    scene
        .machine
        .yield_to_timeout(scheduler, context, 1 << 40, None);
    assert_eq!(scene.answer(), Err(Error::IllegalOperation));
}

#[test]
fn a_reply_to_another_thread_does_not_count() {
    let mut scene = Scene::new(20, &[BUDGET, BUDGET]);
    scene.yield_to(0, 100, false);
    scene.receive(0);
    scene.machine.advance(100);
    let context = scene.threads[1].context;
    let reply = scene.replies[0];
    scene
        .machine
        .yield_to_timeout(scene.scheduler, context, 1 << 40, Some(reply));
    assert_eq!(scene.answer(), Err(Error::IllegalOperation));
    assert_eq!(scene.machine.state(scene.threads[0]), State::Calling);
}

/// The register after the reply of `YieldTo`.
fn told_behind(machine: &mut Machine, yielder: Task, context: CPtr) -> usize {
    let message = Message::new(Method::SchedContextYieldTo.number(), &[]);
    machine.call(yielder, context, &message);
    assert!(machine.runs(yielder));
    let received = machine.received(yielder);
    assert_eq!((received.label, received.words.len()), (0, 1));
    machine.register(yielder, MR[1])
}

#[test]
fn yield_to_tells_what_the_target_does() {
    let mut machine = Machine::new();
    let (faults, reply) = (machine.endpoint(), machine.reply());
    let yielder = machine.spawn(Spec::new("yielder", 20).active());
    machine.rest();
    let ready = machine.spawn(Spec::new("ready", 10).active());
    let state = told_behind(&mut machine, yielder, ready.context);
    assert_eq!(state, yield_target::RUNNABLE);
    machine.suspend(ready);
    let state = told_behind(&mut machine, yielder, ready.context);
    assert_eq!(state, yield_target::STOPPED);
    let receiver = server(&mut machine, "receiver", 10, faults, reply);
    let state = told_behind(&mut machine, yielder, receiver.context);
    assert_eq!(state, yield_target::BLOCKED);
    let sleeper = machine.spawn(Spec::new("sleeper", 30).budget(Budget::new(50, 5000)));
    machine.advance(50);
    let state = told_behind(&mut machine, yielder, sleeper.context);
    assert_eq!(state, yield_target::OUT_OF_TIME);
    let spec = Spec::new("late", 30).budget(Budget::new(50, 5000));
    let late = machine.spawn(spec.timeout_handler(faults));
    machine.advance(50);
    let state = told_behind(&mut machine, yielder, late.context);
    assert_eq!(state, yield_target::TIMED_OUT);
}

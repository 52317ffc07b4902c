//! Fast paths of a scheduler at user level: a turn by `NBSendRecv`, the end of its timer, and the call that ends it
//! before. Each test of a condition breaks only that one.

use abi::endpoint_flags::LIMIT;
use abi::fault::{FaultLabel, timeout_flags};
use abi::{Method, Rights};
use host_machine::{Budget, CPtr, Machine, Message, Spec, State, Task};
use kernel::object::Fault;

use crate::common::{passive_server, word};
use crate::thresholds::set_threshold;

pub(super) const BUDGET: Budget = Budget::new(300, 10_000).badge(7);

/// A scheduler, and two threads of lower priority that wait for the replies to their calls.
pub(super) struct Scene {
    pub(super) machine: Machine,
    pub(super) endpoint: CPtr,
    pub(super) scheduler: Task,
    pub(super) threads: [Task; 2],
    replies: [CPtr; 2],
}

/// The arguments of a turn.
pub(super) struct Turn {
    method: Method,
    words: Vec<usize>,
    pub(super) caps: Vec<CPtr>,
    pub(super) context: CPtr,
    pub(super) source: CPtr,
    pub(super) reply: CPtr,
}

impl Scene {
    fn new(budget: Budget) -> Self {
        Self::of(Machine::new(), budget)
    }

    pub(super) fn of(mut machine: Machine, budget: Budget) -> Self {
        let endpoint = machine.endpoint();
        let replies = [machine.reply(), machine.reply()];
        let scheduler = machine.spawn(Spec::new("scheduler", 20).active());
        machine.rest();
        let threads = replies.map(|reply| {
            let spec = Spec::new("thread", 10).budget(budget);
            let thread = machine.spawn(spec.timeout_handler(endpoint).fault_handler(endpoint));
            machine.recv(scheduler, endpoint, reply);
            machine.call(thread, endpoint, &word(1));
            thread
        });
        let scene = Self {
            machine,
            endpoint,
            scheduler,
            threads,
            replies,
        };
        assert!(scene.machine.runs(scheduler));
        scene
    }

    /// The first thread gets `time`; the scheduler receives with the reply object that this frees.
    pub(super) fn turn(&self, time: u64) -> Turn {
        Turn {
            method: Method::SchedContextYieldToTimeout,
            words: vec![(self.machine.now() + time) as usize],
            caps: vec![self.replies[0]],
            context: self.threads[0].context,
            source: self.endpoint,
            reply: self.replies[0],
        }
    }

    /// How many fast paths were taken.
    fn count(&mut self, act: impl FnOnce(&mut Self)) -> usize {
        let before = self.machine.kernel.instruments.watch.fast_paths;
        act(self);
        self.machine.kernel.instruments.watch.fast_paths - before
    }

    pub(super) fn is_fast(&mut self, act: impl FnOnce(&mut Self)) -> bool {
        self.count(act) > 0
    }

    pub(super) fn take(&mut self, turn: &Turn) {
        let message = Message::new(turn.method.number(), &turn.words).with_caps(&turn.caps);
        let (context, source, reply) = (turn.context, turn.source, turn.reply);
        (self.machine).nb_send_recv(self.scheduler, context, &message, source, reply);
    }

    /// The first thread runs for at most `time`.
    fn start(&mut self, time: u64) -> bool {
        let turn = self.turn(time);
        let is_fast = self.is_fast(|scene| scene.take(&turn));
        assert!(self.machine.runs(self.threads[0]));
        is_fast
    }

    pub(super) fn call(&mut self) -> bool {
        self.is_fast(|scene| {
            (scene.machine).call(scene.threads[0], scene.endpoint, &word(2));
        })
    }

    /// Lets the first thread run without a turn: `task` sets the timer instead.
    fn let_run(&mut self, task: Task, time: u64) {
        self.answer();
        let machine = &mut self.machine;
        let instant = machine.now() + time;
        machine.yield_to_timeout(task, self.threads[0].context, instant, None);
    }

    /// Answers the first thread by another system call.
    pub(super) fn answer(&mut self) {
        let (scheduler, reply) = (self.scheduler, self.replies[0]);
        self.machine.send(scheduler, reply, &Message::default());
    }

    /// Lets the scheduler wait.
    pub(super) fn receive(&mut self) {
        let (scheduler, reply) = (self.scheduler, self.replies[0]);
        self.machine.recv(scheduler, self.endpoint, reply);
    }

    /// Gives the scheduler a notification.
    pub(super) fn bind_to_scheduler(&mut self, bell: CPtr) {
        let bind = Method::TcbBindNotification;
        (self.machine.tcb(self.scheduler, bind, &[], &[bell])).unwrap();
    }

    fn configure(&mut self, budget: Budget) {
        let context = self.threads[0].context;
        self.machine.configure(context, budget).unwrap();
    }

    /// Another thread, which is ready or runs.
    fn spawn(&mut self, priority: u8, budget: Budget) -> Task {
        self.machine
            .spawn(Spec::new("other", priority).budget(budget))
    }

    fn assert_told(&self, used: usize, flags: usize) {
        assert!(self.machine.runs(self.scheduler));
        let told = self.machine.received(self.scheduler);
        assert_eq!(told.label, FaultLabel::Timeout as usize);
        let now = self.machine.now() as usize;
        assert_eq!(told.words, [7, used, flags, now]);
        assert_eq!(self.machine.state(self.threads[0]), State::Calling);
    }
}

const INSTANT: usize = timeout_flags::INSTANT;

#[test]
fn turns_and_what_ends_them_are_short() {
    for budget in [BUDGET, BUDGET.sporadic(), Budget::slice(300).badge(7)] {
        let mut scene = Scene::new(budget);
        for _ in 0..2 {
            assert!(scene.start(100));
            scene.machine.advance(60);
            assert!(scene.call());
            assert!(scene.machine.runs(scene.scheduler));
            assert_eq!(scene.machine.received(scene.scheduler).words, [2]);
            assert!(scene.start(40));
            assert!(!scene.is_fast(|scene| scene.machine.advance(39)));
            assert!(scene.is_fast(|scene| scene.machine.advance(1)));
            scene.assert_told(40, INSTANT);
        }
    }
}

#[test]
fn the_end_of_a_budget_before_the_timer_is_short() {
    let mut scene = Scene::new(BUDGET);
    assert!(scene.start(400));
    assert!(scene.is_fast(|scene| scene.machine.advance(300)));
    scene.assert_told(300, 0);
}

#[test]
fn the_scheduler_has_one_timer_and_may_receive_with_another_reply_object() {
    let mut scene = Scene::new(BUDGET);
    assert!(scene.start(100));
    assert!(scene.call());
    let mut turn = scene.turn(50);
    (turn.context, turn.caps) = (scene.threads[1].context, vec![scene.replies[1]]);
    turn.reply = scene.machine.reply();
    assert!(scene.is_fast(|scene| scene.take(&turn)));
    assert!(scene.machine.runs(scene.threads[1]));
    // The timer of the first thread has ended.
    assert!(scene.is_fast(|scene| scene.machine.advance(50)));
    assert_eq!(scene.machine.received(scene.scheduler).words[1], 50);
    scene
        .machine
        .recv(scene.scheduler, scene.endpoint, scene.replies[1]);
    assert_eq!(scene.machine.running(), "none");
}

type Break = fn(&mut Scene, &mut Turn);

/// Breaks one condition of a turn each.
const TURNS: [(&str, Break); 26] = [
    ("another method", |_, turn| {
        turn.method = Method::SchedContextConsumed;
    }),
    ("no extra capability", |scene, turn| {
        let scheduler = scene.scheduler;
        let buffer = scene.machine.buffer_mut(scheduler).unwrap();
        buffer.caps_or_badges[0] = turn.caps.pop().unwrap();
    }),
    ("an extra capability that does not exist", |_, turn| {
        turn.caps.push(0x7fff);
    }),
    ("no time", |_, turn| turn.words.clear()),
    ("another object", |scene, turn| {
        turn.context = scene.threads[0].tcb;
    }),
    ("not a reply object", |scene, turn| {
        turn.caps = vec![scene.endpoint];
    }),
    ("no thread", |scene, turn| {
        turn.context = scene.machine.new_context(BUDGET);
    }),
    (
        "a priority that the scheduler does not control",
        |scene, _| {
            let set = Method::TcbSetMcPriority;
            let auth = [abi::slots::INIT_THREAD_TCB];
            (scene.machine.tcb(scene.scheduler, set, &[9], &auth)).unwrap();
        },
    ),
    ("the reply object of another thread", |scene, turn| {
        turn.caps = vec![scene.replies[1]];
        turn.reply = scene.machine.reply();
    }),
    ("a thread that waits for a message", |scene, turn| {
        let (endpoint, reply) = (scene.machine.endpoint(), scene.machine.reply());
        let other = scene.spawn(21, BUDGET);
        scene.machine.recv(other, endpoint, reply);
        scene.machine.set_priority(other, 10);
        (turn.context, turn.caps) = (other.context, vec![reply]);
        turn.reply = scene.machine.reply();
    }),
    ("another fault", |scene, turn| {
        let reply = scene.machine.reply();
        scene.let_run(scene.scheduler, 1000);
        scene.machine.recv(scene.scheduler, scene.endpoint, reply);
        let fault = Fault::UserException { number: 6, code: 0 };
        scene.machine.fault(scene.threads[0], fault);
        turn.caps = vec![reply];
    }),
    ("a call that has lent a context", |scene, turn| {
        let (endpoint, reply) = (scene.machine.endpoint(), scene.machine.reply());
        passive_server(&mut scene.machine, "server", 15, endpoint, reply);
        scene.let_run(scene.scheduler, 1000);
        let spare = scene.machine.reply();
        let caller = scene.spawn(25, BUDGET);
        scene.machine.call(caller, endpoint, &word(1));
        scene.machine.set_priority(caller, 10);
        let context = scene.machine.new_context(BUDGET);
        scene.machine.bind(context, caller.tcb).unwrap();
        (turn.context, turn.caps, turn.reply) = (context, vec![reply], spare);
    }),
    ("a timer of another thread", |scene, _| {
        let other = scene.spawn(21, Budget::slice(10_000));
        scene.machine.suspend(other);
        scene.answer();
        scene.machine.resume(other);
        let instant = scene.machine.now() + 1000;
        let context = scene.threads[0].context;
        scene
            .machine
            .yield_to_timeout(other, context, instant, None);
        let idle = scene.machine.endpoint();
        scene.machine.wait(other, idle);
        scene.receive();
        assert!(scene.call());
    }),
    ("a time that is out of range", |_, turn| {
        turn.words = vec![usize::MAX];
    }),
    ("no right to receive", |scene, turn| {
        turn.source = scene.machine.mint(scene.endpoint, Rights::WRITE, 0);
    }),
    ("no endpoint", |scene, turn| {
        turn.source = scene.replies[1];
    }),
    ("a reply object that is in use", |scene, turn| {
        turn.reply = scene.replies[1];
    }),
    ("a threshold", |scene, _| {
        set_threshold(&mut scene.machine, scene.endpoint, 30, 0).unwrap();
    }),
    ("a sender that waits", |scene, _| {
        let other = scene.spawn(21, BUDGET);
        scene.machine.call(other, scene.endpoint, &word(3));
    }),
    ("a signal", |scene, _| {
        let bell = scene.machine.notification();
        scene.bind_to_scheduler(bell);
        let other = scene.spawn(21, BUDGET);
        scene.machine.signal(other, bell);
        scene.machine.suspend(other);
    }),
    ("a notification that lends time", |scene, _| {
        let (bell, context) = (
            scene.machine.notification(),
            scene.machine.new_context(BUDGET),
        );
        scene.machine.bind(context, bell).unwrap();
        scene.bind_to_scheduler(bell);
    }),
    ("no budget of the scheduler", |scene, turn| {
        let context = scene.scheduler.context;
        (scene.machine.configure(context, Budget::new(100, 5000))).unwrap();
        scene.machine.advance(90);
        turn.words[0] += 90;
    }),
    ("no budget of the thread", |scene, turn| {
        assert!(scene.start(400));
        scene.machine.advance(300);
        turn.words[0] += 300;
    }),
    ("a limit", |scene, turn| {
        // A server calls on time that it was lent with a limit.
        let endpoints = [scene.machine.endpoint(), scene.machine.endpoint()];
        let replies = [scene.machine.reply(), scene.machine.reply()];
        for (endpoint, limit) in endpoints.into_iter().zip([200, 100]) {
            set_threshold(&mut scene.machine, endpoint, limit, LIMIT).unwrap();
        }
        let server = passive_server(&mut scene.machine, "server", 15, endpoints[0], replies[0]);
        let client = scene.spawn(5, BUDGET);
        scene
            .machine
            .recv(scene.scheduler, endpoints[1], replies[1]);
        scene.machine.call(client, endpoints[0], &word(1));
        scene.machine.call(server, endpoints[1], &word(1));
        (turn.context, turn.caps) = (client.context, vec![replies[1]]);
        turn.reply = replies[1];
    }),
    ("an idling context", |scene, _| {
        scene.configure(BUDGET.idling());
    }),
    ("a criticality", |scene, _| {
        let thread = scene.threads[0];
        scene.machine.set_criticality(thread, 1);
    }),
];

#[test]
fn turns_with_one_unusual_condition_are_not_short() {
    for (condition, break_it) in TURNS {
        let mut scene = Scene::new(BUDGET);
        let mut turn = scene.turn(1000);
        break_it(&mut scene, &mut turn);
        assert!(scene.machine.runs(scene.scheduler), "{condition}");
        assert!(!scene.is_fast(|scene| scene.take(&turn)), "{condition}");
    }
}

/// Its message comes at once, by a fast path of its own.
#[test]
fn turns_until_a_time_that_has_passed_are_not_short() {
    let mut scene = Scene::new(BUDGET);
    let turn = scene.turn(0);
    assert_eq!(scene.count(|scene| scene.take(&turn)), 1);
    scene.assert_told(0, INSTANT);
}

#[test]
fn turns_beside_higher_priority_threads_are_not_short() {
    let mut scene = Scene::new(BUDGET);
    let ready = scene.spawn(15, BUDGET);
    let turn = scene.turn(1000);
    assert!(!scene.is_fast(|scene| scene.take(&turn)));
    assert!(scene.machine.runs(ready));

    let mut scene = Scene::new(BUDGET);
    let due = scene.spawn(25, Budget::new(100, 1000));
    scene.machine.advance(100);
    scene.machine.set_priority(due, 15);
    scene.machine.advance(2000);
    assert!(scene.machine.runs(scene.scheduler));
    let turn = scene.turn(1000);
    assert!(!scene.is_fast(|scene| scene.take(&turn)));
    assert!(scene.machine.runs(due));
}

type Change = fn(&mut Scene);

/// Break one condition of the end of a timer each.
const TIMERS: [(&str, Change); 4] = [
    ("an idling context", |scene| {
        scene.configure(BUDGET.idling());
        scene.start(100);
    }),
    ("a criticality", |scene| {
        let thread = scene.threads[0];
        scene.machine.set_criticality(thread, 1);
        scene.start(100);
    }),
    ("a timeslice", |scene| {
        scene.configure(Budget::slice(100));
        scene.start(1000);
    }),
    ("the release of another thread", |scene| {
        let other = scene.spawn(25, Budget::new(50, 150));
        scene.machine.advance(50);
        assert!(scene.machine.runs(scene.scheduler));
        assert!(scene.start(1000));
        assert!(!scene.machine.runs(other));
    }),
];

#[test]
fn ends_of_timers_with_one_unusual_condition_are_not_short() {
    for (condition, change) in TIMERS {
        let mut scene = Scene::new(BUDGET);
        change(&mut scene);
        assert!(scene.machine.runs(scene.threads[0]), "{condition}");
        assert!(
            !scene.is_fast(|scene| scene.machine.advance(100)),
            "{condition}"
        );
    }
}

/// Break one condition of a call beside a timer each.
const CALLS: [(&str, Change); 4] = [
    ("an idling context", |scene| {
        scene.configure(BUDGET.idling());
        scene.start(100);
    }),
    ("a criticality", |scene| {
        let thread = scene.threads[0];
        scene.machine.set_criticality(thread, 1);
        scene.start(100);
    }),
    ("a criticality at a raised level", |scene| {
        let (root, thread) = (scene.machine.root, scene.threads[0]);
        scene.machine.set_criticality(root, 7);
        scene.machine.set_criticality(thread, 1);
        scene.start(100);
        scene.machine.set_level(1).unwrap();
    }),
    ("a deferred message", |scene| {
        let guarded = scene.machine.endpoint();
        set_threshold(&mut scene.machine, guarded, 250, 0).unwrap();
        scene.let_run(scene.scheduler, 50_000);
        scene.receive();
        let thread = scene.threads[0];
        assert!(scene.machine.runs(thread));
        scene.machine.advance(60);
        // It waits for its next replenishment, and then does something else.
        scene.machine.call(thread, guarded, &word(1));
        assert_eq!(scene.machine.running(), "none");
        scene.machine.divert(thread);
        scene.machine.advance_until(|machine| machine.runs(thread));
    }),
];

#[test]
fn calls_beside_a_timer_with_one_unusual_condition_are_not_short() {
    for (condition, change) in CALLS {
        let mut scene = Scene::new(BUDGET);
        change(&mut scene);
        assert!(scene.machine.runs(scene.threads[0]), "{condition}");
        assert!(!scene.call(), "{condition}");
    }
}

/// A timer interrupt that is late, when the thread faults.
#[test]
fn faults_after_the_end_of_a_timer_or_budget_are_not_short() {
    for (time, late, flags) in [(1000, 290, None), (100, 100, Some(INSTANT))] {
        let mut scene = Scene::new(BUDGET);
        scene.start(time);
        scene.machine.stall(late);
        let fault = Fault::UserException { number: 6, code: 0 };
        let thread = scene.threads[0];
        assert!(!scene.is_fast(|scene| scene.machine.fault(thread, fault)));
        scene.assert_told(late as usize, flags.unwrap_or(0));
    }
    let mut scene = Scene::new(BUDGET);
    scene.start(1000);
    let fault = Fault::UserException { number: 6, code: 0 };
    let thread = scene.threads[0];
    assert!(scene.is_fast(|scene| scene.machine.fault(thread, fault)));
}

/// A thread whose timer has ended by another turn runs without one.
#[test]
fn after_its_timer_one_call_is_not_short() {
    let mut scene = Scene::new(BUDGET);
    scene.start(200);
    assert!(scene.call());
    let turn = Turn {
        caps: vec![scene.replies[1]],
        context: scene.threads[1].context,
        reply: scene.replies[1],
        ..scene.turn(200)
    };
    scene.take(&turn);
    scene
        .machine
        .call(scene.threads[1], scene.endpoint, &word(3));
    let is_fast = [(); 2].map(|()| {
        let message = Message::default();
        scene
            .machine
            .reply_recv(scene.scheduler, scene.endpoint, scene.replies[0], &message);
        assert!(scene.machine.runs(scene.threads[0]));
        scene.call()
    });
    assert_eq!(is_fast, [false, true]);
}

//! The scenarios that are played on host and target.

use abi::{Method, Syscall, WORD_BITS, slots};
use host_machine::machine::Operands;
use host_machine::{Answer, Budget, CPtr, Machine, Message, Spec, Task};
use kernel::invoke::Error;
use kernel_scenarios::{LAST, NOTHING, Object, PRIORITY, Scenario, Step, Thread, Time};

use crate::common::{make_passive, word};

/// A budget for once: the next replenishment is later than any scenario.
const ONCE: Budget = Budget::new(100, 1_000_000_000);
/// The label in the register of a receiver that has got no message.
const NO_MESSAGE: usize = 999;
/// A system call number that no kernel has.
const UNKNOWN: usize = 999;

/// A thread of a scenario.
struct Player {
    task: Task,
    endpoint: CPtr,
    reply: CPtr,
    time: Time,
    steps: std::slice::Iter<'static, Step>,
    /// Whether its last step ends with a message, if there is one.
    gets_message: bool,
    /// Whether it has begun to compute.
    spins: bool,
}

struct Play {
    machine: Machine,
    players: Vec<Player>,
    notification: CPtr,
    never: CPtr,
    notes: String,
}

fn play(scenario: &'static Scenario) {
    let mut play = Play::new(scenario);
    while play.step() {}
    assert_eq!(play.notes, scenario.notes);
}

impl Play {
    fn new(scenario: &'static Scenario) -> Self {
        let mut machine = Machine::new();
        let (notification, never) = (machine.notification(), machine.notification());
        let first = [Thread {
            priority: PRIORITY,
            time: Time::Slice,
            reports: false,
            steps: scenario.first,
        }];
        let faults = machine.endpoint();
        let players = first.iter().chain(scenario.others).enumerate();
        let players = players.map(|(number, thread)| {
            let mut spec = Spec::new("player", thread.priority).suspended().active();
            if thread.time == Time::Once {
                spec = spec.budget(ONCE);
            }
            if number != 0 {
                spec = spec.fault_handler(faults);
            }
            if thread.reports {
                spec = spec.timeout_handler(faults);
            }
            Player {
                task: machine.spawn(spec),
                endpoint: if number == 0 {
                    faults
                } else {
                    machine.endpoint()
                },
                reply: machine.reply(),
                time: thread.time,
                steps: thread.steps.iter(),
                gets_message: false,
                spins: false,
            }
        });
        let players = players.collect();
        let mut play = Self {
            machine,
            players,
            notification,
            never,
            notes: String::new(),
        };
        // Passive threads run until they wait.
        for index in 1..play.players.len() {
            let Player { task, time, .. } = play.players[index];
            if time == Time::None {
                play.start(task);
                while play.machine.runs(task) {
                    play.step();
                }
                make_passive(&mut play.machine, task);
            }
        }
        play.start(play.players[0].task);
        play
    }

    fn start(&mut self, task: Task) {
        self.machine.resume(task);
        if self.machine.runs(self.machine.root) {
            self.machine.rest();
        }
    }

    /// Makes the next step of the running thread; returns whether there was one, or the thread is not the first.
    fn step(&mut self) -> bool {
        let players = self.players.iter();
        let current = players
            .enumerate()
            .find(|(_, player)| self.machine.runs(player.task));
        let (number, _) = current.expect("the first thread never waits for ever");
        let player = &mut self.players[number];
        let task = player.task;
        if std::mem::take(&mut player.gets_message) {
            let received = self.machine.received(task);
            self.notes.push(match received.label {
                0 => received.words[0] as u8 as char,
                NO_MESSAGE => NOTHING,
                label => char::from_digit(label as u32, 10).expect("a known label"),
            });
        }
        // The others have run.
        if number == 0 && self.machine.thread(task).priority == LAST {
            self.set_priority(0, PRIORITY);
            return true;
        }
        if player.spins {
            self.machine.advance_until(|machine| !machine.runs(task));
            return true;
        }
        let Some(step) = player.steps.next() else {
            if number != 0 {
                self.machine.wait(task, self.never);
            }
            return number != 0;
        };
        self.make(number, *step);
        true
    }

    fn make(&mut self, number: usize, step: Step) {
        let player = &mut self.players[number];
        let Player {
            task,
            endpoint: own,
            reply,
            ..
        } = *player;
        player.gets_message = matches!(
            step,
            Step::Call(_)
                | Step::CallTo(..)
                | Step::Recv
                | Step::ReplyRecv(_)
                | Step::Serve
                | Step::Answer(_)
                | Step::Poll(_)
                | Step::Hear
                | Step::Reuse(_)
        );
        player.spins = matches!(step, Step::Spin);
        let endpoint = self.players[0].endpoint;
        let of = |number: usize| &self.players[number];
        let letter = |letter: char| word(letter as usize);
        let machine = &mut self.machine;
        match step {
            Step::Note(letter) => self.notes.push(letter),
            Step::Send(word) => machine.send(task, endpoint, &letter(word)),
            Step::NbSend(word) => machine.nb_send(task, endpoint, &letter(word)),
            Step::Call(word) => machine.call(task, endpoint, &letter(word)),
            Step::CallTo(server, word) => {
                machine.call(task, of(server).endpoint, &letter(word));
            }
            Step::Recv => machine.recv(task, endpoint, reply),
            Step::ReplyRecv(word) => machine.reply_recv(task, endpoint, reply, &letter(word)),
            Step::Serve => machine.recv(task, own, reply),
            Step::Answer(word) => machine.reply_recv(task, own, reply, &letter(word)),
            Step::Reply(server, word) => machine.send(task, of(server).reply, &letter(word)),
            Step::SendWait(other, word) => {
                let target = of(other).endpoint;
                machine.nb_send_wait(task, target, &letter(word), self.notification);
            }
            Step::Signal => machine.signal(task, self.notification),
            Step::Wait => machine.wait(task, self.notification),
            Step::Yield => machine.yield_now(task),
            Step::Fault => machine.trap(task, UNKNOWN),
            Step::Spin => {}
            Step::Start(other) | Step::Resume(other) => {
                self.control(of(other).task.tcb, Method::TcbResume, &[], &[])
                    .unwrap();
            }
            Step::Suspend(other) => {
                self.control(of(other).task.tcb, Method::TcbSuspend, &[], &[])
                    .unwrap();
            }
            Step::Priority(other, priority) => self.set_priority(other, priority),
            Step::OthersRun => self.set_priority(0, LAST),
            Step::Poll(other) => self.poll(Syscall::NBRecv, of(other).endpoint, reply),
            Step::Hear => self.poll(Syscall::NBWait, own, 0),
            Step::Reuse(other) => self.poll(Syscall::NBRecv, own, of(other).reply),
            Step::Resolve => machine.send(task, reply, &Message::default()),
            Step::Refuse => machine.send(task, reply, &Message::new(1, &[])),
            Step::Take(context, other) => assert_eq!(self.unbind(context, other), Ok(vec![])),
            Step::Lacks(context, other) => {
                assert_eq!(self.unbind(context, other), Err(Error::IllegalOperation));
            }
            Step::Unused(context) => {
                let context = of(context).task.context;
                let answer = self.control(context, Method::SchedContextYieldTo, &[], &[]);
                assert_eq!(answer, Err(Error::IllegalOperation));
            }
            Step::Unbind(context) => {
                let context = of(context).task.context;
                self.control(context, Method::SchedContextUnbind, &[], &[])
                    .unwrap();
            }
            Step::Bind(context, other) => {
                let (context, other) = (of(context).task.context, of(other).task.tcb);
                self.control(context, Method::SchedContextBind, &[], &[other])
                    .unwrap();
            }
            Step::Refill(context) => {
                let context = of(context).task.context;
                machine.configure(context, ONCE).unwrap();
            }
            Step::Delete(object) => {
                let slot = match object {
                    Object::Tcb(other) => of(other).task.tcb,
                    Object::Reply(other) => of(other).reply,
                    Object::Context(other) => of(other).task.context,
                };
                let (root, delete) = (slots::INIT_THREAD_CNODE, Method::CNodeDelete);
                self.control(root, delete, &[slot, WORD_BITS], &[]).unwrap();
            }
        }
    }

    /// The first thread invokes an object.
    fn control(&mut self, cap: CPtr, method: Method, words: &[usize], caps: &[CPtr]) -> Answer {
        let first = self.players[0].task;
        self.machine.invoke_as(first, cap, method, words, caps)
    }

    fn set_priority(&mut self, number: usize, priority: u8) {
        let (tcb, authority) = (self.players[number].task.tcb, [slots::INIT_THREAD_TCB]);
        let words = [priority.into()];
        // Not to be awaited: the first thread may have lowered itself.
        let message = Message::new(Method::TcbSetPriority.number(), &words).with_caps(&authority);
        self.machine.call(self.players[0].task, tcb, &message);
    }

    fn unbind(&mut self, context: usize, thread: usize) -> Answer {
        let context = self.players[context].task.context;
        let thread = [self.players[thread].task.tcb];
        self.control(context, Method::SchedContextUnbindObject, &[], &thread)
    }

    /// The first thread receives, if a message waits.
    fn poll(&mut self, call: Syscall, cap: CPtr, reply: CPtr) {
        let operands = Operands {
            cap,
            reply,
            ..Operands::default()
        };
        let (first, empty) = (self.players[0].task, Message::new(NO_MESSAGE, &[]));
        self.machine.syscall(first, call, operands, &empty);
    }
}

macro_rules! tests {
    ($($name:ident),*) => {$(
        #[test]
        fn $name() {
            play(kernel_scenarios::$name());
        }
    )*};
}
kernel_scenarios::with_names!(tests);

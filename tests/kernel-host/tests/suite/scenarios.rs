//! The scenarios that are played on host and target.

use abi::{Method, slots};
use host_machine::{CPtr, Machine, Message, Spec, Task};
use kernel_scenarios::{LAST, PRIORITY, Scenario, Step, Thread};

use crate::common::word;

/// A thread of a scenario.
struct Player {
    task: Task,
    reply: CPtr,
    steps: std::slice::Iter<'static, Step>,
    /// Whether its last step ends with a message.
    gets_message: bool,
}

fn play(scenario: &'static Scenario) {
    let mut machine = Machine::new();
    let (endpoint, notification) = (machine.endpoint(), machine.notification());
    let never = machine.notification();
    let first = Thread(PRIORITY, scenario.first);
    let threads = [first].into_iter().chain(scenario.others.iter().copied());
    let mut players: Vec<Player> = threads
        .map(|Thread(priority, steps)| Player {
            task: machine.spawn(Spec::new("player", priority).active().suspended()),
            reply: machine.reply(),
            steps: steps.iter(),
            gets_message: false,
        })
        .collect();
    let tasks: Vec<Task> = players.iter().map(|player| player.task).collect();
    machine.resume(tasks[0]);
    machine.rest();

    // The first thread invokes the TCB of another one, or its own.
    let control = |machine: &mut Machine, other: Task, method: Method, words: &[usize]| {
        let message = Message::new(method.number(), words);
        let message = message.with_caps(&[slots::INIT_THREAD_TCB]);
        machine.call(tasks[0], other.tcb, &message);
    };
    let set_priority = |machine: &mut Machine, other: Task, priority: u8| {
        control(machine, other, Method::TcbSetPriority, &[priority.into()]);
    };
    let mut notes = String::new();
    let letter = |letter: char| word(letter as usize);
    loop {
        let current = players.iter_mut().find(|player| machine.runs(player.task));
        let player = current.expect("the first thread never waits for ever");
        let task = player.task;
        if std::mem::take(&mut player.gets_message) {
            notes.push(machine.received(task).words[0] as u8 as char);
        }
        // The others have run.
        if machine.thread(task).priority == LAST {
            set_priority(&mut machine, task, PRIORITY);
            continue;
        }
        let Some(step) = player.steps.next() else {
            if task.tcb == tasks[0].tcb {
                break;
            }
            machine.wait(task, never);
            continue;
        };
        player.gets_message = matches!(step, Step::Call(_) | Step::Recv | Step::ReplyRecv(_));
        match *step {
            Step::Note(letter) => notes.push(letter),
            Step::Send(word) => machine.send(task, endpoint, &letter(word)),
            Step::NbSend(word) => machine.nb_send(task, endpoint, &letter(word)),
            Step::Call(word) => machine.call(task, endpoint, &letter(word)),
            Step::Recv => machine.recv(task, endpoint, player.reply),
            Step::ReplyRecv(word) => {
                machine.reply_recv(task, endpoint, player.reply, &letter(word));
            }
            Step::Signal => machine.signal(task, notification),
            Step::Wait => machine.wait(task, notification),
            Step::Yield => machine.yield_now(task),
            Step::Start(other) | Step::Resume(other) => {
                control(&mut machine, tasks[other], Method::TcbResume, &[]);
            }
            Step::Suspend(other) => control(&mut machine, tasks[other], Method::TcbSuspend, &[]),
            Step::Priority(other, priority) => set_priority(&mut machine, tasks[other], priority),
            Step::OthersRun => set_priority(&mut machine, tasks[0], LAST),
        }
    }
    assert_eq!(notes, scenario.notes);
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

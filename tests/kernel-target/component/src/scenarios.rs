//! The scenarios that are played on host and target.

use crate::check_eq;
use crate::support::events::{note, noted};
use crate::support::{Outcome, Test};
use kernel_scenarios::{Scenario, Step, THREADS, Thread};
use userlib::Message;
use userlib::cap::{Endpoint, Notification, Reply};

tests![
    senders_wait,
    nb_sends_are_lost,
    higher_priority_senders_are_first,
    waiting_senders_move_with_their_priority,
    higher_priority_receivers_are_first,
    waiting_receivers_move_with_their_priority,
    woken_equals_do_not_preempt,
    woken_superiors_preempt,
    woken_subordinates_are_first_among_equals,
    woken_equals_are_last,
    called_servers_go_before_their_equals,
    a_raised_thread_preempts,
    a_thread_raised_to_an_equal_waits,
    lowering_oneself_lets_others_run,
    lowering_oneself_to_an_equal_lets_no_other_thread_run,
    a_lowered_thread_waits,
    a_ready_thread_moves_to_the_head,
    yielding_is_taking_turns,
    yielding_passes_over_lower_priorities,
    suspended_threads_lose_their_turn,
];

/// The objects that a thread uses.
#[derive(Clone, Copy)]
struct Objects {
    endpoint: Endpoint,
    notification: Notification,
    reply: Reply,
}

impl Objects {
    /// A step that any thread can make.
    fn make(self, step: Step) {
        let message = |letter: char| Message::new(0, &[letter as usize]);
        let got = match step {
            Step::Note(letter) => return note(letter),
            Step::Send(letter) => return self.endpoint.send(message(letter)),
            Step::NbSend(letter) => return self.endpoint.nb_send(message(letter)),
            Step::Call(letter) => Some(self.endpoint.call(message(letter))),
            Step::Recv => self.endpoint.recv(self.reply).message,
            Step::ReplyRecv(letter) => {
                self.endpoint
                    .reply_recv(message(letter), self.reply)
                    .message
            }
            Step::Signal => return self.notification.signal(),
            Step::Wait => {
                self.notification.wait();
                return;
            }
            Step::Yield => return userlib::syscall::yield_now(),
            _ => None,
        };
        note(got.map_or('?', |message| message.word(0) as u8 as char));
    }
}

fn play(test: &mut Test, scenario: &'static Scenario) -> Outcome {
    let mut objects = Objects {
        endpoint: test.create()?,
        notification: test.create()?,
        reply: test.create()?,
    };
    let first = objects;
    let mut tcbs = [test.tcb; THREADS];
    let mut threads = [None; THREADS];
    for (index, &Thread(priority, steps)) in scenario.others.iter().enumerate() {
        objects.reply = test.create()?;
        let thread = test.thread(priority, move || {
            steps.iter().for_each(|step| objects.make(*step));
        })?;
        tcbs[index + 1] = thread.tcb;
        threads[index + 1] = Some(thread);
    }
    for step in scenario.first {
        match *step {
            Step::Start(other) => threads[other].map_or(Ok(()), |thread| thread.start())?,
            Step::Suspend(other) => tcbs[other].suspend()?,
            Step::Resume(other) => tcbs[other].resume()?,
            Step::Priority(other, priority) => tcbs[other].set_priority(test.tcb, priority)?,
            Step::OthersRun => test.let_others_run()?,
            step => first.make(step),
        }
    }
    check_eq!(noted(), scenario.notes);
    Ok(())
}

macro_rules! played {
    ($($name:ident),*) => {$(
        fn $name(test: &mut Test) -> Outcome {
            play(test, kernel_scenarios::$name())
        }
    )*};
}
kernel_scenarios::with_names!(played);

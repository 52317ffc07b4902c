//! The scenarios that are played on host and target.

use crate::support::arch::system_call;
use crate::support::events::{note, noted};
use crate::support::{Outcome, SLICE, Test, ms, spin};
use crate::{check, check_eq};
use kernel_scenarios::{NOTHING, Object, Scenario, Step, THREADS, Time};
use userlib::cap::{Endpoint, Notification, Reply, SchedContext, SchedParameters, Tcb};
use userlib::{Error, Message, Received, syscall};

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
    passive_servers_run_on_their_callers_time,
    priority_does_not_travel_with_time,
    active_servers_take_nothing,
    plain_sends_lend_nothing,
    callers_without_time_lend_none,
    callers_whose_time_is_deleted_can_be_served,
    sending_waits_lend_for_good,
    replies_fetch_time_from_any_thread,
    any_thread_may_reply,
    callers_with_other_time_take_nothing_back,
    time_taken_from_the_server_comes_back,
    unbound_time_does_not_come_back,
    time_that_is_bound_anew_stays_with_the_server,
    deleted_time_does_not_come_back,
    suspended_callers_leave_their_time,
    suspended_servers_keep_the_time,
    dead_servers_leave_time_to_the_reply,
    dead_servers_leave_time_to_the_reply_object,
    deleting_the_reply_object_returns_the_time,
    reusing_the_reply_object_gives_up_the_caller,
    servers_stop_when_they_have_replied,
    chains_return_in_order,
    deleting_the_top_of_a_chain_pops,
    chains_go_on_below_a_deleted_top,
    deleting_the_tops_of_a_chain_returns_all,
    deleting_the_bottom_cuts_the_chain,
    deleting_the_middle_cuts_the_chain,
    deleting_a_chain_from_the_bottom_loses_time,
    a_reply_in_the_middle_cuts_the_chain,
    suspending_a_caller_in_the_middle_cuts_the_chain,
    deleting_a_caller_in_the_middle_cuts_the_chain,
    reusing_a_reply_object_in_the_middle_cuts_the_chain,
    deleting_the_context_ends_the_chain,
    calls_outlive_their_context,
    unbinding_the_context_ends_the_chain,
    dead_servers_at_the_end_of_a_chain_leave_time_to_the_reply,
    faults_wait_in_order_of_priority,
    resolved_faults_are_tried_again,
    refused_faults_stop_the_thread,
    faults_that_are_heard_without_a_reply_object_stop_the_thread,
    passive_handlers_run_on_the_time_of_the_fault,
    suspending_takes_a_fault_back,
    answers_to_timeouts_do_not_replenish,
    timeouts_are_told_again_after_a_refill,
    yielding_is_no_timeout,
    suspending_takes_a_timeout_back,
    timeouts_that_are_heard_without_a_reply_object_stop_the_thread,
    deleting_the_reply_object_stops_a_timed_out_thread,
    timeout_handlers_need_time_of_their_own,
    nested_servers_time_out_one_after_the_other,
    dead_servers_give_back_time_without_budget,
];

/// A budget for once: the next replenishment is later than the test's end.
const ONCE: SchedParameters = SchedParameters::new(ms(30), ms(1_000_000));
/// A system call number that no kernel has.
const UNKNOWN: usize = (-999isize) as usize;

/// The objects of a thread.
#[derive(Clone, Copy)]
struct Player {
    tcb: Tcb,
    context: SchedContext,
    endpoint: Endpoint,
    reply: Reply,
}

/// What a thread acts on: all players, the notifications, and its own number.
#[derive(Clone, Copy)]
struct Stage {
    players: [Player; THREADS],
    notification: Notification,
    never: Notification,
    own: usize,
}

/// Notes what was received.
fn note_message(received: Option<Received>) {
    note(match received.and_then(|received| received.message) {
        Some(message) if message.label() == 0 => message.word(0) as u8 as char,
        Some(message) => (b'0' + message.label() as u8) as char,
        None => NOTHING,
    });
}

fn message(letter: char) -> Message {
    Message::new(0, &[letter as usize])
}

impl Stage {
    /// Makes a step that any thread can make.
    fn make(&self, step: Step) {
        let Player {
            endpoint: own,
            reply,
            ..
        } = self.players[self.own];
        let endpoint = self.players[0].endpoint;
        let call = |endpoint: Endpoint, letter| {
            let message = endpoint.call(message(letter));
            Received {
                badge: 0,
                message: Some(message),
            }
        };
        note_message(Some(match step {
            Step::Note(letter) => return note(letter),
            Step::Send(letter) => return endpoint.send(message(letter)),
            Step::NbSend(letter) => return endpoint.nb_send(message(letter)),
            Step::Call(letter) => call(endpoint, letter),
            Step::CallTo(server, letter) => call(self.players[server].endpoint, letter),
            Step::Recv => endpoint.recv(reply),
            Step::ReplyRecv(letter) => endpoint.reply_recv(message(letter), reply),
            Step::Serve => own.recv(reply),
            Step::Answer(letter) => own.reply_recv(message(letter), reply),
            Step::Reply(server, letter) => return self.players[server].reply.send(message(letter)),
            Step::SendWait(other, letter) => {
                let target = self.players[other].endpoint;
                syscall::nb_send_wait(target.0, message(letter), self.notification.0);
                return;
            }
            Step::Signal => return self.notification.signal(),
            Step::Wait => {
                self.notification.wait();
                return;
            }
            Step::Yield => return syscall::yield_now(),
            Step::Fault => {
                // SAFETY: it only faults.
                unsafe { system_call(0, 0, UNKNOWN) };
                return;
            }
            Step::Spin => spin(),
            _ => return,
        }));
    }

    /// Makes a step of the first thread.
    fn make_first(&self, test: &mut Test, step: Step) -> Outcome {
        let of = |number: usize| self.players[number];
        let own = of(0);
        let illegal = Err(Error::IllegalOperation);
        match step {
            Step::Start(other) | Step::Resume(other) => of(other).tcb.resume()?,
            Step::Suspend(other) => of(other).tcb.suspend()?,
            Step::Priority(other, priority) => of(other).tcb.set_priority(test.tcb, priority)?,
            Step::OthersRun => test.let_others_run()?,
            Step::Poll(other) => note_message(of(other).endpoint.nb_recv(own.reply)),
            Step::Hear => note_message(own.endpoint.nb_wait()),
            Step::Reuse(other) => note_message(own.endpoint.nb_recv(of(other).reply)),
            Step::Resolve => own.reply.send(Message::empty(0)),
            Step::Refuse => own.reply.send(Message::empty(1)),
            Step::Take(context, other) => of(context).context.unbind_object(of(other).tcb)?,
            Step::Lacks(context, other) => {
                check_eq!(of(context).context.unbind_object(of(other).tcb), illegal);
            }
            Step::Unused(context) => {
                check_eq!(of(context).context.yield_to().map(drop), illegal);
            }
            Step::Unbind(context) => of(context).context.unbind()?,
            Step::Bind(context, other) => of(context).context.bind(of(other).tcb)?,
            Step::Refill(context) => test.sched_control.configure(of(context).context, &ONCE)?,
            Step::Delete(object) => match object {
                Object::Tcb(other) => test.delete(of(other).tcb)?,
                Object::Reply(other) => test.delete(of(other).reply)?,
                Object::Context(other) => test.delete(of(other).context)?,
            },
            step => self.make(step),
        }
        Ok(())
    }
}

fn play(test: &mut Test, scenario: &'static Scenario) -> Outcome {
    let first = Player {
        tcb: test.tcb,
        context: test.sched_context,
        endpoint: test.create()?,
        reply: test.create()?,
    };
    let mut stage = Stage {
        players: [first; THREADS],
        notification: test.create()?,
        never: test.create()?,
        own: 0,
    };
    check!(scenario.others.len() < THREADS);
    for player in &mut stage.players[1..=scenario.others.len()] {
        player.endpoint = test.create()?;
        player.reply = test.create()?;
    }
    for (index, thread) in (1..).zip(scenario.others) {
        // A thread acts on the endpoints and reply objects of others, which all exist.
        let own = Stage {
            own: index,
            ..stage
        };
        let time = match thread.time {
            Time::Slice | Time::None => SLICE,
            Time::Once => ONCE,
        };
        let made = test.thread_with(thread.priority, Some(time), first.endpoint, move || {
            thread.steps.iter().for_each(|step| own.make(*step));
            own.never.wait();
        })?;
        if thread.reports {
            made.tcb.set_timeout_endpoint(first.endpoint)?;
        }
        let player = &mut stage.players[index];
        (player.tcb, player.context) = (made.tcb, made.sched_context);
    }
    for (player, thread) in stage.players[1..].iter().zip(scenario.others) {
        if thread.time == Time::None {
            player.tcb.resume()?;
            test.let_others_run()?;
            player.context.unbind()?;
        }
    }
    for step in scenario.first {
        stage.make_first(test, *step)?;
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

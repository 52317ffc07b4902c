//! The scenarios.

use super::{ABOVE, BELOW, Object, PRIORITY, Scenario, Step, Thread, Time};
use Step::{
    Answer, Bind, Call, CallTo, Delete, Fault, Hear, Lacks, NbSend, Note, OthersRun, Poll,
    Priority, Recv, Refill, Refuse, Reply, ReplyRecv, Resolve, Resume, Reuse, Send, SendWait,
    Serve, Signal, Spin, Start, Suspend, Take, Unbind, Unused, Wait, Yield,
};

/// A thread: `[PRIORITY; STEPS]`, after `passive`, `once` if its budget is for once, or `silent` if the end of that is not
/// reported either.
macro_rules! thread {
    (passive $priority:expr; $($step:expr),*) => {
        Thread::new($priority, &[$($step),*]).with(Time::None)
    };
    (once $priority:expr; $($step:expr),*) => {
        Thread::new($priority, &[$($step),*]).with(Time::Once)
    };
    (silent $priority:expr; $($step:expr),*) => {
        Thread::new($priority, &[$($step),*]).with(Time::Once).silent()
    };
    ($priority:expr; $($step:expr),*) => {
        Thread::new($priority, &[$($step),*])
    };
}

/// Threads, or `[like THREADS]`.
macro_rules! threads {
    ([like $threads:ident]) => {
        $threads
    };
    ($([$($thread:tt)*])*) => {
        &[$(thread!($($thread)*)),*]
    };
}

/// Defines scenarios: the notes, the steps of the first thread, the other threads; and the macro that passes their names to
/// another one.
macro_rules! scenarios {
    ($($(#[$comment:meta])* $name:ident: $notes:literal, [$($step:expr),* $(,)?], $([$($thread:tt)*]),*;)*) => {
        $(
            $(#[$comment])*
            pub const fn $name() -> &'static Scenario {
                const SCENARIO: &Scenario = &Scenario {
                    first: &[$($step),*],
                    others: threads!($([$($thread)*])*),
                    notes: $notes,
                };
                SCENARIO
            }
        )*

        /// Calls a macro with the names of all scenarios.
        #[macro_export]
        macro_rules! with_names {
            ($each:ident) => {
                $each! { $($name),* }
            };
        }
    };
}

/// A passive server, and a client.
const PAIR: &[Thread] = threads!([passive BELOW; Serve, Answer('y')] [ABOVE; CallTo(1, 'c')]);

/// Passive servers each of which calls the next one, and a client. The last server has a lower priority than the first thread,
/// which so can act before it answers.
const CHAIN: &[Thread] = threads!(
    [passive ABOVE; Serve, CallTo(2, '2'), Answer('r')]
    [passive ABOVE; Serve, CallTo(3, '3'), Answer('s')]
    [passive BELOW; Serve, Answer('t')]
    [ABOVE; CallTo(1, '1')]
);

scenarios! {
    /// A sender waits for a receiver.
    senders_wait: "acbxd",
        [Start(1), Note('c'), Recv, Note('d')],
        [ABOVE; Note('a'), Send('x'), Note('b')];

    /// Without a waiting receiver a message is lost.
    nb_sends_are_lost: "bd",
        [NbSend('a'), Start(1), NbSend('b'), NbSend('c'), Note('d')],
        [ABOVE; Recv];

    /// The sender with the highest priority is served first; of equals, the one that has waited longest.
    higher_priority_senders_are_first: "dbface",
        [
            Start(1), OthersRun, Start(2), OthersRun, Start(3), OthersRun, Start(4), Start(5), OthersRun, Start(6), OthersRun,
            Recv, Recv, Recv, Recv, Recv, Recv,
        ],
        [50; Send('a')], [60; Send('b')], [40; Send('c')], [200; Send('d')], [2; Send('e')], [60; Send('f')];

    /// A new priority is a new place in the queue; the same one, too: behind the equals.
    waiting_senders_move_with_their_priority: "cdba",
        [
            Start(1), OthersRun, Start(2), OthersRun, Start(3), OthersRun, Start(4), OthersRun,
            Priority(3, 61), Priority(1, 50), Priority(2, 60), Recv, Recv, Recv, Recv,
        ],
        [60; Send('a')], [60; Send('b')], [60; Send('c')], [60; Send('d')];

    /// The same order holds for receivers.
    higher_priority_receivers_are_first: "pbqdrasc",
        [
            Start(1), OthersRun, Start(2), OthersRun, Start(3), OthersRun, Start(4), OthersRun,
            NbSend('p'), OthersRun, NbSend('q'), OthersRun, NbSend('r'), OthersRun, NbSend('s'), OthersRun,
        ],
        [50; Recv, Note('a')], [60; Recv, Note('b')], [40; Recv, Note('c')], [60; Recv, Note('d')];

    /// Receivers get new places, too.
    waiting_receivers_move_with_their_priority: "pcqbra",
        [
            Start(1), OthersRun, Start(2), OthersRun, Start(3), OthersRun, Priority(3, 70), Priority(1, 50),
            NbSend('p'), OthersRun, NbSend('q'), OthersRun, NbSend('r'), OthersRun,
        ],
        [60; Recv, Note('a')], [60; Recv, Note('b')], [60; Recv, Note('c')];

    /// A woken thread of equal priority does not preempt.
    woken_equals_do_not_preempt: "axb",
        [Start(1), OthersRun, Send('x'), Note('a'), OthersRun],
        [PRIORITY; Recv, Note('b')];

    /// A woken thread of higher priority does.
    woken_superiors_preempt: "xab",
        [Start(1), Send('x'), Note('b')],
        [PRIORITY + 1; Recv, Note('a')];

    /// A woken thread of lower priority is put before its equals.
    woken_subordinates_are_first_among_equals: "wr",
        [Start(1), OthersRun, Start(2), Signal, OthersRun],
        [BELOW; Wait, Note('w')], [BELOW; Note('r')];

    /// A woken thread of equal priority is put behind its equals.
    woken_equals_are_last: "trw",
        [Start(1), OthersRun, Start(2), Signal, Note('t'), OthersRun],
        [PRIORITY; Wait, Note('w')], [PRIORITY; Note('r')];

    /// The caller blocks, and the server takes its place; when answered, the caller takes the server's.
    called_servers_go_before_their_equals: "csytx",
        [Start(1), OthersRun, Start(2), Call('c'), Note('t'), OthersRun],
        [PRIORITY; Recv, Note('s'), ReplyRecv('y')], [PRIORITY; Note('x')];

    /// A higher priority takes effect at once.
    a_raised_thread_preempts: "bac",
        [Start(1), Note('b'), Priority(1, PRIORITY + 1), Note('c')],
        [BELOW; Note('a')];

    /// The same priority does not.
    a_thread_raised_to_an_equal_waits: "ba",
        [Start(1), Priority(1, PRIORITY), Note('b'), Yield],
        [BELOW; Note('a')];

    /// A thread that lowers its own priority is preempted.
    lowering_oneself_lets_others_run: "ab",
        [Start(1), Priority(0, BELOW - 1), Note('b')],
        [BELOW; Note('a')];

    /// If its priority is lowered to that of others, the running thread stays first.
    lowering_oneself_to_an_equal_lets_no_other_thread_run: "ba",
        [Start(1), Priority(0, BELOW), Note('b'), Yield],
        [BELOW; Note('a')];

    /// While a thread waits, a change of its priority has no other effect.
    a_lowered_thread_waits: "ba",
        [Start(1), Priority(1, BELOW), Signal, Note('b'), OthersRun],
        [ABOVE; Wait, Note('a')];

    /// A ready thread with a new priority is put before its equals.
    a_ready_thread_moves_to_the_head: "ba",
        [Start(1), Start(2), Priority(2, 60), OthersRun],
        [60; Note('a')], [50; Note('b')];

    /// The thread that is started last is in front.
    yielding_is_taking_turns: "abcabcabc",
        [Start(1), Start(2), Start(3), OthersRun],
        [BELOW; Note('c'), Yield, Note('c'), Yield, Note('c')],
        [BELOW; Note('b'), Yield, Note('b'), Yield, Note('b')],
        [BELOW; Note('a'), Yield, Note('a'), Yield, Note('a')];

    /// Yielding lets no thread of lower priority run.
    yielding_passes_over_lower_priorities: "a",
        [Start(1), Yield, Yield, Yield, Note('a')],
        [BELOW; Note('x')];

    /// The second was started last, so it is in front; after suspend and resume, the first is.
    suspended_threads_lose_their_turn: "ab",
        [Start(1), Start(2), Suspend(1), Resume(1), OthersRun],
        [BELOW; Note('a')], [BELOW; Note('b')];

    /// A passive server runs on the scheduling context of its caller, which gets it back with the reply.
    passive_servers_run_on_their_callers_time: "cydz",
        [Start(2), Lacks(2, 2), OthersRun, Lacks(2, 1), Take(2, 2)],
        [passive BELOW; Serve, Answer('y'), Answer('z')], [ABOVE; CallTo(1, 'c'), CallTo(1, 'd')];

    /// The caller's priority does not come with it.
    priority_does_not_travel_with_time: "xtcy",
        [Start(2), Start(3), Note('t'), OthersRun, Take(2, 2)],
        [passive BELOW; Serve, Answer('y')], [ABOVE; CallTo(1, 'c')], [ABOVE; Note('x')];

    /// A server with time of its own takes none, and goes on when it has replied.
    active_servers_take_nothing: "cnyt",
        [Start(1), Start(2), Note('t'), Take(2, 2), Take(1, 1)],
        [ABOVE; Serve, Reply(1, 'y'), Note('n'), Wait], [ABOVE; CallTo(1, 'c')];

    /// A message that is no call lends nothing; the receiver has it when it gets time.
    plain_sends_lend_nothing: "tax",
        [NbSend('a'), NbSend('b'), OthersRun, Note('t'), Bind(1, 1)],
        [passive ABOVE; Recv, Note('x')];

    /// A caller without time keeps its place in the queue, and runs when it gets time.
    callers_without_time_lend_none: "ctyd",
        [Start(1), Unbind(1), Poll(0), Reply(0, 'y'), OthersRun, Note('t'), Bind(1, 1)],
        [ABOVE; Call('c'), Note('d')];

    /// The same if its scheduling context is deleted.
    callers_whose_time_is_deleted_can_be_served: "ctyd",
        [Start(1), Delete(Object::Context(1)), Poll(0), Reply(0, 'y'), OthersRun, Note('t'), Bind(2, 1)],
        [ABOVE; Call('c'), Note('d')], [passive BELOW; Serve];

    /// What a wait lends with its message does not come back.
    sending_waits_lend_for_good: "prtg",
        [Start(2), Take(2, 1), Bind(2, 1), OthersRun, Signal, OthersRun, Note('t'), Unbind(2), Bind(2, 2)],
        [passive BELOW; Serve, Note('r')], [ABOVE; SendWait(1, 'p'), Note('g')];

    /// The reply returns the scheduling context from whichever thread has it.
    replies_fetch_time_from_any_thread: "cwyt",
        [Start(3), OthersRun, Note('t'), Lacks(3, 2), Take(3, 3)],
        [passive BELOW; Serve, SendWait(2, 'w')], [passive BELOW; Serve, Reply(1, 'y'), Note('x')], [ABOVE; CallTo(1, 'c')];

    /// Any thread may reply; the server then has no time.
    any_thread_may_reply: "dt",
        [Start(2), Reply(1, 'd'), OthersRun, Note('t'), Lacks(2, 1), Take(2, 2)],
        [like PAIR];

    /// A caller that has got other time meanwhile leaves its own to the server.
    callers_with_other_time_take_nothing_back: "cy",
        [Start(2), Bind(1, 2), OthersRun, Take(2, 1), Take(1, 2)],
        [like PAIR];

    /// Time that was taken from the server alone still comes back.
    time_taken_from_the_server_comes_back: "td",
        [Start(2), Take(2, 1), OthersRun, Note('t'), Reply(1, 'd'), Take(2, 2)],
        [like PAIR];

    /// Time that was unbound from everything does not; the reply comes all the same.
    unbound_time_does_not_come_back: "td",
        [Start(2), Unbind(2), Reply(1, 'd'), OthersRun, Note('t'), Bind(2, 2)],
        [like PAIR];

    /// The same if the server gets it again and replies itself.
    time_that_is_bound_anew_stays_with_the_server: "cty",
        [Start(2), Unbind(2), Bind(2, 1), OthersRun, Note('t'), Take(2, 1), Bind(2, 2)],
        [like PAIR];

    /// Without its scheduling context, a call can be replied to.
    deleted_time_does_not_come_back: "td",
        [Start(2), Delete(Object::Context(2)), OthersRun, Reply(1, 'd'), OthersRun, Note('t'), Bind(1, 2)],
        [like PAIR];

    /// A suspended caller leaves its time with the server; with other time, it calls again.
    suspended_callers_leave_their_time: "ctcz",
        [Start(2), Suspend(2), OthersRun, Resume(2), OthersRun, Note('t'), Take(2, 1), Bind(1, 2), OthersRun, Take(1, 2)],
        [passive BELOW; Serve, Answer('y'), Answer('z')], [ABOVE; CallTo(1, 'c')];

    /// A suspended server keeps the time, and goes on with it.
    suspended_servers_keep_the_time: "tcy",
        [Start(2), Suspend(1), OthersRun, Note('t'), Resume(1), OthersRun, Take(2, 2)],
        [like PAIR];

    /// The time of a server that is deleted comes back with the reply,
    dead_servers_leave_time_to_the_reply: "td",
        [Start(2), Delete(Object::Tcb(1)), OthersRun, Note('t'), Unused(2), Reply(1, 'd'), Take(2, 2)],
        [like PAIR];

    /// or with the end of the reply object, which stops the caller. Resumed, that calls again.
    dead_servers_leave_time_to_the_reply_object: "tc",
        [
            Start(2), Delete(Object::Tcb(1)), Delete(Object::Reply(1)), OthersRun, Note('t'), Take(2, 2),
            Bind(2, 2), Resume(2), Poll(1),
        ],
        [like PAIR];

    /// The end of the reply object returns the time, and stops the caller.
    deleting_the_reply_object_returns_the_time: "t",
        [Start(2), Delete(Object::Reply(1)), OthersRun, Note('t'), Lacks(2, 1), Take(2, 2)],
        [like PAIR];

    /// Another use of the reply object gives up the caller, whose time stays with the server.
    reusing_the_reply_object_gives_up_the_caller: "-ct",
        [Start(2), Reuse(1), OthersRun, Note('t'), Lacks(2, 2), Take(2, 1)],
        [like PAIR];

    /// A server that replies and does not wait stops without time, and nothing wakes it.
    servers_stop_when_they_have_replied: "csy",
        [Start(2), Lacks(2, 2), Signal, OthersRun, Lacks(2, 1), Take(2, 2)],
        [passive ABOVE; Serve, Wait, Note('s'), Reply(1, 'y'), Note('x')], [ABOVE; CallTo(1, 'c')];

    /// Nested calls return in their order.
    chains_return_in_order: "123tsr",
        [Start(4), Lacks(4, 4), OthersRun, Take(4, 4)],
        [like CHAIN];

    /// The end of the innermost reply object returns the time to its caller, which is stopped, and calls again.
    deleting_the_top_of_a_chain_pops: "123tsr",
        [
            Start(4), Delete(Object::Reply(3)), OthersRun, Lacks(4, 3), Take(4, 2), Bind(4, 2), Resume(2), Poll(3),
            Reply(0, 't'), Take(4, 4),
        ],
        [like CHAIN];

    /// Another thread may reply to the caller that was not stopped.
    chains_go_on_below_a_deleted_top: "12xsr",
        [Start(4), Delete(Object::Reply(3)), OthersRun, Note('x'), Take(4, 2), Reply(2, 's'), Take(4, 4)],
        [like CHAIN];

    /// One after the other, the ends of the reply objects return the time to the first caller.
    deleting_the_tops_of_a_chain_returns_all: "12x",
        [
            Start(4), Delete(Object::Reply(3)), Delete(Object::Reply(2)), Delete(Object::Reply(1)), OthersRun,
            Note('x'), Take(4, 4),
        ],
        [like CHAIN];

    /// All calls above the cut return, and the time stays with the first server.
    deleting_the_bottom_cuts_the_chain: "123ts",
        [Start(4), Delete(Object::Reply(1)), OthersRun, Take(4, 1)],
        [like CHAIN];

    /// A caller below the cut is answered without time.
    deleting_the_middle_cuts_the_chain: "123tx",
        [Start(4), Delete(Object::Reply(2)), OthersRun, Reply(1, 'r'), OthersRun, Note('x'), Take(4, 2)],
        [like CHAIN];

    /// The last deletion is at the top, so the caller of the last server has the time.
    deleting_a_chain_from_the_bottom_loses_time: "12x",
        [
            Start(4), Delete(Object::Reply(1)), Delete(Object::Reply(2)), Delete(Object::Reply(3)), OthersRun,
            Note('x'), Take(4, 2),
        ],
        [like CHAIN];

    /// The first server is answered, and answers, without the client's time.
    a_reply_in_the_middle_cuts_the_chain: "123tzxr",
        [
            Start(4), Reply(2, 'z'), OthersRun, Lacks(4, 1), Take(4, 2), Bind(1, 1), Lacks(1, 4), Note('x'), Bind(2, 4),
        ],
        [like CHAIN];

    /// A suspended caller cuts the chain, too; those below it are answered without time.
    suspending_a_caller_in_the_middle_cuts_the_chain: "123xr",
        [Start(4), Suspend(2), OthersRun, Take(4, 3), Reply(1, 'r'), OthersRun, Note('x'), Bind(1, 4)],
        [like CHAIN];

    /// So does a deleted one.
    deleting_a_caller_in_the_middle_cuts_the_chain: "123t",
        [Start(4), Delete(Object::Tcb(1)), OthersRun, Take(4, 2)],
        [like CHAIN];

    /// Another use of a reply object cuts it, too.
    reusing_a_reply_object_in_the_middle_cuts_the_chain: "12-3t",
        [Start(4), Reuse(2), OthersRun, Take(4, 2)],
        [like CHAIN];

    /// All are answered, and have no time.
    deleting_the_context_ends_the_chain: "12xrs",
        [
            Start(4), Delete(Object::Context(4)), Reply(3, 't'), Reply(2, 's'), Reply(1, 'r'), OthersRun, Note('x'),
            Bind(1, 4), Bind(2, 1),
        ],
        [like CHAIN];

    /// The calls outlive the scheduling context: a server with other time answers, and lends none.
    calls_outlive_their_context: "12x3t",
        [
            Start(4), Delete(Object::Context(4)), OthersRun, Note('x'), Bind(3, 3), OthersRun, Take(3, 3),
            Bind(2, 2), Lacks(2, 1), Take(2, 2),
        ],
        [like CHAIN];

    /// A context that was unbound is not of the chain any more.
    unbinding_the_context_ends_the_chain: "123",
        [Start(4), Unbind(4), Bind(4, 3), OthersRun, Take(4, 3)],
        [like CHAIN];

    /// The last server may die.
    dead_servers_at_the_end_of_a_chain_leave_time_to_the_reply: "12xtsr",
        [Start(4), Delete(Object::Tcb(3)), OthersRun, Note('x'), Reply(3, 't'), Take(4, 4)],
        [like CHAIN];

    /// Fault messages wait in the queue like others, by priority.
    faults_wait_in_order_of_priority: "a22b",
        [Start(1), OthersRun, Start(2), OthersRun, Start(3), OthersRun, Start(4), OthersRun, Poll(0), Poll(0), Poll(0), Poll(0)],
        [60; Fault], [70; Send('a')], [50; Send('b')], [70; Fault];

    /// An answer that changes nothing repeats what has failed.
    resolved_faults_are_tried_again: "22-2",
        [Start(1), Poll(0), Resolve, Poll(0), Poll(0), Suspend(1), Resume(1), Poll(0)],
        [ABOVE; Fault];

    /// An answer with another label stops the thread, which can be resumed.
    refused_faults_stop_the_thread: "2-2",
        [Start(1), Poll(0), Refuse, OthersRun, Poll(0), Resume(1), Poll(0)],
        [ABOVE; Fault];

    /// Without a reply object nothing can let the thread go on, and it stops.
    faults_that_are_heard_without_a_reply_object_stop_the_thread: "2-2",
        [Start(1), Hear, Resolve, OthersRun, Poll(0), Resume(1), Poll(0)],
        [ABOVE; Fault];

    /// A passive handler runs on the time of the faulting thread, which gets it back with the reply.
    passive_handlers_run_on_the_time_of_the_fault: "t22h",
        [Start(2), Lacks(2, 2), Note('t'), OthersRun, Take(2, 1)],
        [passive BELOW; Recv, ReplyRecv('y'), Note('h')], [ABOVE; Fault];

    /// A suspended thread takes its fault message back; if that was received, an answer has no effect.
    suspending_takes_a_fault_back: "-2-2",
        [Start(1), Suspend(1), Poll(0), Resume(1), Poll(0), Suspend(1), Resolve, OthersRun, Poll(0), Resume(1), Poll(0)],
        [ABOVE; Fault];

    /// An answer to a timeout message brings no budget, and the thread keeps its scheduling context.
    answers_to_timeouts_do_not_replenish: "a5-",
        [Start(1), Recv, Resolve, OthersRun, Poll(0), Take(1, 1)],
        [once BELOW; Note('a'), Spin];

    /// With budget and an answer, the thread goes on.
    timeouts_are_told_again_after_a_refill: "a555",
        [Start(1), Recv, Refill(1), Resolve, Recv, Refill(1), Resolve, Recv],
        [once BELOW; Note('a'), Spin];

    /// A budget that is given up has not ended.
    yielding_is_no_timeout: "a-",
        [Start(1), OthersRun, Poll(0)],
        [once BELOW; Note('a'), Yield, Note('b')];

    /// A suspended thread takes its timeout message back.
    suspending_takes_a_timeout_back: "a--",
        [Start(1), OthersRun, Suspend(1), Poll(0), Resume(1), OthersRun, Poll(0)],
        [once BELOW; Note('a'), Spin];

    /// Without a reply object nothing can let the thread go on, and it stops.
    timeouts_that_are_heard_without_a_reply_object_stop_the_thread: "a5-5",
        [Start(1), OthersRun, Hear, Refill(1), OthersRun, Poll(0), Resume(1), Recv],
        [once BELOW; Note('a'), Spin];

    /// So does the end of the reply object.
    deleting_the_reply_object_stops_a_timed_out_thread: "a5-5",
        [Start(1), Recv, Delete(Object::Reply(0)), Refill(1), OthersRun, Hear, Resume(1), OthersRun, Hear],
        [once BELOW; Note('a'), Spin];

    /// A timeout message lends no time.
    timeout_handlers_need_time_of_their_own: "-t5h",
        [Start(2), OthersRun, Hear, Note('t'), Take(2, 2), Bind(1, 1)],
        [passive ABOVE; Recv, Note('h')], [once BELOW; Spin];

    /// A server that uses up its client's budget times out; the outer one does, too, if it gets the time back. The client
    /// does not, as it has no handler.
    nested_servers_time_out_one_after_the_other: "ci55-d",
        [Start(3), Recv, Reply(2, 'n'), Recv, Reply(1, 'd'), OthersRun, Poll(0), Take(3, 3), Bind(1, 3)],
        [passive BELOW; Serve, CallTo(2, 'i'), Note('o')], [passive BELOW; Serve, Spin], [silent ABOVE; CallTo(1, 'c')];

    /// The time of a server that timed out and is deleted comes back with the end of the reply object.
    dead_servers_give_back_time_without_budget: "c5cb",
        [
            Start(2), Recv, Delete(Object::Tcb(1)), Unused(2), Delete(Object::Reply(1)), Take(2, 2), Bind(2, 2), Refill(2),
            Resume(2), Poll(1), Reply(0, 'b'),
        ],
        [passive BELOW; Serve, Spin], [silent ABOVE; CallTo(1, 'c')];
}

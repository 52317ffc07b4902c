//! Scenarios of scheduling and communication: what some threads do, and in which order. They use the ABI only, so that one
//! set of them is played twice, by the kernel on the host, where all invariants are checked, and on the target, through the
//! trap handlers and fast paths of the architecture.
#![no_std]

/// The priority of the first thread.
pub const PRIORITY: u8 = 100;
/// A priority above.
pub const ABOVE: u8 = 110;
/// A priority below.
pub const BELOW: u8 = 90;
/// While the first thread has this priority, all others run first.
pub const LAST: u8 = 1;
/// The most threads of a scenario.
pub const THREADS: usize = 7;

/// What a thread does next. There is one endpoint and one notification; each thread has a reply object. A message is a
/// letter; a thread notes the letter of a message that it has got.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Notes a letter.
    Note(char),
    /// Sends.
    Send(char),
    /// Sends if a receiver waits.
    NbSend(char),
    /// Sends, and waits for a reply.
    Call(char),
    /// Receives.
    Recv,
    /// Replies, and receives.
    ReplyRecv(char),
    /// Signals the notification.
    Signal,
    /// Waits for a signal.
    Wait,
    /// Gives up the rest of the timeslice.
    Yield,
    /// Starts a thread. This and the following are steps of the first thread only.
    Start(usize),
    /// Suspends a thread.
    Suspend(usize),
    /// Resumes a thread.
    Resume(usize),
    /// Gives a thread a priority.
    Priority(usize, u8),
    /// Lets all other threads run until they wait.
    OthersRun,
}

/// A thread with a scheduling context of its own: its priority, and its steps.
#[derive(Clone, Copy, Debug)]
pub struct Thread(pub u8, pub &'static [Step]);

/// A scenario. It begins with the first thread, of [`PRIORITY`], and ends when that has made its steps.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The steps of the first thread, which has number 0.
    pub first: &'static [Step],
    /// The other threads, numbered from 1 on.
    pub others: &'static [Thread],
    /// The letters that are noted, in their order.
    pub notes: &'static str,
}

use Step::{
    Call, NbSend, Note, OthersRun, Priority, Recv, ReplyRecv, Resume, Send, Signal, Start, Suspend,
    Wait, Yield,
};

/// Defines scenarios, and the macro that passes their names to another one.
macro_rules! scenarios {
    ($($(#[$comment:meta])* $name:ident: $notes:literal, [$($step:expr),* $(,)?], $([$priority:expr; $($other:expr),*]),*;)*) => {
        $(
            $(#[$comment])*
            pub const fn $name() -> &'static Scenario {
                &Scenario {
                    first: &[$($step),*],
                    others: &[$(Thread($priority, &[$($other),*])),*],
                    notes: $notes,
                }
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
}

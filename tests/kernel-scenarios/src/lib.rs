//! Scenarios of scheduling, communication, donation, faults and timeouts: what some threads do, and in which order. They use
//! the ABI only, so that one set of them is played twice, by the kernel on the host, where all invariants are checked, and on
//! the target, through the trap handlers and fast paths of the architecture.
#![no_std]

mod scenarios;

pub use scenarios::*;

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
/// What is noted if no message waits.
pub const NOTHING: char = '-';

/// What a thread does next. Each thread has an endpoint and a reply object, and there is one notification. A message is a
/// letter; a thread notes the letter of a message that it has got, and of a fault message its label, as a digit.
///
/// Threads, and with them their endpoints, reply objects and scheduling contexts, are named by their numbers.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Notes a letter.
    Note(char),
    /// Sends to the endpoint of the first thread.
    Send(char),
    /// Sends there if a receiver waits.
    NbSend(char),
    /// Sends there, and waits for a reply.
    Call(char),
    /// Sends to the endpoint of a thread, and waits for a reply.
    CallTo(usize, char),
    /// Receives at the endpoint of the first thread.
    Recv,
    /// Replies, and receives there.
    ReplyRecv(char),
    /// Receives at the own endpoint.
    Serve,
    /// Replies, and receives at the own endpoint.
    Answer(char),
    /// Replies with a thread's reply object.
    Reply(usize, char),
    /// Sends to the endpoint of a thread if that waits, and waits for a signal, in one system call.
    SendWait(usize, char),
    /// Signals the notification.
    Signal,
    /// Waits for a signal.
    Wait,
    /// Gives up the rest of the timeslice.
    Yield,
    /// Makes a system call that does not exist. The fault message goes to the endpoint of the first thread.
    Fault,
    /// Computes, and never ends.
    Spin,
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
    /// Receives a message that waits at the endpoint of a thread, with the own reply object, or notes [`NOTHING`].
    Poll(usize),
    /// Receives a message that waits at the own endpoint, without a reply object, or notes [`NOTHING`].
    Hear,
    /// Receives a message that waits at the own endpoint, with the reply object of a thread, or notes [`NOTHING`].
    Reuse(usize),
    /// Lets the faulting thread go on that the own reply object is for.
    Resolve,
    /// Stops that thread.
    Refuse,
    /// `Take(context, thread)`: unbinds the scheduling context from the thread, which has it.
    Take(usize, usize),
    /// `Lacks(context, thread)`: fails to unbind the scheduling context from the thread, which does not have it.
    Lacks(usize, usize),
    /// Fails to yield to a scheduling context, which no thread has.
    Unused(usize),
    /// Unbinds a scheduling context from everything.
    Unbind(usize),
    /// `Bind(context, thread)`: binds the scheduling context to the thread.
    Bind(usize, usize),
    /// Gives a scheduling context its budget again.
    Refill(usize),
    /// Deletes an object.
    Delete(Object),
}

/// An object of a thread.
#[derive(Clone, Copy, Debug)]
pub enum Object {
    /// The thread itself.
    Tcb(usize),
    /// Its reply object.
    Reply(usize),
    /// The scheduling context that was made for it.
    Context(usize),
}

/// The time of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// A timeslice for round robin.
    Slice,
    /// None: before the scenario begins, the thread runs until it waits, and its scheduling context is then unbound.
    None,
    /// A budget for once, which a thread that computes uses up.
    Once,
}

/// A thread: its priority, and its steps. Its fault messages go to the endpoint of the first thread, and if it `reports`,
/// its timeout messages, too.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// Its priority.
    pub priority: u8,
    /// Its time.
    pub time: Time,
    /// Whether the end of its budget is reported.
    pub reports: bool,
    /// What it does.
    pub steps: &'static [Step],
}

impl Thread {
    const fn new(priority: u8, steps: &'static [Step]) -> Self {
        let (time, reports) = (Time::Slice, true);
        Self {
            priority,
            time,
            reports,
            steps,
        }
    }

    const fn with(self, time: Time) -> Self {
        Self { time, ..self }
    }

    const fn silent(self) -> Self {
        let reports = false;
        Self { reports, ..self }
    }
}

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

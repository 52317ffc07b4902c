//! The state of the model.

use abi::slots;

use crate::caps::{Cap, Place, Slot};
use crate::entry::Call;
use crate::faults::Fault;
use crate::limits::Chain;
use crate::refills::Refills;
use crate::thresholds::Threshold;

/// Microseconds.
pub type Time = u64;
/// The index of an object among those of its kind.
pub type Id = usize;

/// The smallest budget: the cost of entering and leaving the kernel once.
pub const MIN_BUDGET: Time = 20;

/// The whole state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Model {
    pub now: Time,
    pub threads: Vec<Thread>,
    pub endpoints: Vec<Endpoint>,
    pub notifications: Vec<Notification>,
    pub replies: Vec<Reply>,
    pub contexts: Vec<Context>,
    pub chains: Vec<Chain>,
    /// All capabilities, in the order of the derivation tree.
    pub slots: Vec<Slot>,
    /// The running thread.
    pub current: Option<Id>,
    /// The current scheduling context.
    pub current_context: Option<Id>,
    /// Time that it has consumed and that is not charged yet.
    pub used: Time,
    /// Threads of at least this criticality run before all others; at 0 all are equal.
    pub level: u8,
    /// Ready threads, sorted by criticality, priority and order, with twice the time since when they
    /// are ready: 0 for a thread put at the head, and plus one for a thread that did not get ready by
    /// a release.
    pub ready: Vec<(Time, Id)>,
    /// Threads without budget, with their release times.
    pub starved: Vec<(Time, Id)>,
    pub choice: Choice,
    /// In this entry, a deferred thread tries again, after having used so much time.
    pub retry: Option<Time>,
}

/// The thread to run after this entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Choice {
    /// The one that ran.
    #[default]
    Same,
    /// This one, if its rank is high enough.
    Candidate(Id),
    /// The highest-ranking ready thread.
    Anew,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    #[default]
    Inactive,
    Running,
    /// Runnable; it will restart its last instruction.
    Restart,
    Sending {
        endpoint: Id,
        badge: usize,
        can_reply: bool,
        call: bool,
    },
    Receiving {
        endpoint: Id,
        reply: Option<Id>,
    },
    Calling {
        reply: Id,
    },
    /// Its call has failed, and it waits until its context comes back.
    AwaitingReturn {
        reply: Id,
    },
    Waiting {
        notification: Id,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Thread {
    pub state: State,
    pub priority: u8,
    /// Its maximum controlled priority.
    pub authority: u8,
    /// The criticality that it gives to contexts bound or lent to it; `criticality_authority` is its
    /// maximum controlled criticality.
    pub criticality: u8,
    pub criticality_authority: u8,
    pub context: Option<Id>,
    pub notification: Option<Id>,
    pub fault: Option<Fault>,
    /// It had too little budget for its message; it has used so much time since.
    pub deferred: Option<Time>,
    /// The context to which it has yielded and for which it will get the consumed time.
    pub yielded_to: Option<Id>,
    /// The message registers.
    pub badge: usize,
    pub label: usize,
    pub words: Words,
    /// Its last system call; `calls_next` says whether it restarts that call, `called_last` whether
    /// that was its last trap.
    pub call: Call,
    pub calls_next: bool,
    pub called_last: bool,
    /// Its registers were written, so their content is not modelled.
    pub obscure: bool,
}

/// Message words; those that the model leaves open are `None`.
pub type Words = Vec<Option<usize>>;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Endpoint {
    pub queue: Vec<Id>,
    pub threshold: Option<Threshold>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Notification {
    /// The signal word, once signalled.
    pub word: Option<usize>,
    pub queue: Vec<Id>,
    pub thread: Option<Id>,
    pub context: Option<Id>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reply {
    #[default]
    Free,
    /// A receiver waits with it.
    Receiver(Id),
    /// It holds a caller.
    Caller(Id),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Context {
    /// Budget and replenishments, once configured.
    pub refills: Option<Refills>,
    pub sporadic: bool,
    pub badge: usize,
    /// Time charged since the last query.
    pub consumed: Time,
    pub thread: Option<Id>,
    /// The thread to which it is bound; `criticality` is that with which threads run on it.
    pub owner: Option<Id>,
    pub criticality: u8,
    pub notification: Option<Id>,
    /// The limit of a call that lent it and whose caller has dropped out.
    pub orphan_limit: Option<Time>,
    /// The thread that yielded to it and waits for the result.
    pub yielder: Option<Id>,
}

impl Model {
    /// The initial state: one thread that runs on slices of this length; and the addresses of the
    /// memory and `SchedControl` capabilities.
    pub fn boot(slice: Time, memory: usize, sched_control: usize) -> Self {
        let mut model = Self::default();
        model.threads.push(Thread {
            state: State::Running,
            priority: u8::MAX,
            authority: u8::MAX,
            criticality_authority: 7,
            context: Some(0),
            ..Thread::default()
        });
        model.contexts.push(Context {
            refills: Some(Refills::new(0, slice, slice, 2)),
            thread: Some(0),
            owner: Some(0),
            ..Context::default()
        });
        (model.current, model.current_context) = (Some(0), Some(0));
        for (address, cap) in [
            (slots::INIT_THREAD_TCB, Cap::Thread { id: 0 }),
            (slots::INIT_THREAD_CNODE, Cap::CNode),
            (slots::IRQ_CONTROL, Cap::IrqControl),
            (slots::INIT_THREAD_SC, Cap::Context { id: 0 }),
            (sched_control, Cap::SchedControl),
            (memory, Cap::Memory),
        ] {
            model.put(Place::Address(address), cap);
        }
        model
    }

    pub fn is_runnable(&self, thread: Id) -> bool {
        matches!(self.threads[thread].state, State::Running | State::Restart)
    }

    pub fn is_blocked(&self, thread: Id) -> bool {
        !self.is_runnable(thread) && self.threads[thread].state != State::Inactive
    }
}

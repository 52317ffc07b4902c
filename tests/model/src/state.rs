//! What exists.

use abi::slots;

use crate::caps::{Cap, Place, Slot};
use crate::entry::Call;
use crate::faults::Fault;
use crate::refills::Refills;

/// Microseconds.
pub type Time = u64;
/// The number of an object among those of its kind.
pub type Id = usize;

/// The smallest budget: what entering and leaving the kernel may cost.
pub const MIN_BUDGET: Time = 20;

/// Everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Model {
    pub now: Time,
    pub threads: Vec<Thread>,
    pub endpoints: Vec<Vec<Id>>,
    pub notifications: Vec<Notification>,
    pub replies: Vec<Reply>,
    pub contexts: Vec<Context>,
    /// All capabilities, in the order of the derivation tree.
    pub slots: Vec<Slot>,
    /// Who runs, and on which context.
    pub current: Option<Id>,
    pub paying: Option<Id>,
    /// Time that `paying` has used and was not charged for yet.
    pub used: Time,
    /// Threads that at or above this criticality run above all others; 0: all are equal.
    pub level: u8,
    /// Threads that could run, by criticality, priority and order, and since when, twice; 0 for those put
    /// in front, and one more for those that were not released.
    pub ready: Vec<(Time, Id)>,
    /// Threads out of budget, with the time of their release.
    pub starved: Vec<(Time, Id)>,
    pub choice: Choice,
}

/// Who shall run when this entry ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Choice {
    /// Whoever ran.
    #[default]
    Same,
    /// This one, if that is right.
    Candidate(Id),
    /// The first of all.
    Anew,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    #[default]
    Inactive,
    Running,
    /// Will execute its last instruction again.
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
    Waiting {
        notification: Id,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Thread {
    pub state: State,
    pub priority: u8,
    /// The highest priority that it may give to others.
    pub authority: u8,
    /// What contexts have that are bound or lent to it, and the highest that it may give to others.
    pub criticality: u8,
    pub criticality_authority: u8,
    pub context: Option<Id>,
    pub notification: Option<Id>,
    pub fault: Option<Fault>,
    /// The context that it has yielded to and whose use it will learn.
    pub yielded_to: Option<Id>,
    /// What it sees.
    pub badge: usize,
    pub label: usize,
    pub words: Words,
    /// Its last system call, whether it will execute that next, and whether it was its last trap.
    pub call: Call,
    pub calls_next: bool,
    pub called_last: bool,
    /// Its registers were written by somebody: what it sees is not known.
    pub obscure: bool,
}

/// Message words; those that the model has no opinion of are `None`.
pub type Words = Vec<Option<usize>>;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Notification {
    /// The word, when it was signalled.
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
    /// It stands for a caller.
    Caller(Id),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Context {
    /// Budget and replenishments, once configured.
    pub refills: Option<Refills>,
    pub sporadic: bool,
    pub badge: usize,
    /// Time charged since somebody asked.
    pub consumed: Time,
    pub thread: Option<Id>,
    /// The thread that it was bound to, and the criticality of whoever runs on it.
    pub owner: Option<Id>,
    pub criticality: u8,
    pub notification: Option<Id>,
    /// The reply objects along which it was donated, the latest last.
    pub stack: Vec<Id>,
    /// Who yielded to it and waits for the result.
    pub yielder: Option<Id>,
}

impl Model {
    /// The initial thread alone, which runs on slices of this length; and the addresses of memory to
    /// make objects from and of the right to hand out time.
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
        (model.current, model.paying) = (Some(0), Some(0));
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

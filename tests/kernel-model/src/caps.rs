//! Capabilities: one list, in which the children of a capability follow it.

use crate::state::{Context, Id, Model, Notification, Reply, State};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rights {
    pub write: bool,
    pub read: bool,
    pub grant: bool,
    pub grant_reply: bool,
}

impl Rights {
    pub const ALL: Self = Self { write: true, read: true, grant: true, grant_reply: true };

    pub fn from_word(word: usize) -> Self {
        let bit = |index: usize| word >> index & 1 != 0;
        Self { write: bit(0), read: bit(1), grant: bit(2), grant_reply: bit(3) }
    }

    fn and(self, other: Self) -> Self {
        Self {
            write: self.write && other.write,
            read: self.read && other.read,
            grant: self.grant && other.grant,
            grant_reply: self.grant_reply && other.grant_reply,
        }
    }

    pub fn can_reply(self) -> bool {
        self.grant || self.grant_reply
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cap {
    Null,
    /// The memory from which all objects are made.
    Memory,
    CNode,
    SchedControl,
    IrqControl,
    IrqHandler(Id),
    /// A frame, which has no use in the model.
    Frame(usize),
    Endpoint {
        id: Id,
        badge: usize,
        rights: Rights,
    },
    Notification {
        id: Id,
        badge: usize,
        rights: Rights,
    },
    Reply {
        id: Id,
    },
    Context {
        id: Id,
    },
    Thread {
        id: Id,
    },
}

impl Cap {
    fn badge(self) -> usize {
        match self {
            Self::Endpoint { badge, .. } | Self::Notification { badge, .. } => badge,
            _ => 0,
        }
    }

    /// The capability without the parts that may differ between capabilities to one object.
    fn object(self) -> Self {
        let (badge, rights) = (0, Rights::ALL);
        match self {
            Self::Endpoint { id, .. } => Self::Endpoint { id, badge, rights },
            Self::Notification { id, .. } => Self::Notification { id, badge, rights },
            other => other,
        }
    }

    /// Whether threads may have it as a handler; null means no handler.
    pub fn is_handler(self) -> bool {
        match self {
            Self::Endpoint { rights, .. } => rights.write && rights.can_reply(),
            other => other == Self::Null,
        }
    }

    fn restrict(mut self, mask: Rights) -> Self {
        if let Self::Endpoint { rights, .. } | Self::Notification { rights, .. } = &mut self {
            *rights = rights.and(mask);
        }
        self
    }
}

/// The place of a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In the CNode that all threads share.
    Address(usize),
    FaultHandler(Id),
    TimeoutHandler(Id),
    Line(Id),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    pub place: Place,
    pub cap: Cap,
    /// It can have children; `first_badged` says that its badge was set when it was made.
    pub original: bool,
    pub first_badged: bool,
}

impl Slot {
    fn is_parent_of(&self, other: &Self) -> bool {
        let made_from_memory = !matches!(
            other.cap,
            Cap::Memory | Cap::CNode | Cap::SchedControl | Cap::IrqControl | Cap::IrqHandler(_)
        );
        self.original
            && match self.cap {
                Cap::Memory => made_from_memory,
                cap if cap.object() != other.cap.object() => false,
                cap if cap.badge() == 0 => true,
                cap => cap.badge() == other.cap.badge() && !other.first_badged,
            }
    }
}

impl Model {
    fn index(&self, place: Place) -> Option<usize> {
        self.slots.iter().position(|slot| slot.place == place)
    }

    pub fn cap(&self, place: Place) -> Cap {
        self.index(place).map_or(Cap::Null, |index| self.slots[index].cap)
    }

    /// The endpoint of a capability that is not a copy.
    pub fn original_endpoint(&self, place: Place) -> Option<Id> {
        match self.slots[self.index(place)?] {
            Slot {
                cap: Cap::Endpoint { id, badge: 0, rights: Rights::ALL },
                original: true,
                ..
            } => Some(id),
            _ => None,
        }
    }

    /// Adds the first capability to an object.
    pub fn put(&mut self, place: Place, cap: Cap) {
        let memory = self.slots.iter().position(|slot| slot.cap == Cap::Memory);
        let slot = Slot { place, cap, original: true, first_badged: true };
        self.slots.insert(memory.map_or(0, |memory| memory + 1), slot);
    }

    /// A copy with fewer rights and, if it is not 0, a badge; `None` if that is not allowed.
    pub fn derive(&self, source: Place, rights: Rights, badge: usize, mint: bool) -> Option<Cap> {
        let mut cap = self.cap(source).restrict(rights);
        match &mut cap {
            Cap::Endpoint { badge: old, .. } | Cap::Notification { badge: old, .. } if mint => {
                if *old != 0 {
                    return None;
                }
                *old = badge;
            }
            _ => {}
        }
        Some(cap)
    }

    /// Inserts a copy after its source.
    pub fn insert(&mut self, place: Place, cap: Cap, source: Place) {
        let Some(index) = self.index(source) else {
            return;
        };
        let new_badge = cap.badge() != self.slots[index].cap.badge();
        let slot = Slot { place, cap, original: new_badge, first_badged: new_badge };
        self.slots.insert(index + 1, slot);
    }

    pub fn relocate(&mut self, source: Place, target: Place) {
        if let Some(index) = self.index(source) {
            self.slots[index].place = target;
        }
    }

    /// Deletes the children of a capability.
    pub fn revoke(&mut self, place: Place) {
        while let Some(index) = self.index(place)
            && let Some(next) = self.slots.get(index + 1)
            && self.slots[index].is_parent_of(next)
        {
            self.delete(next.place);
        }
    }

    /// Deletes a capability, and with the last one its object.
    pub fn delete(&mut self, place: Place) {
        let Some(index) = self.index(place) else {
            return;
        };
        let cap = self.slots.remove(index).cap;
        if !self.slots.iter().any(|slot| slot.cap.object() == cap.object()) {
            self.destroy(cap);
        }
    }

    fn destroy(&mut self, cap: Cap) {
        match cap {
            Cap::Endpoint { id, .. } => {
                for thread in self.endpoints[id].queue.clone() {
                    self.restart_sender(thread);
                }
            }
            Cap::Notification { id, .. } => {
                let Notification { queue, thread, context, .. } =
                    std::mem::take(&mut self.notifications[id]);
                if let Some(context) = context {
                    self.contexts[context].notification = None;
                }
                if let Some(thread) = thread {
                    self.threads[thread].notification = None;
                }
                for waiter in queue {
                    self.restart(waiter);
                }
            }
            Cap::Reply { id } => match self.replies[id] {
                Reply::Free => {}
                Reply::Receiver(thread) => self.cancel(thread),
                Reply::Caller(_) if self.is_limited(id) => self.fail_call(id),
                Reply::Caller(thread) => {
                    self.end_call(id);
                    self.threads[thread].fault = None;
                }
            },
            Cap::Context { id } => {
                self.unbind_context(id);
                self.contexts[id] = Context::default();
            }
            Cap::Thread { id } => {
                self.unbind_notification(id);
                self.contexts
                    .iter_mut()
                    .filter(|context| context.owner == Some(id))
                    .for_each(|context| context.owner = None);
                self.suspend(id);
                if let Some(context) = self.threads[id].context {
                    self.finish_yield_of(context);
                    self.unbind_thread(context);
                }
                self.delete(Place::FaultHandler(id));
                self.delete(Place::TimeoutHandler(id));
            }
            _ => {}
        }
    }

    /// The object of a blocked thread is deleted: the thread retries, or drops its fault.
    pub fn restart_sender(&mut self, thread: Id) {
        let fault = self.threads[thread].fault.is_some();
        self.cancel(thread);
        if !fault {
            self.restart(thread);
        }
    }

    fn restart(&mut self, thread: Id) {
        self.threads[thread].state = State::Restart;
        self.wake(thread);
        self.possible_switch_to(thread);
    }
}

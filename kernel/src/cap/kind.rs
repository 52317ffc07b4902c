//! The kinds of capabilities.

use abi::sizes::{ENDPOINT_BITS, NOTIFICATION_BITS, REPLY_BITS, SLOT_BITS, TCB_BITS};
use abi::{GuardData, Rights, WORD_BITS};

use crate::arch::{Arch, ArchCap, Irq, PhysAddr};
use crate::error::Error;
use crate::object::{Endpoint, Notification, Reply, SchedContext, Thread};
use crate::slot::Slot;
use crate::token::Ptr;

/// A capability, unpacked.
pub enum Cap<A: Arch> {
    /// None: the slot is empty.
    Null,
    /// Memory in which objects can be created.
    Untyped(UntypedCap),
    /// An endpoint.
    Endpoint(EndpointCap<A>),
    /// A notification: a word of binary semaphores.
    Notification(NotificationCap<A>),
    /// A reply object.
    Reply {
        /// The object.
        object: Ptr<Reply<A>>,
        /// Whether a reply may carry capabilities.
        grant: bool,
    },
    /// A table of capability slots.
    CNode(CNode<A>),
    /// A thread.
    Thread(Ptr<Thread<A>>),
    /// The right to issue interrupt handlers.
    IrqControl,
    /// An interrupt line.
    IrqHandler(Irq),
    /// The right to assign threads to domains and to change the domain schedule.
    Domain,
    /// A scheduling context.
    SchedContext {
        /// The object.
        object: Ptr<SchedContext<A>>,
        /// log2 of its size.
        bits: usize,
    },
    /// The right to configure scheduling contexts with time of a core.
    SchedControl {
        /// The core.
        core: usize,
    },
    /// A deleted object with occupied slots or blocked threads.
    Zombie(Zombie<A>),
    /// An architecture-specific capability.
    Arch(A::Cap),
}

/// A region of untyped memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UntypedCap {
    /// Physical start.
    pub address: PhysAddr,
    /// log2 of the size.
    pub bits: usize,
    /// Whether it is device memory, which the kernel never accesses.
    pub device: bool,
    /// Bytes from the start that are allocated, or that were and are not cleared yet.
    pub watermark: usize,
}

impl UntypedCap {
    /// Size in bytes.
    pub const fn size(&self) -> usize {
        1 << self.bits
    }

    /// Whether the memory of the other capability's object is part of this region.
    #[inline(always)]
    pub(super) fn contains<A: Arch>(&self, other: &Cap<A>) -> bool {
        other.memory().is_some_and(|(start, bits)| {
            let first = self.address.0;
            let last = first + (self.size() - 1);
            first <= start.0 && start.0 + ((1 << bits) - 1) <= last
        })
    }
}

/// A capability to an endpoint or notification, with a badge.
pub struct BadgedCap<T> {
    /// The object.
    pub object: Ptr<T>,
    /// The badge that receivers get with a message; for a notification, the bits that a signal sets.
    pub badge: usize,
    /// The rights of its holder.
    pub rights: Rights,
}

/// A capability to an endpoint.
pub type EndpointCap<A> = BadgedCap<Endpoint<A>>;
/// A capability to a notification.
pub type NotificationCap<A> = BadgedCap<Notification<A>>;

impl<T> BadgedCap<T> {
    /// The capability to a new object: with all rights, and without a badge.
    pub const fn original(object: Ptr<T>) -> Self {
        Self {
            object,
            badge: 0,
            rights: Rights::ALL,
        }
    }

    /// The capability with its rights reduced to the intersection with `rights`.
    #[cfg_attr(target_os = "none", optimize(size))]
    fn mask_rights(self, rights: Rights) -> Self {
        let rights = self.rights.intersection(rights);
        Self { rights, ..self }
    }

    /// The capability with a badge; `None` if it has one already, or is `moved`.
    fn with_badge(self, moved: bool, data: usize) -> Option<Self> {
        let badge = data & (usize::MAX >> (WORD_BITS - abi::BADGE_BITS));
        (!moved && self.badge == 0).then_some(Self { badge, ..self })
    }
}

/// A capability to a CNode.
pub struct CNode<A: Arch> {
    /// The first slot.
    pub slots: Ptr<Slot<A>>,
    /// log2 of the number of slots.
    pub radix: usize,
    /// Address bits that come before the index.
    pub guard: GuardData,
}

impl<A: Arch> CNode<A> {
    /// Number of slots.
    pub const fn slot_count(&self) -> usize {
        1 << self.radix
    }

    /// Whether its guard and index leave bits of an address for further CNodes.
    pub const fn is_split(&self) -> bool {
        self.guard.size + self.radix != WORD_BITS
    }

    /// A slot. `index` must be below [`CNode::slot_count`].
    pub fn slot(&self, index: usize) -> Ptr<Slot<A>> {
        debug_assert!(index < self.slot_count());
        Slot::at(self.slots, index)
    }
}

/// An object during its deletion.
pub enum Zombie<A: Arch> {
    /// A CNode or thread: its slots are emptied, the last one first.
    Slots(ZombieSlots<A>),
    /// An endpoint: its blocked threads are woken.
    Endpoint(Ptr<Endpoint<A>>),
    /// A notification: its blocked threads are woken.
    Notification(Ptr<Notification<A>>),
}

/// The slots of a deleted CNode or thread.
pub struct ZombieSlots<A: Arch> {
    /// The first slot.
    pub first: Ptr<Slot<A>>,
    /// log2 of the size of the object.
    pub bits: usize,
    /// How many slots, counted from the first, may still be occupied.
    pub remaining: usize,
}

impl<A: Arch> ZombieSlots<A> {
    /// A slot.
    pub fn slot(&self, index: usize) -> Ptr<Slot<A>> {
        Slot::at(self.first, index)
    }
}

copyable!([A: Arch] Cap<A>, [A: Arch] CNode<A>, [A: Arch] Zombie<A>, [A: Arch] ZombieSlots<A>);
copyable!([T] BadgedCap<T>);

impl<A: Arch> Cap<A> {
    /// Whether it is null, the capability of an empty slot.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The kernel memory of the object, as physical start and log2 of the size.
    #[inline]
    pub fn memory(&self) -> Option<(PhysAddr, usize)> {
        let (address, bits) = match self {
            Self::Untyped(untyped) => return Some((untyped.address, untyped.bits)),
            Self::Arch(cap) => return cap.memory(),
            Self::Endpoint(cap) => (cap.object.address(), ENDPOINT_BITS),
            Self::Notification(cap) => (cap.object.address(), NOTIFICATION_BITS),
            Self::Reply { object, .. } => (object.address(), REPLY_BITS),
            Self::CNode(cnode) => (cnode.slots.address(), cnode.radix + SLOT_BITS),
            Self::Thread(thread) => (thread.address(), TCB_BITS),
            Self::SchedContext { object, bits } => (object.address(), *bits),
            Self::Zombie(Zombie::Slots(slots)) => (slots.first.address(), slots.bits),
            Self::Zombie(Zombie::Endpoint(object)) => (object.address(), ENDPOINT_BITS),
            Self::Zombie(Zombie::Notification(object)) => (object.address(), NOTIFICATION_BITS),
            Self::Null
            | Self::IrqControl
            | Self::IrqHandler(_)
            | Self::Domain
            | Self::SchedControl { .. } => return None,
        };
        Some((A::to_physical(address), bits))
    }

    /// Whether this capability, if it is original, can be a parent of `other`: both refer to the same object,
    /// or this one refers to the origin of `other`.
    pub(super) fn same_region(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Untyped(untyped), _) => untyped.contains(other),
            (Self::IrqControl, Self::IrqControl | Self::IrqHandler(_)) => true,
            (Self::IrqControl, Self::Arch(cap)) => cap.is_issued_from_irq_control(),
            (Self::Arch(cap), Self::Arch(other)) => cap.same_region(*other),
            _ => self.same_object(other),
        }
    }

    /// Whether both refer to the same object, in which case neither is the last capability to it.
    pub fn same_object(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Endpoint(a), Self::Endpoint(b)) => a.object == b.object,
            (Self::Notification(a), Self::Notification(b)) => a.object == b.object,
            (Self::Reply { object: a, .. }, Self::Reply { object: b, .. }) => a == b,
            (Self::CNode(a), Self::CNode(b)) => a.slots == b.slots && a.radix == b.radix,
            (Self::Thread(a), Self::Thread(b)) => a == b,
            (Self::IrqHandler(a), Self::IrqHandler(b)) => a == b,
            (Self::SchedContext { object: a, .. }, Self::SchedContext { object: b, .. }) => a == b,
            (Self::Domain, Self::Domain)
            | (Self::SchedControl { .. }, Self::SchedControl { .. }) => true,
            (Self::Arch(a), Self::Arch(b)) => a.same_object(*b),
            _ => false,
        }
    }

    /// The badge, for the kinds with a derivation that depends on it.
    pub(super) const fn badge(&self) -> Option<usize> {
        match self {
            Self::Endpoint(cap) => Some(cap.badge),
            Self::Notification(cap) => Some(cap.badge),
            _ => None,
        }
    }

    /// The capability with its rights reduced to the intersection with `rights` (seL4 reference manual,
    /// section "Capability Rights").
    #[must_use]
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn mask_rights(self, rights: Rights) -> Self {
        match self {
            Self::Endpoint(cap) => Self::Endpoint(cap.mask_rights(rights)),
            Self::Notification(cap) => Self::Notification(cap.mask_rights(rights)),
            Self::Reply { object, grant } => Self::Reply {
                object,
                grant: grant && rights.contains(Rights::GRANT),
            },
            Self::Arch(cap) => Self::Arch(cap.mask_rights(rights)),
            other => other,
        }
    }

    /// The capability with a new badge or guard. `moved`: the capability is moved, not copied, and its badge cannot
    /// change.
    ///
    /// # Errors
    /// [`Error::IllegalOperation`] if the data is invalid.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn update_data(self, moved: bool, data: usize) -> Result<Self, Error> {
        let updated = match self {
            Self::Endpoint(cap) => cap.with_badge(moved, data).map(Self::Endpoint),
            Self::Notification(cap) => cap.with_badge(moved, data).map(Self::Notification),
            Self::CNode(cnode) => {
                let guard = GuardData::from_word(data);
                (guard.size + cnode.radix <= WORD_BITS)
                    .then_some(Self::CNode(CNode { guard, ..cnode }))
            }
            Self::Arch(cap) => cap.update_data(moved, data).map(Self::Arch),
            other => Some(other),
        };
        updated.ok_or(Error::IllegalOperation)
    }
}

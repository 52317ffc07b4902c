//! The kinds of capabilities.

use abi::sizes::{ENDPOINT_BITS, NOTIFICATION_BITS, REPLY_BITS, SLOT_BITS, TCB_BITS};
use abi::{GuardData, Rights, WORD_BITS};

use crate::arch::{Arch, ArchCap, Irq, PhysAddr};
use crate::object::{Endpoint, Notification, Reply, SchedContext, THREAD_SLOTS, Thread};
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
    /// The badge that receivers get with a message; of a notification, the bits that a signal sets.
    pub badge: usize,
    /// The rights of its holder.
    pub rights: Rights,
}

/// A capability to an endpoint.
pub type EndpointCap<A> = BadgedCap<Endpoint<A>>;
/// A capability to a notification.
pub type NotificationCap<A> = BadgedCap<Notification<A>>;

impl<T> BadgedCap<T> {
    /// The capability with its rights reduced to the intersection with `rights`.
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
    pub const fn len(&self) -> usize {
        1 << self.radix
    }

    /// Whether its guard and index leave bits of an address for further CNodes.
    pub const fn is_split(&self) -> bool {
        self.guard.size + self.radix != WORD_BITS
    }

    /// Always false: a CNode has at least two slots.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// A slot. `index` must be below [`CNode::len`].
    pub fn slot(&self, index: usize) -> Ptr<Slot<A>> {
        debug_assert!(index < self.len());
        Slot::at(self.slots, index)
    }
}

/// What a zombie was: an object with slots to be emptied, or with blocked threads to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZombieKind {
    /// A CNode of this radix.
    CNode {
        /// log2 of the number of slots.
        radix: usize,
    },
    /// A thread.
    Thread,
    /// An endpoint.
    Endpoint,
    /// A notification.
    Notification,
}

/// A CNode or thread during its deletion: its slots are emptied, the last one first. Or an endpoint or
/// notification during its deletion: its blocked threads are woken.
pub struct Zombie<A: Arch> {
    /// The first slot; for objects without slots, the object itself.
    pub slots: Ptr<Slot<A>>,
    /// The kind of the former object.
    pub kind: ZombieKind,
    /// How many slots, counted from the first, may still be occupied; 1 for objects without slots.
    pub remaining: usize,
}

impl<A: Arch> Zombie<A> {
    /// The zombie of a CNode.
    pub fn of_cnode(cnode: CNode<A>) -> Self {
        let kind = ZombieKind::CNode { radix: cnode.radix };
        Self {
            slots: cnode.slots,
            kind,
            remaining: cnode.len(),
        }
    }

    /// The zombie of a thread.
    pub fn of_thread(slots: Ptr<Slot<A>>) -> Self {
        Self {
            slots,
            kind: ZombieKind::Thread,
            remaining: THREAD_SLOTS,
        }
    }

    /// The zombie of an endpoint.
    pub fn of_endpoint(endpoint: Ptr<Endpoint<A>>) -> Self {
        Self::without_slots(endpoint.address(), ZombieKind::Endpoint)
    }

    /// The zombie of a notification.
    pub fn of_notification(notification: Ptr<Notification<A>>) -> Self {
        Self::without_slots(notification.address(), ZombieKind::Notification)
    }

    fn without_slots(address: usize, kind: ZombieKind) -> Self {
        // SAFETY: the address of an object that exists. `kind` prevents its use as slots.
        let slots = unsafe { Ptr::from_address(address) }.unwrap_or_else(|| unreachable!());
        Self {
            slots,
            kind,
            remaining: 1,
        }
    }

    /// Whether the former object has slots.
    pub const fn has_slots(&self) -> bool {
        matches!(self.kind, ZombieKind::CNode { .. } | ZombieKind::Thread)
    }

    /// The former endpoint, if it was one.
    pub fn endpoint(&self) -> Option<Ptr<Endpoint<A>>> {
        match self.kind {
            // SAFETY: made by `of_endpoint`.
            ZombieKind::Endpoint => unsafe { Ptr::from_address(self.slots.address()) },
            _ => None,
        }
    }

    /// The former notification, if it was one.
    pub fn notification(&self) -> Option<Ptr<Notification<A>>> {
        match self.kind {
            // SAFETY: made by `of_notification`.
            ZombieKind::Notification => unsafe { Ptr::from_address(self.slots.address()) },
            _ => None,
        }
    }

    /// A slot.
    pub fn slot(&self, index: usize) -> Ptr<Slot<A>> {
        Slot::at(self.slots, index)
    }

    const fn bits(&self) -> usize {
        match self.kind {
            ZombieKind::CNode { radix } => radix + SLOT_BITS,
            ZombieKind::Thread => TCB_BITS,
            ZombieKind::Endpoint => ENDPOINT_BITS,
            ZombieKind::Notification => NOTIFICATION_BITS,
        }
    }
}

copyable!([A: Arch] Cap<A>, [A: Arch] CNode<A>, [A: Arch] Zombie<A>);
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
            Self::Zombie(zombie) => (zombie.slots.address(), zombie.bits()),
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

    /// The capability with a new badge or guard; `None` if the data is invalid. `moved`: the capability is
    /// moved, not copied, and its badge cannot change.
    pub fn update_data(self, moved: bool, data: usize) -> Option<Self> {
        match self {
            Self::Endpoint(cap) => cap.with_badge(moved, data).map(Self::Endpoint),
            Self::Notification(cap) => cap.with_badge(moved, data).map(Self::Notification),
            Self::CNode(cnode) => {
                let guard = GuardData::from_word(data);
                (guard.size + cnode.radix <= WORD_BITS)
                    .then_some(Self::CNode(CNode { guard, ..cnode }))
            }
            Self::Arch(cap) => cap.update_data(moved, data).map(Self::Arch),
            other => Some(other),
        }
    }
}

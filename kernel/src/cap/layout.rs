//! Bit layout of each kind of capability; [`crate::slot`] explains the encoding.

use core::ptr::NonNull;

use abi::{GuardData, Rights};

use super::{BadgedCap, CNode, Cap, EndpointCap, NotificationCap, UntypedCap, Zombie, ZombieSlots};
use crate::arch::{Arch, ArchCap, Irq, PhysAddr};
use crate::object::{Reply, SchedContext};
use crate::slot::{Field, RawCap, Slot};
use crate::token::Ptr;

/// Tags of the kernel's kinds: the numbers of `DebugCapIdentify`. Tags of the architecture's kinds are odd.
mod tag {
    use abi::WORD_BITS;

    const fn tag(wide: u8, narrow: u8) -> u8 {
        if WORD_BITS == 64 { wide } else { narrow }
    }

    pub const NULL: u8 = 0;
    pub const UNTYPED: u8 = 2;
    pub const ENDPOINT: u8 = 4;
    pub const NOTIFICATION: u8 = 6;
    pub const REPLY: u8 = 8;
    pub const CNODE: u8 = 10;
    pub const THREAD: u8 = 12;
    pub const IRQ_CONTROL: u8 = 14;
    pub const IRQ_HANDLER: u8 = tag(16, 30);
    pub const ZOMBIE: u8 = tag(18, 46);
    pub const DOMAIN: u8 = tag(20, 62);
    pub const SCHED_CONTEXT: u8 = tag(22, 78);
    pub const SCHED_CONTROL: u8 = tag(24, 94);
}

/// 64-bit machines: the object's address (48 bits, 16-byte aligned) is in the upper bits of word 0.
#[cfg(target_pointer_width = "64")]
mod field {
    use crate::slot::Field;

    pub const OBJECT: Field = Field::pointer(0, 20, 44, 4);
    pub const RIGHTS: Field = Field::number(0, 5, 4);
    pub const BADGE: Field = Field::number(1, 0, 64);
    pub const REPLY_GRANT: Field = Field::number(0, 5, 1);
    pub const UNTYPED_ADDRESS: Field = Field::aligned(0, 20, 44, 4);
    pub const UNTYPED_BITS: Field = Field::number(0, 5, 6);
    pub const UNTYPED_DEVICE: Field = Field::number(0, 11, 1);
    pub const UNTYPED_WATERMARK: Field = Field::aligned(1, 0, 60, 4);
    pub const RADIX: Field = Field::number(0, 5, 6);
    pub const GUARD_SIZE: Field = Field::number(0, 11, 6);
    /// Whether guard and radix leave bits of an address over. Stored, so that lookups need not compute it.
    pub const SPLIT: Field = Field::number(0, 17, 1);
    /// Guards have up to 58 bits and are the only field of this word.
    pub const GUARD: Field = Field::number(1, 0, 64);
    pub const SCHED_CONTEXT: Field = OBJECT;
    pub const SCHED_CONTEXT_BITS: Field = Field::number(0, 5, 6);
    pub const ZOMBIE_KIND: Field = Field::number(0, 5, 6);
}

/// Endpoint and reply capabilities have zeros in the four bits below the object, so that fast paths in assembly get its
/// address by one shift.
#[cfg(target_pointer_width = "64")]
const _: () = {
    let (_, object) = field::OBJECT.position();
    let (_, rights) = field::RIGHTS.position();
    let (_, grant) = field::REPLY_GRANT.position();
    assert!(rights + field::RIGHTS.width() <= object - 4);
    assert!(grant + field::REPLY_GRANT.width() <= object - 4);
};

/// 32-bit machines: the kinds with the largest payload have four-bit tags and use every bit.
#[cfg(target_pointer_width = "32")]
mod field {
    use crate::slot::Field;

    pub const OBJECT: Field = Field::pointer(0, 4, 28, 4);
    pub const BADGE: Field = Field::number(1, 0, 28);
    pub const RIGHTS: Field = Field::number(1, 28, 4);
    pub const REPLY_GRANT: Field = Field::number(1, 0, 1);
    pub const UNTYPED_ADDRESS: Field = Field::aligned(0, 4, 28, 4);
    pub const UNTYPED_WATERMARK: Field = Field::aligned(1, 0, 26, 4);
    pub const UNTYPED_BITS: Field = Field::number(1, 26, 5);
    pub const UNTYPED_DEVICE: Field = Field::number(1, 31, 1);
    pub const GUARD_SIZE: Field = Field::number(1, 0, 5);
    pub const RADIX: Field = Field::number(1, 5, 5);
    /// Whether guard and radix leave bits of an address over. Stored, so that lookups need not compute it.
    pub const SPLIT: Field = Field::number(1, 13, 1);
    pub const GUARD: Field = Field::number(1, 14, 18);
    pub const SCHED_CONTEXT: Field = Field::pointer(1, 7, 25, 7);
    pub const SCHED_CONTEXT_BITS: Field = Field::number(1, 0, 5);
    pub const ZOMBIE_KIND: Field = Field::number(0, 8, 6);
}

/// The second word of a zombie: the address of the object plus the number of remaining slots. Objects are aligned to
/// their size, so the count fits into the low bits of the address.
const ZOMBIE_PLACE: Field = Field::number(1, 0, usize::BITS as u8);
/// The interrupt line, or the core.
const NUMBER: Field = Field::number(1, 0, usize::BITS as u8);
/// The values of the kind field of zombies that were not CNodes; no CNode has such a radix.
const ZOMBIE_ENDPOINT: usize = 62;
const ZOMBIE_NOTIFICATION: usize = 61;

/// A kind of capability for a debugger: its tag, its name, and its fields.
#[cfg(feature = "debug")]
pub(crate) type Kind = (u8, &'static str, &'static [(&'static str, Field)]);

/// Rows of a table of kinds: tag, name, and fields with their names.
#[cfg(feature = "debug")]
macro_rules! kinds {
    ($($tag:ident $name:literal { $($label:literal: $field:ident),* })*) => {
        &[$((tag::$tag, $name, &[$(($label, $field)),*])),*]
    };
}

/// The kinds that do not depend on the architecture, as [`Cap::encode`] packs them.
#[cfg(feature = "debug")]
pub(crate) const KINDS: &[Kind] = {
    use field::*;
    kinds! {
        UNTYPED "untyped memory" { "address": UNTYPED_ADDRESS, "bits": UNTYPED_BITS, "used": UNTYPED_WATERMARK }
        ENDPOINT "endpoint" { "object": OBJECT, "badge": BADGE, "rights": RIGHTS }
        NOTIFICATION "notification" { "object": OBJECT, "badge": BADGE, "rights": RIGHTS }
        REPLY "reply object" { "object": OBJECT, "grant": REPLY_GRANT }
        CNODE "CNode" { "object": OBJECT, "radix": RADIX, "guard": GUARD, "guard size": GUARD_SIZE }
        THREAD "thread" { "object": OBJECT }
        IRQ_CONTROL "interrupt control" {}
        IRQ_HANDLER "interrupt handler" { "line": NUMBER }
        ZOMBIE "zombie" { "place": ZOMBIE_PLACE }
        DOMAIN "domains" {}
        SCHED_CONTEXT "scheduling context" { "object": SCHED_CONTEXT, "bits": SCHED_CONTEXT_BITS }
        SCHED_CONTROL "scheduling control" { "core": NUMBER }
    }
};

/// The encoding of those capabilities that fast paths in assembly read.
#[derive(Debug)]
pub struct Packing;

impl Packing {
    /// Mask for the tag in the first word, for kinds with short tags.
    pub const KIND: usize = RawCap::SHORT_TAG;
    /// The tag of CNodes.
    pub const CNODE: usize = tag::CNODE as usize;
    /// The tag of endpoints.
    pub const ENDPOINT: usize = tag::ENDPOINT as usize;
    /// The tag of reply objects.
    pub const REPLY: usize = tag::REPLY as usize;
    /// The object of all of these kinds: its address, without its four low zero bits, in the upper bits of
    /// word 0.
    pub const OBJECT: Field = field::OBJECT;
    /// A CNode's radix.
    pub const RADIX: Field = field::RADIX;
    /// Whether a CNode's guard and radix leave address bits for further levels.
    pub const SPLIT: Field = field::SPLIT;
    /// A CNode's guard.
    pub const GUARD: Field = field::GUARD;
    /// An endpoint's badge.
    pub const BADGE: Field = field::BADGE;
    /// An endpoint capability's rights.
    pub const RIGHTS: Field = field::RIGHTS;
}

impl<T> BadgedCap<T> {
    #[inline(always)]
    fn encode(self, tag: u8) -> RawCap {
        RawCap::new(tag)
            .with(field::OBJECT, self.object.address())
            .with(field::BADGE, self.badge)
            .with(field::RIGHTS, self.rights.word())
    }

    #[inline(always)]
    fn decode(raw: RawCap) -> Self {
        Self {
            object: object(raw.get(field::OBJECT)),
            badge: raw.get(field::BADGE),
            rights: Rights::from_word(raw.get(field::RIGHTS)),
        }
    }
}

impl RawCap {
    /// Whether it is a CNode.
    #[inline(always)]
    pub(crate) const fn is_cnode(self) -> bool {
        self.tag() == tag::CNODE
    }

    /// The CNode's guard, if it has one; long lookups usually meet none. Without bits, its value is 0
    /// ([`GuardData::from_word`]).
    #[inline(always)]
    pub(super) fn guard(self) -> Option<GuardData> {
        use field::*;
        (!self.is_zero(GUARD_SIZE)).then(|| GuardData {
            guard: self.get(GUARD),
            size: self.get(GUARD_SIZE),
        })
    }
}

impl<A: Arch> CNode<A> {
    /// The CNode of a capability that [is one](RawCap::is_cnode).
    #[inline(always)]
    pub(super) fn unpack(raw: RawCap) -> Self {
        use field::*;
        Self {
            slots: object(raw.get(OBJECT)),
            radix: raw.get(RADIX),
            guard: GuardData {
                guard: raw.get(GUARD),
                size: raw.get(GUARD_SIZE),
            },
        }
    }
}

impl<A: Arch> Cap<A> {
    /// Packs the capability. Inlined, so that a caller that packs one kind contains no code for others.
    #[inline(always)]
    pub fn encode(self) -> RawCap {
        use field::*;
        match self {
            Self::Null => RawCap::NULL,
            Self::Untyped(cap) => RawCap::new(tag::UNTYPED)
                .with(UNTYPED_ADDRESS, cap.address.0)
                .with(UNTYPED_BITS, cap.bits)
                .with(UNTYPED_DEVICE, cap.device as usize)
                .with(UNTYPED_WATERMARK, cap.watermark),
            Self::Endpoint(cap) => cap.encode(tag::ENDPOINT),
            Self::Notification(cap) => cap.encode(tag::NOTIFICATION),
            Self::Reply { object, grant } => RawCap::new(tag::REPLY)
                .with(OBJECT, object.address())
                .with(REPLY_GRANT, grant as usize),
            Self::CNode(cnode) => RawCap::new(tag::CNODE)
                .with(OBJECT, cnode.slots.address())
                .with(RADIX, cnode.radix)
                .with(GUARD, cnode.guard.guard)
                .with(GUARD_SIZE, cnode.guard.size)
                .with(SPLIT, cnode.is_split() as usize),
            Self::Thread(thread) => RawCap::new(tag::THREAD).with(OBJECT, thread.address()),
            Self::IrqControl => RawCap::new(tag::IRQ_CONTROL),
            Self::IrqHandler(irq) => RawCap::new(tag::IRQ_HANDLER).with(NUMBER, irq.0),
            Self::Domain => RawCap::new(tag::DOMAIN),
            Self::SchedContext { object, bits } => RawCap::new(tag::SCHED_CONTEXT)
                .with(SCHED_CONTEXT, object.address())
                .with(SCHED_CONTEXT_BITS, bits),
            Self::SchedControl { core } => RawCap::new(tag::SCHED_CONTROL).with(NUMBER, core),
            Self::Zombie(zombie) => {
                let (kind, place) = match zombie {
                    Zombie::Slots(slots) => (slots.bits, slots.first.address() | slots.remaining),
                    Zombie::Endpoint(object) => (ZOMBIE_ENDPOINT, object.address()),
                    Zombie::Notification(object) => (ZOMBIE_NOTIFICATION, object.address()),
                };
                RawCap::new(tag::ZOMBIE)
                    .with(ZOMBIE_KIND, kind)
                    .with(ZOMBIE_PLACE, place)
            }
            Self::Arch(cap) => cap.encode(),
        }
    }

    /// Packs a capability of any kind. Not inlined, for callers that do not know the kind.
    #[inline(never)]
    pub(super) fn pack(self) -> RawCap {
        self.encode()
    }

    /// Whether it is untyped memory or architecture-specific.
    #[inline(always)]
    pub(crate) const fn is_memory(raw: RawCap) -> bool {
        let tag = raw.tag();
        tag == tag::UNTYPED || tag & 1 == 1
    }

    /// The slot that a full-width address selects in a CNode whose guard and index make up such an address; `None`
    /// for another CNode or kind, and for another guard. It takes half of the instructions of a lookup that allows
    /// further levels.
    #[inline(always)]
    pub(crate) fn slot_of_only_level(raw: RawCap, address: usize) -> Option<Ptr<Slot<A>>> {
        let (radix, guard) = (raw.get(field::RADIX) as u32, raw.get(field::GUARD));
        let is_whole = raw.tag() == tag::CNODE && raw.get(field::SPLIT) == 0;
        if !is_whole || address.wrapping_shr(radix) != guard {
            return None;
        }
        let index = address ^ guard.wrapping_shl(radix);
        Some(Slot::at(object(raw.get(field::OBJECT)), index))
    }

    /// The endpoint, if it is one.
    #[inline(always)]
    pub(crate) fn decode_endpoint(raw: RawCap) -> Option<EndpointCap<A>> {
        (raw.tag() == tag::ENDPOINT).then(|| BadgedCap::decode(raw))
    }

    /// The notification, if it is one.
    #[inline(always)]
    pub(crate) fn decode_notification(raw: RawCap) -> Option<NotificationCap<A>> {
        (raw.tag() == tag::NOTIFICATION).then(|| BadgedCap::decode(raw))
    }

    /// Whether a copy is the same capability: kinds for which `derive_cap` has no condition.
    #[inline(always)]
    pub(crate) const fn is_copied_as_is(raw: RawCap) -> bool {
        matches!(
            raw.tag(),
            tag::ENDPOINT | tag::NOTIFICATION | tag::REPLY | tag::CNODE | tag::THREAD
        )
    }

    /// Whether it is a reply object, and capabilities may be sent with the reply.
    #[inline(always)]
    pub(crate) fn is_reply_with_grant(raw: RawCap) -> bool {
        raw.tag() == tag::REPLY && raw.get(field::REPLY_GRANT) != 0
    }

    /// The reply object, if it is one.
    #[inline(always)]
    pub(crate) fn decode_reply(raw: RawCap) -> Option<Ptr<Reply<A>>> {
        (raw.tag() == tag::REPLY).then(|| object(raw.get(field::OBJECT)))
    }

    /// The scheduling context, if it is one.
    #[inline(always)]
    pub(crate) fn decode_context(raw: RawCap) -> Option<Ptr<SchedContext<A>>> {
        (raw.tag() == tag::SCHED_CONTEXT).then(|| object(raw.get(field::SCHED_CONTEXT)))
    }

    /// Unpacks the result of [`Cap::encode`]. Inlined, so that a caller that needs one kind contains no code
    /// for others.
    #[inline(always)]
    pub fn decode(raw: RawCap) -> Self {
        use field::*;
        match raw.tag() {
            tag::NULL => Self::Null,
            tag::UNTYPED => Self::Untyped(UntypedCap {
                address: PhysAddr(raw.get(UNTYPED_ADDRESS)),
                bits: raw.get(UNTYPED_BITS),
                device: raw.get(UNTYPED_DEVICE) != 0,
                watermark: raw.get(UNTYPED_WATERMARK),
            }),
            tag::ENDPOINT => Self::Endpoint(BadgedCap::decode(raw)),
            tag::NOTIFICATION => Self::Notification(BadgedCap::decode(raw)),
            tag::REPLY => Self::Reply {
                object: object(raw.get(OBJECT)),
                grant: raw.get(REPLY_GRANT) != 0,
            },
            tag::CNODE => Self::CNode(CNode::unpack(raw)),
            tag::THREAD => Self::Thread(object(raw.get(OBJECT))),
            tag::IRQ_CONTROL => Self::IrqControl,
            tag::IRQ_HANDLER => Self::IrqHandler(Irq(raw.get(NUMBER))),
            tag::DOMAIN => Self::Domain,
            tag::SCHED_CONTEXT => Self::SchedContext {
                object: object(raw.get(SCHED_CONTEXT)),
                bits: raw.get(SCHED_CONTEXT_BITS),
            },
            tag::SCHED_CONTROL => Self::SchedControl {
                core: raw.get(NUMBER),
            },
            tag::ZOMBIE => {
                let place = raw.get(ZOMBIE_PLACE);
                Self::Zombie(match raw.get(ZOMBIE_KIND) {
                    ZOMBIE_ENDPOINT => Zombie::Endpoint(object(place)),
                    ZOMBIE_NOTIFICATION => Zombie::Notification(object(place)),
                    bits => {
                        let mask = (1usize << bits) - 1;
                        Zombie::Slots(ZombieSlots {
                            first: object(place & !mask),
                            bits,
                            remaining: place & mask,
                        })
                    }
                })
            }
            _ => Self::Arch(A::Cap::decode(raw)),
        }
    }
}

/// The handle of an object at an address from a capability. Unchecked, so that the compiler can remove it where
/// the decoded kind is not used.
#[inline(always)]
const fn object<T>(address: usize) -> Ptr<T> {
    let pointer = core::ptr::with_exposed_provenance_mut::<T>(address);
    // SAFETY: a capability exists only as long as its object: retype and boot create both, and memory is
    // reused only after the last capability has been deleted. `encode` stored this address, which is not
    // zero.
    unsafe { Ptr::new(NonNull::new_unchecked(pointer)) }
}

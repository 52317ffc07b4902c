//! The kinds of events, and the codes in their details.

/// An enumeration with explicit numbers, and the way back from a number.
macro_rules! codes {
    ($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $number:literal,)* }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$inner])* $variant = $number,)* }

        impl $name {
            /// All of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its number.
            #[must_use]
            pub const fn number(self) -> u8 {
                self as u8
            }

            /// The one with a number; `None` if this version knows none.
            #[must_use]
            pub const fn from_number(number: u64) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant),)*
                }
            }
        }
    };
}

codes! {
    /// What happened. The subject is a thread or a scheduling context; `a` and `b` are the details, with times in
    /// ticks.
    Kind {
        /// The subject is the thread that this core runs from now on; none: it idles.
        Run = 1,
        /// The subject is the context that is charged from now on.
        Use = 2,
        /// A kernel entry; the subject ran. `a`: a [`Reason`], `b`: its number.
        Entry = 3,
        /// The end of a kernel entry; the subject runs. `a`: its context, `b`: the timer deadline.
        Exit = 4,
        /// The subject invokes a capability. `a`: its tag, `b`: the label of the message.
        Invocation = 5,
        /// A context has got its parameters. `a`: budget, `b`: period, which is 0 for round robin.
        Configured = 10,
        /// More parameters of a context. `a`: flags as in the ABI, `b`: its badge.
        Flags = 11,
        /// A context was charged. `a`: the amount, `b`: the total consumed afterwards.
        Charged = 12,
        /// The head replenishment of a context, after a change. `a`: its time, `b`: its amount.
        Head = 13,
        /// The last replenishment of a context, after a charge. `a`: its time, `b`: its amount.
        Added = 14,
        /// A thread gives up time of its context. `a`: the time used and not charged yet.
        GivenUp = 15,
        /// An idling context was charged while its thread waited. `a`: the amount.
        Idled = 16,
        /// The kernel has told a user the time consumed from a context. `a`: that time.
        Consumed = 17,
        /// The use of a context ends. `a`: an [`End`], `b`: the thread that runs on it.
        Exhausted = 18,
        /// A context moves from thread `a` to thread `b`; the upper half of `a` is a [`Move`].
        Moved = 20,
        /// A limit applies to a context. `a`: the time that may be used, `b`: the thread that has got it.
        Limited = 21,
        /// A thread blocks. `a`: a [`Blocking`], `b`: the object.
        Blocked = 30,
        /// A thread can run again. `a`: the thread that ran when it was woken.
        Woken = 31,
        /// A thread is stopped.
        Stopped = 32,
        /// A thread waits for a replenishment. `a`: its time, `b`: the context.
        Postponed = 33,
        /// A sender has too little budget for a threshold, and waits. `a`: the context, `b`: the threshold.
        Deferred = 34,
        /// A fault of a thread. `a`: the label of its message.
        Faulted = 35,
        /// A timeout of a thread is reported to its handler. `a`: the context, `b`: its badge.
        Timeout = 36,
        /// A thread yields to the context `a`. `b`: the time at which that ends, or the highest number.
        Yielded = 37,
        /// The priority of a thread. `a`: priority.
        Priority = 40,
        /// The criticality of a thread. `a`: criticality.
        Criticality = 41,
        /// The criticality level of this core. `a`: level.
        Level = 42,
        /// The domain of this core. `a`: domain.
        Domain = 43,
        /// A thread migrates. `a`: its core.
        ThreadMigrated = 44,
        /// A context migrates. `a`: its core.
        ContextMigrated = 45,
        /// All other cores wait for this one, from here to the end of the kernel entry. The subject has waited for
        /// that. `a`: how long.
        Exclusive = 46,
        /// A kernel entry of the subject has waited for a core that was in exclusive mode.
        Waited = 47,
        /// A thread was created.
        ThreadCreated = 50,
        /// A thread is deleted.
        ThreadDeleted = 51,
        /// A context was created.
        ContextCreated = 52,
        /// A context is deleted.
        ContextDeleted = 53,
        /// The name of a thread: the bytes of `a` and `b`, up to the first zero.
        Named = 54,
        /// A program marks this point. `a`: the task; the upper half is a [`Mark`]. `b`: its value.
        Marked = 60,
    }
}

impl Kind {
    /// Whether its subject is a scheduling context; otherwise it is a thread, if there is one.
    #[must_use]
    pub const fn is_about_context(self) -> bool {
        matches!(
            self,
            Self::Use
                | Self::Configured
                | Self::Flags
                | Self::Charged
                | Self::Head
                | Self::Added
                | Self::GivenUp
                | Self::Idled
                | Self::Consumed
                | Self::Exhausted
                | Self::Moved
                | Self::Limited
                | Self::ContextMigrated
                | Self::ContextCreated
                | Self::ContextDeleted
        )
    }
}

/// A set of kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u64);

impl Kinds {
    /// All kinds, those of later versions included.
    pub const ALL: Self = Self(u64::MAX);
    /// No events, of a ring that is written all the same. (0 stands for all in a header.)
    pub const NOTHING: Self = Self(1);
    /// Which thread ran on which context, and when: no more is in a lite ring.
    pub const LITE: Self = Self::of(&[Kind::Run, Kind::Use]);
    /// What every full ring has: a reader finds out from these what other events are about.
    const OBJECTS: Self = Self::of(&[
        Kind::ThreadCreated,
        Kind::ThreadDeleted,
        Kind::ContextCreated,
        Kind::ContextDeleted,
        Kind::Named,
    ]);

    /// The names of the groups in which kinds are chosen, and the kinds of each.
    pub const GROUPS: [(&'static str, Self); 4] = [
        (
            "entries",
            Self::of(&[
                Kind::Entry,
                Kind::Exit,
                Kind::Invocation,
                Kind::Exclusive,
                Kind::Waited,
            ]),
        ),
        (
            "budgets",
            Self::of(&[
                Kind::Configured,
                Kind::Flags,
                Kind::Charged,
                Kind::Head,
                Kind::Added,
                Kind::GivenUp,
                Kind::Idled,
                Kind::Consumed,
                Kind::Exhausted,
                Kind::Moved,
                Kind::Limited,
                Kind::Postponed,
                Kind::Timeout,
            ]),
        ),
        (
            "threads",
            Self::of(&[
                Kind::Blocked,
                Kind::Woken,
                Kind::Stopped,
                Kind::Deferred,
                Kind::Faulted,
                Kind::Yielded,
                Kind::Priority,
                Kind::Criticality,
                Kind::Level,
                Kind::Domain,
                Kind::ThreadMigrated,
                Kind::ContextMigrated,
            ]),
        ),
        ("marks", Self::of(&[Kind::Marked])),
    ];

    const fn of(kinds: &[Kind]) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < kinds.len() {
            bits |= 1 << kinds[index].number();
            index += 1;
        }
        Self(bits)
    }

    /// Those of groups, of which the names are separated by commas, and what every full ring has. `None` if there is
    /// no group of a name.
    #[must_use]
    pub const fn of_groups(names: &str) -> Option<Self> {
        let names = names.as_bytes();
        let mut kinds = Self::LITE.0 | Self::OBJECTS.0;
        let mut begin = 0;
        while begin <= names.len() {
            let mut end = begin;
            while end < names.len() && names[end] != b',' {
                end += 1;
            }
            let (mut group, mut is_found) = (0, false);
            while group < Self::GROUPS.len() {
                let (name, members) = Self::GROUPS[group];
                if is_between(name.as_bytes(), names, begin, end) {
                    kinds |= members.0;
                    is_found = true;
                }
                group += 1;
            }
            if !is_found {
                return None;
            }
            begin = end + 1;
        }
        Some(Self(kinds))
    }

    /// Whether a kind is one of them.
    #[inline(always)]
    #[must_use]
    pub const fn contains(self, kind: Kind) -> bool {
        self.0 >> kind.number() & 1 != 0
    }

    /// Those of them that are not of a kind.
    #[must_use]
    pub const fn without(self, kind: Kind) -> Self {
        Self(self.0 & !(1 << kind.number()))
    }

    /// Those of them that need no details.
    pub(crate) const fn in_lite_rings(self) -> Self {
        match self.0 & Self::LITE.0 {
            0 => Self::NOTHING,
            bits => Self(bits),
        }
    }

    /// As a number: bit n stands for the kind with the number n. 0 means all: earlier versions have it.
    pub(crate) const fn bits(self) -> u64 {
        if self.0 == Self::ALL.0 { 0 } else { self.0 }
    }

    pub(crate) const fn from_bits(bits: u64) -> Self {
        if bits == 0 { Self::ALL } else { Self(bits) }
    }
}

/// Whether `text` has `word` from `begin` to `end`.
const fn is_between(word: &[u8], text: &[u8], begin: usize, end: usize) -> bool {
    if word.len() != end - begin {
        return false;
    }
    let mut index = 0;
    while index < word.len() {
        if word[index] != text[begin + index] {
            return false;
        }
        index += 1;
    }
    true
}

codes! {
    /// The reason for a kernel entry.
    Reason {
        /// A system call; the number is its own, sign-extended.
        Syscall = 1,
        /// A fault; the number is the label of its message.
        Fault = 2,
        /// The timer.
        Timer = 3,
        /// An interrupt line, by its number.
        Line = 4,
        /// An IPI.
        Core = 5,
        /// A spurious interrupt.
        Spurious = 6,
        /// Another core has modified the state of this one.
        RemoteAccess = 7,
        /// The first entry of a core.
        Start = 8,
    }
}

codes! {
    /// What a program says.
    Mark {
        /// A job was released; the value is its number.
        Released = 1,
        /// A job begins.
        Begun = 2,
        /// A job is done.
        Done = 3,
        /// A job has missed its deadline.
        Missed = 4,
        /// The value is a number.
        Number = 5,
        /// The value is a text of up to eight bytes.
        Text = 6,
        /// The job that begins next was released so many microseconds ago.
        Late = 7,
    }
}

codes! {
    /// What ends the use of a context.
    End {
        /// Its head replenishment is used up.
        Budget = 1,
        /// The limit of the call is reached.
        Limit = 2,
        /// The timer of `YieldToTimeout` has expired.
        Timer = 3,
    }
}

codes! {
    /// Why a context moves.
    Move {
        /// Donation with a call, or with a fault message.
        Call = 1,
        /// It returns with the reply, or because the call ends.
        Return = 2,
        /// Donation with a message that expects no reply.
        Send = 3,
        /// A notification lends it.
        Signal = 4,
        /// It is bound to a thread.
        Bind = 5,
        /// It is taken from a thread.
        Take = 6,
    }
}

codes! {
    /// What a thread is blocked on.
    Blocking {
        /// It sends to an endpoint.
        Send = 1,
        /// It receives from an endpoint.
        Receive = 2,
        /// It waits for a reply; the object is the reply object.
        Reply = 3,
        /// It waits for a notification.
        Notification = 4,
        /// It waits for the return of its context; the object is the reply object.
        Return = 5,
    }
}

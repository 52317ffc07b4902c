//! How a core is traced.

use crate::Kinds;

/// How much is written of each event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// 16 bytes an event, and only the kinds that need no more: which thread runs on which context.
    Lite = 0,
    /// 32 bytes an event, and all kinds.
    Full = 1,
}

impl Detail {
    /// The size of an event.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Lite => 16,
            Self::Full => 32,
        }
    }

    /// The same in words of memory.
    pub(crate) const fn words(self) -> usize {
        self.bytes() / size_of::<u64>()
    }

    /// The kinds of events that a ring has if these are wanted.
    pub(crate) const fn kinds(self, wanted: Kinds) -> Kinds {
        match self {
            Self::Lite => wanted.in_lite_rings(),
            Self::Full => wanted,
        }
    }
}

/// What happens when the ring is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Later events are lost, and counted.
    Stop = 0,
    /// A flight recorder: the oldest events are overwritten.
    Overwrite = 1,
    /// A stream, which a reader empties in the meantime: events for which it has made no room yet are lost, and counted.
    Stream = 2,
}

/// How the clocks of the cores relate: by which times of different cores can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// The ring does not say it.
    Unknown = 0,
    /// All cores read one counter.
    Shared = 1,
    /// Each core reads its own counter. All of them start at one time, and have one rate.
    Synchronous = 2,
}

/// How a core is traced.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of the core.
    pub core: u8,
    /// How much is written of each event.
    pub detail: Detail,
    /// Which kinds of events are written; of a lite ring no more than [`Kinds::LITE`].
    pub kinds: Kinds,
    /// What happens when the ring is full.
    pub mode: Mode,
    /// Ticks of the clock in a second.
    pub frequency: u64,
    /// How the clock relates to those of other cores.
    pub clocks: Clocks,
}

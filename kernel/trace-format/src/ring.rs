//! The ring of a core: a header, and events of one size. The header says how many events were written and how many
//! were lost, so that a copy of the memory is all that a reader needs.

use core::fmt;

use crate::{Event, Kind, Kinds, ObjectId};

/// The first bytes of a ring.
pub const MAGIC: [u8; 8] = *b"ESCTRACE";
/// The version of the format. A reader reads its own and all earlier ones.
pub const VERSION: u16 = 2;
/// Bytes of the header.
pub const HEADER_BYTES: usize = 64;

// Offsets in the header.
const AT_VERSION: usize = 8;
const AT_CORE: usize = 10;
const AT_DETAIL: usize = 11;
const AT_MODE: usize = 12;
const AT_CAPACITY: usize = 16;
const AT_FREQUENCY: usize = 24;
const AT_WRITTEN: usize = 32;
const AT_LOST: usize = 40;
const AT_KINDS: usize = 48;

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

    /// The kinds of events that a ring has if these are wanted.
    const fn kinds(self, wanted: Kinds) -> Kinds {
        match self {
            Self::Lite => Kinds::LITE,
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
}

/// A ring that is written.
#[derive(Debug)]
pub struct Ring<'m> {
    memory: &'m mut [u8],
    settings: Settings,
    capacity: u64,
    written: u64,
    lost: u64,
    /// Offset of the next event.
    next: usize,
}

impl<'m> Ring<'m> {
    /// Makes an empty ring. `None` if `memory` has no room for an event.
    #[must_use]
    pub fn new(memory: &'m mut [u8], settings: Settings) -> Option<Self> {
        let kinds = settings.detail.kinds(settings.kinds);
        let settings = Settings { kinds, ..settings };
        let capacity = memory.len().checked_sub(HEADER_BYTES)? / settings.detail.bytes();
        if capacity == 0 {
            return None;
        }
        let mut ring = Self {
            memory,
            settings,
            capacity: capacity as u64,
            written: 0,
            lost: 0,
            next: HEADER_BYTES,
        };
        ring.memory[..HEADER_BYTES].fill(0);
        ring.memory[..AT_VERSION].copy_from_slice(&MAGIC);
        ring.memory[AT_VERSION..AT_CORE].copy_from_slice(&VERSION.to_le_bytes());
        ring.memory[AT_CORE] = settings.core;
        ring.memory[AT_DETAIL] = settings.detail as u8;
        ring.memory[AT_MODE] = settings.mode as u8;
        ring.set(AT_CAPACITY, capacity as u64);
        ring.set(AT_FREQUENCY, settings.frequency);
        ring.set(AT_KINDS, settings.kinds.bits());
        Some(ring)
    }

    #[inline(always)]
    fn set(&mut self, at: usize, value: u64) {
        if let Some(place) = self.memory.get_mut(at..at + 8) {
            place.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// Writes an event, if this ring has its kind.
    #[inline]
    pub fn write(&mut self, time: u64, kind: Kind, subject: ObjectId, (a, b): (u64, u64)) {
        let Settings {
            detail,
            mode,
            kinds,
            ..
        } = self.settings;
        if !kinds.contains(kind) {
            return;
        }
        if self.written >= self.capacity && matches!(mode, Mode::Stop) {
            self.lost += 1;
            return self.set(AT_LOST, self.lost);
        }
        let event = Event {
            time,
            kind: kind.number(),
            core: self.settings.core,
            // Lost events are after all others, so that these are numbered by the count.
            sequence: self.written as u16,
            subject,
            a,
            b,
        };
        let size = detail.bytes();
        if let Some(place) = self.memory.get_mut(self.next..self.next + size) {
            place.copy_from_slice(&event.encode()[..size]);
        }
        self.written += 1;
        self.next += size;
        if self.next + size > self.memory.len() {
            self.next = HEADER_BYTES;
        }
        self.set(AT_WRITTEN, self.written);
    }

    /// The memory, for a reader.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.memory
    }
}

/// Why a piece of memory is no ring that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// It does not begin as a ring does.
    NoRing,
    /// It ends within the header.
    NoHeader,
    /// A later version of the format has written it.
    TooNew(u16),
    /// A field of the header has a value that does not exist.
    Header(&'static str),
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRing => write!(formatter, "there is no ring of trace events"),
            Self::NoHeader => write!(formatter, "the ring ends within its header"),
            Self::TooNew(version) => write!(
                formatter,
                "the ring has version {version} of the format, and this reader knows {VERSION}"
            ),
            Self::Header(field) => write!(formatter, "the ring's header has no valid {field}"),
        }
    }
}

/// A copy of a ring, which is read.
#[derive(Clone, Copy, Debug)]
pub struct RingReader<'b> {
    events: &'b [u8],
    /// The settings with which it was written.
    pub settings: Settings,
    /// The number of events for which there is room.
    pub capacity: u64,
    /// The number of events that were written, overwritten ones included.
    pub written: u64,
    /// The number of events for which there was no room.
    pub lost: u64,
}

impl<'b> RingReader<'b> {
    /// The ring in `bytes`.
    ///
    /// # Errors
    /// If there is none that this version can read.
    pub fn new(bytes: &'b [u8]) -> Result<Self, Damage> {
        if !bytes.starts_with(&MAGIC) {
            return Err(Damage::NoRing);
        }
        let (header, events) = bytes
            .split_at_checked(HEADER_BYTES)
            .ok_or(Damage::NoHeader)?;
        let word = |at: usize| {
            let word = header[at..]
                .first_chunk()
                .map(|word| u64::from_le_bytes(*word));
            word.unwrap_or_default()
        };
        let version = word(AT_VERSION) as u16;
        if version > VERSION {
            return Err(Damage::TooNew(version));
        }
        let detail = match header[AT_DETAIL] {
            0 => Detail::Lite,
            1 => Detail::Full,
            _ => return Err(Damage::Header("size of events")),
        };
        let mode = match header[AT_MODE] {
            0 => Mode::Stop,
            1 => Mode::Overwrite,
            _ => return Err(Damage::Header("mode")),
        };
        let (capacity, frequency) = (word(AT_CAPACITY), word(AT_FREQUENCY));
        if capacity == 0 {
            return Err(Damage::Header("capacity"));
        }
        if frequency == 0 {
            return Err(Damage::Header("frequency"));
        }
        Ok(Self {
            events,
            settings: Settings {
                core: header[AT_CORE],
                detail,
                kinds: detail.kinds(Kinds::from_bits(word(AT_KINDS))),
                mode,
                frequency,
            },
            capacity,
            written: word(AT_WRITTEN),
            lost: word(AT_LOST),
        })
    }

    /// The number of events that later ones have overwritten.
    #[must_use]
    pub const fn overwritten(&self) -> u64 {
        self.written.saturating_sub(self.capacity)
    }

    /// The number of events that the ring holds but this copy of it does not, because it was cut off.
    #[must_use]
    pub fn missing(&self) -> u64 {
        let here = (self.events.len() / self.settings.detail.bytes()) as u64;
        self.written.min(self.capacity).saturating_sub(here)
    }

    /// The events that are left, the oldest one first, each with its number.
    pub fn events(self) -> impl Iterator<Item = (u64, Event)> + 'b {
        let detail = self.settings.detail;
        // No more than there is memory for: the header may be damaged.
        let here = (self.events.len() / detail.bytes()) as u64;
        let first = self.overwritten();
        let split = if first > 0 { first % self.capacity } else { 0 };
        // The places in the order of the events: from the oldest one to the end, then from the beginning.
        let end = self.written.min(self.capacity).min(here);
        let places = (split.min(end)..end).chain(0..split.min(end));
        let capacity = self.capacity;
        places.filter_map(move |place| {
            let bytes = self.events.get(place as usize * detail.bytes()..)?;
            let turn = if place >= split {
                place - split
            } else {
                capacity - split + place
            };
            Some((first.saturating_add(turn), Event::decode(bytes, detail)?))
        })
    }
}

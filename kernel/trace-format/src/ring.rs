//! The ring of a core: a header, and events of one size. The header says how many events were written and how many
//! were lost, so that a copy of the memory is all that a reader needs.

use core::fmt;

use crate::{Event, Kind, Kinds, ObjectId};

/// The first bytes of a ring.
pub const MAGIC: [u8; 8] = *b"ESCTRACE";
/// The version of the format. A reader reads its own and all earlier ones.
pub const VERSION: u16 = 3;
/// Bytes of the header.
pub const HEADER_BYTES: usize = 64;

/// Memory is written in words: some processors write bytes one by one if they may not be aligned.
const WORD: usize = 8;
const HEADER_WORDS: usize = HEADER_BYTES / WORD;

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
const AT_COST: usize = 56;
/// The first version that says what an event costs.
const WITH_COST: u16 = 3;

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

    /// The place of the first event.
    const fn first(self) -> usize {
        HEADER_BYTES / self.bytes()
    }

    /// The kinds of events that a ring has if these are wanted.
    const fn kinds(self, wanted: Kinds) -> Kinds {
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

/// What it costs to write an event, from the least to the most of several kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    least: u32,
    most: u32,
}

impl Cost {
    /// A tick has so many parts.
    const PARTS: u32 = 256;

    /// The cost if it took so many ticks to write `count` events of each of several kinds.
    #[must_use]
    pub fn of(ticks: &[u64], count: u32) -> Self {
        let each = ticks.iter().map(|&ticks| {
            let parts = ticks.saturating_mul(Self::PARTS.into()) / u64::from(count.max(1));
            parts.min(u32::MAX.into()) as u32
        });
        Self {
            least: each.clone().min().unwrap_or(0),
            most: each.max().unwrap_or(0),
        }
    }

    /// The least, in ticks.
    #[must_use]
    pub fn least(self) -> f64 {
        f64::from(self.least) / f64::from(Self::PARTS)
    }

    /// The most, in ticks.
    #[must_use]
    pub fn most(self) -> f64 {
        f64::from(self.most) / f64::from(Self::PARTS)
    }
}

/// A ring that is written.
#[derive(Debug)]
pub struct Ring<'m> {
    memory: &'m mut [u64],
    settings: Settings,
    /// The number of the core, in its place in an event's second word.
    core: u64,
    written: u64,
    lost: u64,
    /// The place of the next event, counted from the start of the memory.
    next: usize,
}

impl<'m> Ring<'m> {
    /// Makes an empty ring. `None` if `memory` has no room for an event.
    #[must_use]
    pub fn new(memory: &'m mut [u64], settings: Settings) -> Option<Self> {
        let kinds = settings.detail.kinds(settings.kinds);
        let settings = Settings { kinds, ..settings };
        let words = settings.detail.bytes() / WORD;
        let capacity = memory.len().checked_sub(HEADER_WORDS)? / words;
        if capacity == 0 {
            return None;
        }
        let mut second = [0; WORD];
        second[..2].copy_from_slice(&VERSION.to_le_bytes());
        second[AT_CORE - AT_VERSION] = settings.core;
        second[AT_DETAIL - AT_VERSION] = settings.detail as u8;
        second[AT_MODE - AT_VERSION] = settings.mode as u8;
        memory[..HEADER_WORDS].copy_from_slice(&[
            u64::from_ne_bytes(MAGIC),
            u64::from_ne_bytes(second),
            (capacity as u64).to_le(),
            settings.frequency.to_le(),
            0,
            0,
            settings.kinds.bits().to_le(),
            0,
        ]);
        let ring = Self {
            memory,
            settings,
            core: u64::from(settings.core) << 56,
            written: 0,
            lost: 0,
            next: settings.detail.first(),
        };
        Some(ring)
    }

    /// Forgets all events, and stores what an event costs. Until then, it costs nothing.
    pub fn restart(&mut self, Cost { least, most }: Cost) {
        (self.written, self.lost, self.next) = (0, 0, self.settings.detail.first());
        self.set_counts();
        let cost = u64::from(most) << 32 | u64::from(least);
        if let Some(place) = self.memory.get_mut(AT_COST / WORD) {
            *place = cost.to_le();
        }
    }

    /// The kinds of events that this ring has.
    #[must_use]
    pub const fn kinds(&self) -> Kinds {
        self.settings.kinds
    }

    /// Writes an event, if this ring has its kind.
    #[inline]
    pub fn write(&mut self, time: u64, kind: Kind, subject: ObjectId, details: (u64, u64)) {
        if self.kinds().contains(kind) {
            self.put(time, kind, subject, details);
        }
    }

    /// Writes an event of a kind that this ring has.
    #[inline(always)]
    pub fn put(&mut self, time: u64, kind: Kind, subject: ObjectId, (a, b): (u64, u64)) {
        self.append(
            time,
            u64::from(kind.number()) << 48 | u64::from(subject.0),
            a,
            b,
        );
    }

    /// Writes an event. Its second word has no core and no sequence number yet.
    #[inline(never)]
    fn append(&mut self, time: u64, second: u64, a: u64, b: u64) {
        // Lost events are after all others, so that these are numbered by the count.
        let numbered = self.core | u64::from(self.written as u16) << 32 | second;
        match self.settings.detail {
            Detail::Lite => {
                let (places, _) = self.memory.as_chunks_mut();
                let Some(place) = places.get_mut(self.next) else {
                    return self.append_to_full(time, second, a, b);
                };
                *place = [time, numbered].map(u64::to_le);
            }
            Detail::Full => {
                let (places, _) = self.memory.as_chunks_mut();
                let Some(place) = places.get_mut(self.next) else {
                    return self.append_to_full(time, second, a, b);
                };
                *place = [time, numbered, a, b].map(u64::to_le);
            }
        }
        self.next += 1;
        self.written += 1;
        self.set_counts();
    }

    /// The same at the end of the memory: a flight recorder begins again.
    #[cold]
    fn append_to_full(&mut self, time: u64, second: u64, a: u64, b: u64) {
        match self.settings.mode {
            // There is room for one event.
            Mode::Overwrite => {
                self.next = self.settings.detail.first();
                self.append(time, second, a, b);
            }
            Mode::Stop => {
                self.lost += 1;
                self.set_counts();
            }
        }
    }

    #[inline(always)]
    fn set_counts(&mut self) {
        if let Some([written, lost]) = self.memory.get_mut(AT_WRITTEN / WORD..=AT_LOST / WORD) {
            (*written, *lost) = (self.written.to_le(), self.lost.to_le());
        }
    }

    /// The bytes of the memory, for a reader.
    pub fn bytes(&self) -> impl Iterator<Item = u8> {
        self.memory.iter().flat_map(|word| word.to_ne_bytes())
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
    /// What it cost to write an event; `None` if an earlier version of the format does not say it.
    pub cost: Option<Cost>,
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
            cost: (version >= WITH_COST).then(|| Cost {
                least: word(AT_COST) as u32,
                most: (word(AT_COST) >> 32) as u32,
            }),
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

//! The ring of a core: a header, and events of one size. The header says how many events were written and how many
//! were lost, so that a copy of the memory is all that a reader needs.

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;
use core::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
    compiler_fence, fence,
};

use crate::{
    AtRunTime, Clocks, Cost, Costs, Detail, Event, Kind, Kinds, Known, Mode, ObjectId, Settings,
    TOGETHER,
};

/// The first bytes of a ring.
pub const MAGIC: [u8; 8] = *b"ESCTRACE";
/// The version of the format. A reader reads its own and all earlier ones.
pub const VERSION: u16 = 6;
/// Bytes of the header: a line that the kernel writes, one that the reader of a stream writes, and what kinds of events cost.
pub const HEADER_BYTES: usize = 2 * LINE_BYTES + Costs::KINDS * WORD;

/// Bytes of a line of the header: caches of several cores do not share it with other data.
const LINE_BYTES: usize = 64;
const WORD: usize = 8; // Some processors write bytes one by one if they may not be aligned.
const LINE_WORDS: usize = LINE_BYTES / WORD;

// Offsets in the header.
const AT_VERSION: usize = 8;
const AT_CORE: usize = 10;
const AT_DETAIL: usize = 11;
pub(crate) const AT_MODE: usize = 12;
/// 0 in rings of kernels that did not say it; no reader of this version or an earlier one needs it.
const AT_CLOCKS: usize = 13;
pub(crate) const AT_CAPACITY: usize = 16;
const AT_FREQUENCY: usize = 24;
pub(crate) const AT_WRITTEN: usize = 32;
pub(crate) const AT_LOST: usize = 40;
const AT_KINDS: usize = 48;
/// Until the table came: what an event of any kind costs.
const AT_COST: usize = 56;
const AT_COSTS: usize = 2 * LINE_BYTES;
/// The first versions that say what an event costs, and what one of each kind does.
const WITH_COST: u16 = 3;
const WITH_COSTS: u16 = 6;
/// In the second line: how many events the reader of a stream has read.
pub(crate) const AT_READ: usize = LINE_BYTES;
/// The first version with a second line.
const WITH_READER: u16 = 4;

/// What an event is about: its kind and its subject.
#[derive(Clone, Copy, Debug)]
pub struct What {
    subject: u32,
    /// In its place in the upper half of an event's second word.
    kind: u32,
}

/// What is written of an event, besides its time: what it is about, and its details.
pub type Written = (What, (u64, u64));

impl What {
    /// A kind and a subject.
    #[inline(always)]
    #[must_use]
    pub const fn new(kind: Kind, ObjectId(subject): ObjectId) -> Self {
        let kind = (kind.number() as u32) << 16;
        Self { subject, kind }
    }
}

/// A ring that is written.
#[derive(Debug)]
pub struct Ring<'m, K = AtRunTime> {
    /// The next places in `events`, as far as it is known that there is room: whole ones, or none.
    free: Range<*const Cell<u64>>,
    written: u64,
    lost: u64,
    /// The number of the core, as [`in_word`] puts it.
    core: u32,
    header: &'m mut [u64; LINE_WORDS],
    costs: &'m mut [u64; Costs::KINDS],
    /// All places, of which each has the words of an event.
    events: &'m [Cell<u64>],
    /// The lower half of the number of events that the reader of a stream has read. The reader writes it, and is not
    /// trusted: with any value, events are lost or overwritten before they are read, and nothing else happens.
    read: &'m AtomicU32,
    settings: Settings,
    /// The number of events for which there is memory.
    capacity: usize,
    /// The place at which the free ones end.
    limit: usize,
    known: PhantomData<K>,
}

/// The number of a core in its place in the upper half of an event's second word.
#[inline(always)]
const fn in_word(core: u8) -> u32 {
    (core as u32) << 24
}

// SAFETY: the cells are of memory that it has borrowed for itself, and it hands out none of them.
unsafe impl<K> Send for Ring<'_, K> {}

impl<'m> Ring<'m> {
    /// Makes an empty ring. `None` if `memory` has no room for an event.
    #[must_use]
    pub fn new(memory: &'m mut [u64], settings: Settings) -> Option<Self> {
        Self::known(memory, settings)
    }
}

impl<'m, K: Known> Ring<'m, K> {
    /// Makes an empty ring; what is known counts before `settings`. `None` if `memory` has no room for an event.
    #[must_use]
    pub fn known(memory: &'m mut [u64], mut settings: Settings) -> Option<Self> {
        settings.detail = K::DETAIL.unwrap_or(settings.detail);
        settings.mode = K::MODE.unwrap_or(settings.mode);
        settings.core = K::CORE.unwrap_or(settings.core);
        settings.kinds = settings.detail.kinds(settings.kinds);
        let (header, rest) = memory.split_first_chunk_mut()?;
        let (second_line, rest) = rest.split_first_chunk_mut::<LINE_WORDS>()?;
        let (costs, events) = rest.split_first_chunk_mut()?;
        let capacity = (events.len() / settings.detail.words()).min(u32::MAX as usize);
        if capacity == 0 {
            return None;
        }
        let mut second = [0; WORD];
        second[..2].copy_from_slice(&VERSION.to_le_bytes());
        second[AT_CORE - AT_VERSION] = settings.core;
        second[AT_DETAIL - AT_VERSION] = settings.detail as u8;
        second[AT_MODE - AT_VERSION] = settings.mode as u8;
        second[AT_CLOCKS - AT_VERSION] = settings.clocks as u8;
        *header = [
            u64::from_ne_bytes(MAGIC),
            u64::from_ne_bytes(second),
            (capacity as u64).to_le(),
            settings.frequency.to_le(),
            0,
            0,
            settings.kinds.bits().to_le(),
            0,
        ];
        *second_line = [0; LINE_WORDS];
        *costs = [0; Costs::KINDS];
        // SAFETY: the line is aligned, and borrowed for as long as the result; nothing else in this program accesses it.
        let read = unsafe { AtomicU32::from_ptr(second_line.as_mut_ptr().cast()) };
        let events = events.get_mut(..capacity * settings.detail.words())?;
        let events = Cell::from_mut(events).as_slice_of_cells();
        let mut ring = Self {
            free: events.as_ptr_range(),
            written: 0,
            lost: 0,
            core: in_word(settings.core),
            header,
            costs,
            events,
            read,
            settings,
            capacity,
            limit: 0,
            known: PhantomData,
        };
        ring.restart();
        Some(ring)
    }

    /// Forgets all events.
    pub fn restart(&mut self) {
        (self.written, self.lost) = (0, 0);
        (self.free, self.limit) = (self.events.as_ptr_range(), self.capacity);
        self.read.store(0, Relaxed);
        self.set_written();
        self.set_lost();
    }

    /// Stores what an event costs, of the kind with a number. Until then, it costs nothing.
    pub fn set_cost(&mut self, kind: u8, cost: Cost) {
        if let Some(place) = self.costs.get_mut(usize::from(kind)) {
            *place = cost.to_bits().to_le();
        }
    }

    /// The number of events that were written, overwritten ones included.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// The kinds of events that this ring has.
    #[must_use]
    pub const fn kinds(&self) -> Kinds {
        self.settings.kinds
    }

    /// Writes an event, if this ring has its kind.
    pub fn write(&mut self, time: u64, kind: Kind, subject: ObjectId, details: (u64, u64)) {
        if self.kinds().contains(kind) {
            self.put([(What::new(kind, subject), details)], time);
        }
    }

    /// Writes events of kinds that this ring has, which have one time.
    #[inline(always)]
    pub fn put<const N: usize>(&mut self, events: [Written; N], time: u64) {
        self.put_some(events.map(Some), time);
    }

    /// Writes those that there are of some events of kinds that this ring has, which have one time.
    #[expect(clippy::manual_flatten, reason = "this is unrolled; `flatten` is not")]
    #[inline(always)]
    pub fn put_some<const N: usize>(&mut self, events: [Option<Written>; N], time: u64) {
        const { assert!(N <= TOGETHER) };
        let mut place = self.free.start;
        let is_room = match N {
            1 => !self.free.is_empty(),
            _ => self.free.end.addr() - place.addr() >= N * self.detail().bytes(),
        };
        if !is_room {
            return self.put_at_limit(events, time);
        }
        let mut written = self.written;
        for event in events {
            if let Some(event) = event {
                // SAFETY: free places are whole ones, and there are as many as events.
                unsafe { self.store(place, event, self.number(written), time) };
                place = place.wrapping_add(self.detail().words());
                written = written.wrapping_add(1);
            }
        }
        self.free.start = place;
        self.count(written);
    }

    /// The number of an event, lost ones included, after so many were written.
    #[inline(always)]
    fn number(&self, written: u64) -> u16 {
        let number = match self.mode() {
            Mode::Stream => written.wrapping_add(self.lost),
            // After an event that is lost, none is written; and of a flight recorder, none is lost.
            Mode::Stop | Mode::Overwrite => written,
        };
        number as u16
    }

    /// Stores an event.
    ///
    /// # Safety
    /// `place` is that of a whole event of this ring.
    #[inline(always)]
    unsafe fn store(&self, place: *const Cell<u64>, event: Written, number: u16, time: u64) {
        let (What { subject, kind }, (a, b)) = event;
        // SAFETY: as promised. The halves of a word are aligned, and any value of them is one of the word.
        unsafe {
            // The number first: by it, a reader sees that the event is another one now.
            let halves = place.add(1).cast::<Cell<u32>>();
            (*halves.add(1)).set((self.core() | kind | u32::from(number)).to_le());
            (*halves).set(subject.to_le());
            (*place).set(time.to_le());
            if self.detail() == Detail::Full {
                (*place.add(2)).set(a.to_le());
                (*place.add(3)).set(b.to_le());
            }
        }
    }

    /// So many events have been stored.
    #[inline(always)]
    fn count(&mut self, written: u64) {
        self.written = written;
        // A reader that sees the count sees the events.
        match self.mode() {
            Mode::Stream => fence(Release),
            // It reads the memory of an emulator, whose stores are in order.
            Mode::Stop | Mode::Overwrite => compiler_fence(Release),
        }
        self.set_written();
    }

    /// Writes events if it is not known whether there is room for all of them.
    #[expect(clippy::manual_flatten, reason = "as above")]
    #[cold]
    #[inline(always)]
    fn put_at_limit<const N: usize>(&mut self, events: [Option<Written>; N], time: u64) {
        for event in events {
            if let Some(event) = event {
                self.put_one_at_limit(event, time);
            }
        }
    }

    /// Writes an event if it is not known whether there is room.
    #[cold]
    #[inline(never)]
    fn put_one_at_limit(&mut self, event: Written, time: u64) {
        if self.free.is_empty() {
            self.find_room();
        }
        if self.free.is_empty() {
            self.lost = self.lost.wrapping_add(1);
            self.set_lost();
        } else {
            self.put([event], time);
        }
    }

    /// Looks for free places, after all that were known are used up.
    fn find_room(&mut self) {
        let place = if self.limit < self.capacity {
            self.limit
        } else {
            0
        };
        let room = match self.mode() {
            Mode::Stop => 0,
            Mode::Overwrite => self.capacity,
            Mode::Stream => self.room(),
        };
        let limit = self.capacity.min(place.saturating_add(room));
        let words = self.detail().words();
        if let Some(free) = self.events.get(place * words..limit * words)
            && !free.is_empty()
        {
            (self.free, self.limit) = (free.as_ptr_range(), limit);
        }
    }

    /// The number of events for which the reader has made room; 0 if it claims to have read what it cannot have read.
    fn room(&self) -> usize {
        // What it has read is not written before it says so.
        let read = u32::from_le(self.read.load(Acquire));
        let unread = (self.written as u32).wrapping_sub(read);
        self.capacity.saturating_sub(unread as usize)
    }

    #[inline(always)]
    fn detail(&self) -> Detail {
        K::DETAIL.unwrap_or(self.settings.detail)
    }

    #[inline(always)]
    fn mode(&self) -> Mode {
        K::MODE.unwrap_or(self.settings.mode)
    }

    /// The number of the core, in its place.
    #[inline(always)]
    fn core(&self) -> u32 {
        K::CORE.map_or(self.core, in_word)
    }

    #[inline(always)]
    const fn set_written(&mut self) {
        self.header[AT_WRITTEN / WORD] = self.written.to_le();
    }

    const fn set_lost(&mut self) {
        self.header[AT_LOST / WORD] = self.lost.to_le();
    }

    /// The bytes of the memory, for a reader.
    pub fn bytes(&self) -> impl Iterator<Item = u8> {
        let mut second_line = [0; LINE_WORDS];
        second_line[0] = self.read.load(Relaxed).into();
        let words = self.header.iter().copied().chain(second_line);
        let words = words.chain(self.costs.iter().copied());
        let words = words.chain(self.events.iter().map(Cell::get));
        words.flat_map(u64::to_ne_bytes)
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
    /// Bytes of its header.
    pub header_bytes: usize,
    /// The settings with which it was written.
    pub settings: Settings,
    /// What it cost to write an event; `None` if an earlier version of the format does not say it.
    pub costs: Option<Costs>,
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
        let header = bytes.get(..LINE_BYTES).ok_or(Damage::NoHeader)?;
        let word = |at: usize| {
            let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
            word.map_or(0, |word| u64::from_le_bytes(*word))
        };
        let version = word(AT_VERSION) as u16;
        if version > VERSION {
            return Err(Damage::TooNew(version));
        }
        let header_bytes = match version {
            WITH_COSTS.. => HEADER_BYTES,
            WITH_READER.. => 2 * LINE_BYTES,
            _ => LINE_BYTES,
        };
        let events = bytes.get(header_bytes..).ok_or(Damage::NoHeader)?;
        let detail = match header[AT_DETAIL] {
            0 => Detail::Lite,
            1 => Detail::Full,
            _ => return Err(Damage::Header("size of events")),
        };
        let mode = match header[AT_MODE] {
            0 => Mode::Stop,
            1 => Mode::Overwrite,
            2 => Mode::Stream,
            _ => return Err(Damage::Header("mode")),
        };
        let (capacity, frequency) = (word(AT_CAPACITY), word(AT_FREQUENCY));
        if capacity == 0 {
            return Err(Damage::Header("capacity"));
        }
        if frequency == 0 {
            return Err(Damage::Header("frequency"));
        }
        let costs = match version {
            WITH_COSTS.. => Some(Costs::from_words(|kind| word(AT_COSTS + kind * WORD))),
            WITH_COST.. => {
                let cost = Cost::from_bounds(word(AT_COST));
                Some(Costs::all(cost.ok_or(Damage::Header("cost of an event"))?))
            }
            _ => None,
        };
        Ok(Self {
            events,
            header_bytes,
            settings: Settings {
                core: header[AT_CORE],
                detail,
                kinds: detail.kinds(Kinds::from_bits(word(AT_KINDS))),
                mode,
                frequency,
                clocks: match header[AT_CLOCKS] {
                    1 => Clocks::Shared,
                    2 => Clocks::Synchronous,
                    _ => Clocks::Unknown,
                },
            },
            costs,
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

    /// The events that are left, the oldest one first, each with its number. Not those over which a flight recorder has
    /// written others already when the copy was made, but had not counted them yet.
    pub fn events(self) -> impl Iterator<Item = (u64, Event)> + 'b {
        let overwrites = self.settings.mode == Mode::Overwrite;
        let is_overwritten = move |index: usize, number: u64, event: &Event| {
            overwrites && index < TOGETHER && event.sequence != number as u16
        };
        self.all_events()
            .enumerate()
            .skip_while(move |(index, (number, event))| is_overwritten(*index, *number, event))
            .map(|(_, event)| event)
    }

    fn all_events(self) -> impl Iterator<Item = (u64, Event)> + 'b {
        let detail = self.settings.detail;
        // No more than there is memory for: the header may be damaged.
        let here = (self.events.len() / detail.bytes()) as u64;
        let first = self.overwritten();
        let split = if first > 0 { first % self.capacity } else { 0 };
        // The places in the order of the events: from the oldest one to the end, then from the beginning.
        let end = self.written.min(self.capacity).min(here);
        let places = (split.min(end)..end).chain(0..split.min(end));
        let (capacity, is_stream) = (self.capacity, self.settings.mode == Mode::Stream);
        // Events that a stream has lost have numbers, too.
        let mut skipped = 0u64;
        places.filter_map(move |place| {
            let bytes = self.events.get(place as usize * detail.bytes()..)?;
            let turn = if place >= split {
                place - split
            } else {
                capacity - split + place
            };
            let event = Event::decode(bytes, detail)?;
            let number = first.saturating_add(turn).saturating_add(skipped);
            let gap = match is_stream {
                true => event.sequence.wrapping_sub(number as u16).into(),
                false => 0,
            };
            skipped = skipped.saturating_add(gap);
            Some((number.saturating_add(gap), event))
        })
    }
}

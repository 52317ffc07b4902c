//! Reading a ring while the kernel writes it.

use core::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

use crate::ring::{AT_CAPACITY, AT_LOST, AT_MODE, AT_READ, AT_WRITTEN};
use crate::{Damage, Detail, Event, HEADER_BYTES, Mode, RingReader, Settings};

/// Memory is read in words that every processor reads at once.
const WORD: usize = size_of::<u32>();

/// Makes the header of a ring that of a stream which has room for exactly the `written` events that follow it.
pub fn make_stream(header: &mut [u8; HEADER_BYTES], written: u64, lost: u64) {
    header[AT_MODE] = Mode::Stream as u8;
    for (at, value) in [
        (AT_CAPACITY, written.max(1)),
        (AT_WRITTEN, written),
        (AT_LOST, lost),
    ] {
        header[at..at + size_of::<u64>()].copy_from_slice(&value.to_le_bytes());
    }
}

/// The one reader of a ring in the mode [`Mode::Stream`], of which it shares the memory with the kernel. As an iterator,
/// it takes one event after the other out of the ring, and ends when there is none; it can be asked again later.
///
/// The kernel does not wait for it: what does not fit is lost. Numbers of events ([`Event::sequence`]) then have a gap.
#[derive(Debug)]
pub struct StreamReader<'m> {
    memory: &'m [AtomicU32],
    settings: Settings,
    capacity: u64,
    read: u64,
    lost: u64,
}

impl<'m> StreamReader<'m> {
    /// The reader of the ring in this memory. It goes on where the last one has ended; if that has left a position that
    /// cannot be, with the next event that is written.
    ///
    /// # Errors
    /// If there is no ring that this version can read as a stream.
    pub fn new(memory: &'m [AtomicU32]) -> Result<Self, Damage> {
        let header = memory.get(..HEADER_BYTES / WORD).ok_or(Damage::NoHeader)?;
        let mut bytes = [0; HEADER_BYTES];
        for (place, word) in bytes.chunks_exact_mut(WORD).zip(header) {
            place.copy_from_slice(&word.load(Acquire).to_ne_bytes());
        }
        let ring = RingReader::new(&bytes)?;
        if ring.settings.mode != Mode::Stream || ring.header_bytes != HEADER_BYTES {
            return Err(Damage::Header("mode of a stream"));
        }
        let size = ring
            .capacity
            .checked_mul(ring.settings.detail.bytes() as u64);
        let size = size.and_then(|size| size.checked_add(HEADER_BYTES as u64));
        if size.is_none_or(|size| size > size_of_val(memory) as u64) {
            return Err(Damage::Header("capacity"));
        }
        let mut position = [0; 2 * WORD];
        position.copy_from_slice(&bytes[AT_READ..AT_READ + 2 * WORD]);
        let read = u64::from_le_bytes(position);
        let reader = Self {
            memory,
            settings: ring.settings,
            capacity: ring.capacity,
            read: match ring.written.checked_sub(read) {
                Some(unread) if unread <= ring.capacity => read,
                _ => ring.written,
            },
            lost: ring.lost,
        };
        reader.make_room();
        Ok(reader)
    }

    /// The settings with which the ring is written.
    #[must_use]
    pub const fn settings(&self) -> Settings {
        self.settings
    }

    /// The number of events that were lost since the start, because this reader had made no room for them.
    pub fn lost(&mut self) -> u64 {
        let lost = self.word(AT_LOST / WORD, Relaxed);
        self.lost += u64::from(lost.wrapping_sub(self.lost as u32));
        self.lost
    }

    fn word(&self, index: usize, order: core::sync::atomic::Ordering) -> u32 {
        let word = self.memory.get(index).map(|word| word.load(order));
        u32::from_le(word.unwrap_or_default())
    }

    /// Tells the kernel what was read. It looks at the lower half only; the other one is for a later reader.
    fn make_room(&self) {
        let parts = [self.read as u32, (self.read >> 32) as u32];
        // Reading comes before the kernel writes there.
        for (index, part) in parts.into_iter().enumerate().rev() {
            if let Some(word) = self.memory.get(AT_READ / WORD + index) {
                word.store(part.to_le(), Release);
            }
        }
    }
}

impl Iterator for StreamReader<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        if self.word(AT_WRITTEN / WORD, Acquire) == self.read as u32 {
            return None;
        }
        let size = self.settings.detail.bytes();
        let place = (self.read % self.capacity) as usize * size;
        let mut bytes = [0; Detail::Full.bytes()];
        for (index, part) in bytes.chunks_exact_mut(WORD).take(size / WORD).enumerate() {
            let word = self.word((HEADER_BYTES + place) / WORD + index, Relaxed);
            part.copy_from_slice(&word.to_le_bytes());
        }
        self.read += 1;
        self.make_room();
        Event::decode(&bytes, self.settings.detail)
    }
}

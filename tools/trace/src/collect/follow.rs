//! Taking events out of rings before they are overwritten, while the machine runs: a trace may be longer than a ring.
//!
//! The reader changes nothing, and the kernel does not know of it. A debugger can read a board's memory in the same way.

use std::fs::File as HostFile;
use std::os::unix::fs::FileExt;
use std::path::Path;

use trace_format::{Cost, Costs, HEADER_BYTES, MAGIC, Mode, RingReader, TOGETHER, make_stream};

use super::collect;
use crate::File;

/// Rings that are followed begin at multiples of this: the kernel aligns them to their size.
const ALIGNMENT: usize = 1 << 19;
/// The most bytes of events of a core: the length of a section has 32 bits.
const MOST_BYTES: usize = 1 << 31;

/// The rings in the RAM of a machine that runs.
#[derive(Debug)]
pub struct Follower {
    ram: HostFile,
    rings: Vec<Followed>,
}

/// What was taken out of a ring so far.
#[derive(Debug)]
struct Followed {
    start: u64,
    header: [u8; HEADER_BYTES],
    /// The number of the next event, of those that were written.
    next: u64,
    /// The events that were overwritten before.
    missed: u64,
    events: Vec<u8>,
}

/// Reads as much as there is.
fn read(ram: &HostFile, bytes: &mut [u8], start: u64) -> bool {
    ram.read_exact_at(bytes, start).is_ok()
}

fn header(ram: &HostFile, start: u64) -> Option<[u8; HEADER_BYTES]> {
    let mut header = [0; HEADER_BYTES];
    let is_ring = read(ram, &mut header, start) && header.starts_with(&MAGIC);
    is_ring.then_some(header)
}

impl Follower {
    /// For the file in which the machine has its RAM.
    ///
    /// # Errors
    /// A sentence, if it cannot be read.
    pub fn new(ram: &Path) -> Result<Self, String> {
        let file = HostFile::open(ram);
        let ram = file.map_err(|error| format!("cannot read {}: {error}", ram.display()))?;
        let rings = Vec::new();
        Ok(Self { ram, rings })
    }

    /// Looks for rings that are new.
    pub fn search(&mut self) {
        let size = self.ram.metadata().map_or(0, |data| data.len());
        for start in (0..size).step_by(ALIGNMENT) {
            let is_known = self.rings.iter().any(|ring| ring.start == start);
            // Until the kernel knows what events cost, it writes events that do not count.
            if !is_known
                && let Some(header) = header(&self.ram, start)
                && RingReader::new(&header).is_ok_and(|ring| {
                    let last = ring.costs.map(|costs| costs.of(Costs::KINDS as u8 - 1));
                    last.is_some_and(|cost| cost != Cost::default())
                })
            {
                self.rings.push(Followed {
                    start,
                    header,
                    next: 0,
                    missed: 0,
                    events: Vec::new(),
                });
            }
        }
    }

    /// Takes what was written since the last time.
    pub fn take(&mut self) {
        for ring in &mut self.rings {
            // The last event may be incomplete.
            ring.take(&self.ram, 1);
        }
    }

    /// The trace, when the machine has stopped, and sentences about rings that cannot be read.
    ///
    /// # Errors
    /// As [`collect`]. `ram` is the name of the file.
    pub fn finish(mut self, ram: &Path, platform: String) -> Result<(File, Vec<String>), String> {
        let (mut file, damage) = collect(ram, platform)?;
        for followed in &mut self.rings {
            followed.take(&self.ram, 0);
            let core = |ring: &[u8]| RingReader::new(ring).map(|ring| ring.settings.core).ok();
            let own = core(&followed.header);
            if let Some(ring) = file.rings.iter_mut().find(|ring| core(ring) == own) {
                *ring = followed.ring();
            }
        }
        Ok((file, damage))
    }
}

impl Followed {
    /// Takes what was written since the last time, but for so many events.
    fn take(&mut self, ram: &HostFile, left: u64) {
        let Some(header) = header(ram, self.start) else {
            return;
        };
        let Ok(ring) = RingReader::new(&header) else {
            return;
        };
        let (size, capacity) = (ring.settings.detail.bytes(), ring.capacity);
        let until = ring.written.saturating_sub(left);
        self.header = header;
        if until < self.next {
            // The machine has started again.
            (self.next, self.missed) = (0, 0);
            self.events.clear();
        }
        if self.events.len() >= MOST_BYTES {
            self.missed += until - self.next;
            self.next = until;
            return;
        }
        let from = self.next.max(until.saturating_sub(capacity));
        let mut bytes = Vec::new();
        let mut number = from;
        while number < until {
            // Up to the end of the ring.
            let place = number % capacity;
            let count = (until - number).min(capacity - place);
            let mut part = vec![0; count as usize * size];
            let at = self.start + HEADER_BYTES as u64 + place * size as u64;
            if !read(ram, &mut part, at) {
                return;
            }
            bytes.extend(part);
            number += count;
        }
        // What was overwritten meanwhile, or is just being.
        let now = self::header(ram, self.start);
        let now = now.and_then(|header| RingReader::new(&header).map(|ring| ring.written).ok());
        let oldest = match ring.settings.mode {
            Mode::Overwrite if left > 0 => {
                (now.unwrap_or(until) + TOGETHER as u64).saturating_sub(capacity)
            }
            _ => from,
        };
        let mut first = from.max(oldest);
        // A gap is seen in the lower 16 bits of the sequence number.
        if first > self.next && (first - self.next).is_multiple_of(1 << 16) {
            first += 1;
        }
        let first = first.min(until);
        self.missed += first - self.next;
        self.events.extend(&bytes[(first - from) as usize * size..]);
        self.next = until;
    }

    /// As the ring of a stream that has room for all events.
    fn ring(&self) -> Vec<u8> {
        let mut header = self.header;
        let (mut count, mut lost) = (0, 0);
        if let Ok(ring) = RingReader::new(&self.header) {
            count = (self.events.len() / ring.settings.detail.bytes()) as u64;
            lost = ring.lost.saturating_add(self.missed);
        }
        make_stream(&mut header, count, lost);
        [&header[..], &self.events].concat()
    }
}

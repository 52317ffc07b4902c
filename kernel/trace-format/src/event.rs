//! One event.

use crate::{Detail, Kind};

/// So many events are stored at most before they are counted: over the oldest ones, in a flight recorder.
pub const TOGETHER: usize = 4;

/// A kernel object: bits 4 to 35 of its address, which differ between all objects. 0 is no object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// No object.
    pub const NONE: Self = Self(0);

    /// The object at an address.
    #[must_use]
    pub const fn of(address: usize) -> Self {
        Self((address as u64 >> 4) as u32)
    }

    /// The object in the lower half of a detail.
    #[must_use]
    pub const fn in_detail(detail: u64) -> Self {
        Self(detail as u32)
    }
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The time in ticks: that of the kernel entry, by which the kernel charges.
    pub time: u64,
    /// The number of the [`Kind`].
    pub kind: u8,
    /// The core whose state changed.
    pub core: u8,
    /// The lower bits of the number of the event on its core, lost ones included.
    pub sequence: u16,
    /// The thread or context that it is about.
    pub subject: ObjectId,
    /// Details, which depend on the kind; 0 in events of 16 bytes.
    pub a: u64,
    /// More details.
    pub b: u64,
}

impl Event {
    /// Its kind; `None` if this version does not know it.
    #[must_use]
    pub const fn kind(&self) -> Option<Kind> {
        Kind::from_number(self.kind as u64)
    }

    /// Its bytes; the last 16 are the details.
    #[inline(always)]
    #[must_use]
    pub fn encode(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[0..8].copy_from_slice(&self.time.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.subject.0.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.sequence.to_le_bytes());
        (bytes[14], bytes[15]) = (self.kind, self.core);
        bytes[16..24].copy_from_slice(&self.a.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.b.to_le_bytes());
        bytes
    }

    /// The event in `bytes`; `None` if there are not enough of them.
    #[must_use]
    pub fn decode(bytes: &[u8], detail: Detail) -> Option<Self> {
        let word = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let (time, second) = (word(0)?, word(8)?);
        let (a, b) = match detail {
            Detail::Lite => (0, 0),
            Detail::Full => (word(16)?, word(24)?),
        };
        Some(Self {
            time,
            subject: ObjectId(second as u32),
            sequence: (second >> 32) as u16,
            kind: (second >> 48) as u8,
            core: (second >> 56) as u8,
            a,
            b,
        })
    }
}

//! The stream of a core: packets of events (sections 3, 5 and 6).

use std::collections::HashMap;

use trace_format::{Mark, ObjectId};

use crate::fields::{Meaning, fields};
use crate::jobs::mark;
use crate::state::text;
use crate::{Numbered, State};

/// The first bytes of a packet (section 5).
const MAGIC: u32 = 0xc1fc_1fc1;
/// Bytes of the header and the context of a packet.
const HEADER_BYTES: usize = 52;
/// The bytes of events after which a packet ends. Readers seek by packets.
const FULL: usize = 1 << 16;

/// The stream of a core that is written.
///
/// A packet of its own, without events, says where events are missing: its time is that between their neighbours. The
/// count of discarded events is a snapshot at the end of a packet (section 5), so readers compare it with that of the
/// packet before.
pub(super) struct Stream {
    core: u8,
    /// The packets that are complete.
    bytes: Vec<u8>,
    /// The events of the next packet.
    events: Vec<u8>,
    /// The time of the first of them.
    begin: u64,
    /// The time of the last event.
    last: u64,
    /// The number that the next event has if none is missing.
    next: u64,
    /// How many events were missing so far.
    discarded: u64,
    /// How many are missing of the whole stream.
    lost: u64,
}

impl Stream {
    /// The stream of a core of which so many events are missing.
    pub(super) const fn new(core: u8, lost: u64) -> Self {
        Self {
            core,
            bytes: Vec::new(),
            events: Vec::new(),
            begin: 0,
            last: 0,
            next: 0,
            discarded: 0,
            lost,
        }
    }

    /// Adds an event, of which these are the bytes.
    pub(super) fn add(&mut self, one: &Numbered, bytes: &[u8]) {
        let time = one.event.time;
        // The numbers of a damaged trace may be any; its count of missing events is the limit.
        let gap = one.number.saturating_sub(self.next);
        let gap = gap.min(self.lost - self.discarded);
        if gap > 0 {
            self.end_packet();
            self.discarded += gap;
            self.packet(self.last, time, &[]);
        } else if self.events.len() >= FULL {
            self.end_packet();
        }
        if self.events.is_empty() {
            self.begin = time;
        }
        self.events.extend(bytes);
        (self.last, self.next) = (time, one.number.saturating_add(1));
    }

    /// The bytes of the stream, which ends at a time.
    pub(super) fn finish(mut self, end: u64) -> Vec<u8> {
        self.end_packet();
        self.discarded = self.lost;
        self.packet(self.last, end, &[]);
        self.bytes
    }

    /// Ends the packet of the last events. The first packet is written even if it is empty: readers cannot count what
    /// is missing before a first one.
    fn end_packet(&mut self) {
        if !self.events.is_empty() || self.bytes.is_empty() {
            let events = std::mem::take(&mut self.events);
            self.packet(self.begin, self.last, &events);
        }
    }

    /// Writes a packet. Sizes are in bits, and include the header (section 5.2).
    fn packet(&mut self, begin: u64, end: u64, events: &[u8]) {
        let bits = 8 * (HEADER_BYTES + events.len()) as u64;
        let stream_id = 0_u32;
        self.bytes.extend(MAGIC.to_le_bytes());
        self.bytes.extend(stream_id.to_le_bytes());
        for value in [begin, end, bits, bits, self.discarded] {
            self.bytes.extend(value.to_le_bytes());
        }
        self.bytes.extend(u32::from(self.core).to_le_bytes());
        self.bytes.extend(events);
    }
}

/// The bytes of an event: header, context and payload (section 6). The state is that in which names are looked up.
pub(super) fn event(
    one: &Numbered,
    state: &mut State,
    names: &HashMap<ObjectId, String>,
) -> Vec<u8> {
    let event = &one.event;
    let kind = event.kind();
    let mut bytes = vec![kind.map_or(0, |kind| kind.number())];
    bytes.extend(event.time.to_le_bytes());
    bytes.extend(one.number.to_le_bytes());
    for (_, part, meaning) in fields(kind) {
        let value = part.of(event);
        let object = ObjectId::in_detail(value);
        match meaning {
            Meaning::Number | Meaning::Ticks | Meaning::Signed | Meaning::Code(_) => {
                bytes.extend(value.to_le_bytes());
            }
            Meaning::Object => bytes.extend(object.0.to_le_bytes()),
            Meaning::Thread => {
                let key = state.thread(object);
                let name = key.map(|key| state.thread_name(key, names));
                bytes.extend(object.0.to_le_bytes());
                string(&mut bytes, &name.unwrap_or_default());
            }
            Meaning::Context => {
                let key = state.context(object);
                let name = key.map(|key| state.context_name(key, names));
                bytes.extend(object.0.to_le_bytes());
                string(&mut bytes, &name.unwrap_or_default());
            }
            Meaning::Name => {
                let name = [event.a.to_le_bytes(), event.b.to_le_bytes()].concat();
                string(&mut bytes, &text(&name));
            }
            Meaning::Text => {
                let has_text = mark(event).is_some_and(|(mark, _)| mark == Mark::Text);
                let text = has_text.then(|| text(&event.b.to_le_bytes()));
                string(&mut bytes, &text.unwrap_or_default());
            }
        }
    }
    bytes
}

/// Adds a string, which ends with a zero (section 4.2.5), and so before the first one that is in it. A hyphen stands for
/// an empty one, for which Babeltrace 2.0.4 prints the string of an earlier event.
fn string(bytes: &mut Vec<u8>, text: &str) {
    let text = text.split('\0').next().unwrap_or_default();
    let text = if text.is_empty() { "-" } else { text };
    bytes.extend(text.as_bytes());
    bytes.push(0);
}

//! Perfetto's protocol buffers: tracks for cores, threads and contexts, a counter for each budget, and flows for
//! donation.
//!
//! The messages are those of `perfetto/trace/trace_packet.proto` and `track_event.proto`; only the fields that are
//! written here are named.

use super::{context_of, thread_of, word};
use crate::{Status, Timeline, Trace, remaining_budget};

/// A message of protocol buffers.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    fn fixed(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u32, value: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    fn message(self, field: u32, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }
}

// Fields of `TracePacket`.
const TIMESTAMP: u32 = 8;
const SEQUENCE: u32 = 10;
const TRACK_EVENT: u32 = 11;
const TRACK_DESCRIPTOR: u32 = 60;
// Fields of `TrackDescriptor`.
const UUID: u32 = 1;
const NAME: u32 = 2;
const PARENT: u32 = 5;
const COUNTER: u32 = 8;
// Fields of `TrackEvent`.
const TYPE: u32 = 9;
const TRACK: u32 = 11;
const EVENT_NAME: u32 = 23;
const COUNTER_VALUE: u32 = 30;
const ANNOTATIONS: u32 = 4;
const FLOW: u32 = 47;
const END_OF_FLOW: u32 = 48;
// Values of `TrackEvent.Type`.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const VALUE: u64 = 4;
// Fields of `DebugAnnotation`.
const ANNOTATION_NAME: u32 = 10;
const ANNOTATION_TEXT: u32 = 6;

/// The uuid of a track: the group, and the number in it.
const fn uuid(group: u64, number: usize) -> u64 {
    group << 32 | (number as u64 + 1)
}

const CORES: u64 = 1;
const THREADS: u64 = 2;
const CONTEXTS: u64 = 3;
const BUDGETS: u64 = 4;

struct Writer<'t> {
    trace: &'t Trace,
    /// The packets, each with its time: readers want those of a sequence in order.
    packets: Vec<(u64, Message)>,
}

impl Writer<'_> {
    fn track(&mut self, uuid: u64, parent: Option<u64>, name: &str, is_counter: bool) {
        let mut descriptor = Message::default()
            .number(UUID, uuid)
            .bytes(NAME, name.as_bytes());
        if let Some(parent) = parent {
            descriptor = descriptor.number(PARENT, parent);
        }
        if is_counter {
            descriptor = descriptor.message(COUNTER, &Message::default());
        }
        let packet = Message::default().message(TRACK_DESCRIPTOR, &descriptor);
        self.packets.push((0, packet));
    }

    fn event(&mut self, time: u64, event: &Message) {
        let time = self.trace.nanoseconds(time);
        let packet = Message::default()
            .number(TIMESTAMP, time)
            .number(SEQUENCE, 1)
            .message(TRACK_EVENT, event);
        self.packets.push((time, packet));
    }

    fn span(&mut self, track: u64, (start, end): (u64, u64), name: &str, note: (&str, &str)) {
        let mut begin = Message::default()
            .number(TYPE, BEGIN)
            .number(TRACK, track)
            .bytes(EVENT_NAME, name.as_bytes());
        if !note.1.is_empty() {
            let annotation = Message::default()
                .bytes(ANNOTATION_NAME, note.0.as_bytes())
                .bytes(ANNOTATION_TEXT, note.1.as_bytes());
            begin = begin.message(ANNOTATIONS, &annotation);
        }
        self.event(start, &begin);
        self.event(
            end,
            &Message::default().number(TYPE, END).number(TRACK, track),
        );
    }
}

/// The trace as a `Trace` message.
pub fn perfetto(trace: &Trace) -> Vec<u8> {
    let timeline = Timeline::of(trace);
    let mut writer = Writer {
        trace,
        packets: Vec::new(),
    };
    for (group, name) in [
        (CORES, "cores"),
        (THREADS, "threads"),
        (CONTEXTS, "contexts"),
    ] {
        writer.track(group, None, name, false);
    }
    for (core, spans) in &timeline.cores {
        let track = uuid(CORES, usize::from(*core));
        writer.track(track, Some(CORES), &format!("core {core}"), false);
        for span in spans.iter().filter(|span| span.thread.is_some()) {
            let note = ("context of", context_of(&timeline, span));
            writer.span(
                track,
                (span.start, span.end),
                thread_of(&timeline, span),
                note,
            );
        }
    }
    for (key, lane) in timeline.threads.iter().enumerate() {
        let track = uuid(THREADS, key);
        writer.track(track, Some(THREADS), &lane.name, false);
        for (start, end, status) in lane.spans(timeline.end) {
            let context = match status {
                Status::Unknown | Status::Stopped => continue,
                Status::Runs(Some(context)) => &timeline.contexts[context.0].name,
                _ => "",
            };
            writer.span(track, (start, end), word(status), ("context of", context));
        }
    }
    contexts(&timeline, &mut writer);
    // An end comes before a begin of the same time, because spans of a track follow each other.
    writer.packets.sort_by_key(|(time, _)| *time);
    let packets = writer.packets.iter();
    packets
        .fold(Message::default(), |all, (_, packet)| {
            all.message(1, packet)
        })
        .0
}

fn contexts(timeline: &Timeline, writer: &mut Writer<'_>) {
    let mut flow = 0;
    for (key, lane) in timeline.contexts.iter().enumerate() {
        let track = uuid(CONTEXTS, key);
        writer.track(track, Some(CONTEXTS), &lane.name, false);
        for span in &lane.uses {
            let core = span.core.to_string();
            writer.span(
                track,
                (span.start, span.end),
                thread_of(timeline, span),
                ("core", &core),
            );
        }
        let budget = uuid(BUDGETS, key);
        let name = format!("budget of {} in ns", lane.name);
        writer.track(budget, Some(CONTEXTS), &name, true);
        for (time, amount) in &remaining_budget(lane, timeline.end) {
            let value = writer.trace.nanoseconds(*amount);
            let event = Message::default()
                .number(TYPE, VALUE)
                .number(TRACK, budget)
                .number(COUNTER_VALUE, value);
            writer.event(*time, &event);
        }
        for (time, from, to, why) in &lane.moves {
            let (Some(from), Some(to)) = (from, to) else {
                continue;
            };
            flow += 1;
            let name = why.map_or("moves", trace_format::Move::name);
            for (thread, field) in [(from, FLOW), (to, END_OF_FLOW)] {
                let event = Message::default()
                    .number(TYPE, INSTANT)
                    .number(TRACK, uuid(THREADS, thread.0))
                    .bytes(EVENT_NAME, name.as_bytes())
                    .fixed(field, flow);
                writer.event(*time, &event);
            }
        }
    }
}

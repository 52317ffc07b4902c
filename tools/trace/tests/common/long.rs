//! Traces of any length: the events of a period of the simulator, repeated.

use std::ops::Range;

use simulator::{Setup, ms, us, work};
use trace::{File, Trace};
use trace_format::{Detail, Event, HEADER_BYTES, Kind, Kinds, Mode, Ring, Settings};
use userlib::cap::{Endpoint, Reply, SchedParameters};
use userlib::{Message, server, syscall, trace as marks};

use crate::common::{read, simulated};

/// From here on, nothing is left of the start, in microseconds.
const STEADY: u64 = 200_000;

/// In microseconds. A thread's period begins again a microsecond late, when the timer's interrupt comes.
const TURN: u64 = 1001;

/// Clients of a server without time of its own, and a thread whose budget ends in each period. They mark their jobs.
fn setup(setup: &mut Setup) {
    let (endpoint, reply): (Endpoint, Reply) = (setup.create(), setup.create());
    let server = setup.thread("server", 30).passive();
    server.run(move || {
        server::serve(endpoint, reply, |request| {
            work(us(20));
            Message::new(0, &[request.badge])
        })
    });
    for (number, period) in [(1, 1_u64), (2, 2), (3, 4), (4, 5), (5, 10)] {
        let time = SchedParameters::new(us(period * 150), us(period * TURN - 1));
        let client = setup.thread(format!("client {number}"), 20 - number as u8);
        client.time(time).repeat(move || {
            marks::begun(0, 0);
            work(us(50 * number));
            endpoint.call(Message::new(0, &[]));
            marks::done(0, 0);
            syscall::yield_now();
        });
    }
    let hog = setup
        .thread("hog", 5)
        .time(SchedParameters::new(ms(1), us(10 * TURN - 1)));
    hog.repeat(|| work(ms(1)));
}

/// A trace with so many events, or a few more.
pub fn long(events: usize) -> File {
    let short = simulated(setup, 2 * STEADY, 1_000_000);
    let trace = read(&short);
    let (start, period) = repetition(&trace);
    let (before, repeated) = trace.events.split_at(start.start);
    let repeated = &repeated[..start.len()];
    let times = events.saturating_sub(before.len()).div_ceil(repeated.len()) as u64;
    let all = before.len() + repeated.len() * times as usize;
    let mut memory = vec![0; (HEADER_BYTES + all * Detail::Full.bytes()) / 8];
    let settings = Settings {
        core: 0,
        detail: Detail::Full,
        kinds: Kinds::ALL,
        mode: Mode::Stop,
        frequency: trace.frequency,
        clocks: trace.clocks,
    };
    let mut ring = Ring::new(&mut memory, settings).expect("there is room");
    let mut write = |event: Event| {
        let kind = event.kind().expect("the simulator writes known kinds");
        ring.write(event.time, kind, event.subject, (event.a, event.b));
    };
    for one in before {
        write(one.event);
    }
    for turn in 0..times {
        for one in repeated {
            write(later(one.event, turn * period));
        }
    }
    let end = repeated[0].event.time + times * period;
    File {
        rings: vec![ring.bytes().collect()],
        end: Some(end),
        answers: Vec::new(),
        ..short
    }
}

/// The places of the first events that repeat themselves in the middle of a trace, and after how many ticks they do.
fn repetition(trace: &Trace) -> (Range<usize>, u64) {
    let events: Vec<_> = trace
        .events
        .iter()
        .map(|one| unnumbered(one.event))
        .collect();
    let start = events.partition_point(|event| event.time < trace.end / 2);
    let next = (start + 1..).take_while(|next| 2 * next - start <= events.len());
    let found = next
        .map(|next| (start..next, events[next].time - events[start].time))
        .find(|(part, period)| {
            let repeats = events[part.clone()]
                .iter()
                .map(|event| later(*event, *period));
            *period > 0 && repeats.eq(events[part.end..][..part.len()].iter().copied())
        });
    found.expect("the threads are periodic")
}

/// The same event at a later time.
fn later(event: Event, by: u64) -> Event {
    let (mut a, mut b) = (event.a, event.b);
    match event.kind() {
        Some(Kind::Head | Kind::Added | Kind::Postponed) => a += by,
        Some(Kind::Exit) => b = b.saturating_add(by),
        _ => {}
    }
    Event {
        time: event.time + by,
        a,
        b,
        ..event
    }
}

/// The event without what counts: its number, and the sum of what was charged.
fn unnumbered(event: Event) -> Event {
    let b = if event.kind() == Some(Kind::Charged) {
        0
    } else {
        event.b
    };
    Event {
        sequence: 0,
        b,
        ..event
    }
}

//! Whether two traces have the same events.

use std::collections::HashMap;
use std::hash::Hash;

use abi::Syscall;
use trace_format::{Kind, Mark, ObjectId, Reason};

use crate::fields::{Meaning, Part, fields};
use crate::jobs::mark;
use crate::state::text;
use crate::{Numbered, State, Trace};

/// Two traces of one deterministic run, of which the second may be of another machine.
///
/// Each event of the one must be that of the other: its kind, core, threads, contexts and other objects, codes and
/// numbers, in the same order. Objects, and kinds of capabilities, have other numbers on other machines, so one is another if it is
/// wherever it occurs. What is not compared is times and durations, which no two machines have in common, and a system call by which a
/// program on x86-64 sets a register that other programs write by themselves.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// The traces.
    pub traces: [&'a Trace; 2],
    /// Only what follows the first mark with this text.
    pub from: Option<&'a str>,
    /// Only what comes before the first mark with this text.
    pub to: Option<&'a str>,
}

impl Comparison<'_> {
    /// How many events are the same.
    ///
    /// # Errors
    /// A sentence: what the first difference is, or why nothing can be compared.
    pub fn run(&self) -> Result<usize, String> {
        let [one, other] = self.traces;
        for trace in self.traces {
            if trace.lost.len() > 1 {
                return Err(
                    "traces of several cores cannot be compared: the order of their events depends on times"
                        .to_string(),
                );
            }
            if trace.lost_events() > 0 || !trace.is_full {
                return Err("traces without all events cannot be compared".to_string());
            }
        }
        let parts = [self.part(one)?, self.part(other)?];
        let mut counterparts = Counterparts::default();
        let [left, right] = &parts;
        let count = left.len().max(right.len());
        for index in 0..count {
            let events = [left, right].map(|part| part.get(index).copied());
            let is_same = match events {
                [Some(left), Some(right)] => counterparts.are_same(left, right),
                _ => false,
            };
            if !is_same {
                let [left, right] = [0, 1].map(|side| self.tell(side, events[side]));
                return Err(format!(
                    "event {} is {left} in the first trace, and {right} in the second one",
                    index + 1,
                ));
            }
        }
        Ok(count)
    }

    /// The events of a trace that are compared.
    fn part<'t>(&self, trace: &'t Trace) -> Result<Vec<&'t Numbered>, String> {
        let place = |wanted: &str| {
            let found = trace.events.iter().position(|one| says(one, wanted));
            found.ok_or_else(|| {
                format!(
                    "no program has marked `{wanted}` in a trace of {}",
                    trace.platform
                )
            })
        };
        let start = self.from.map_or(Ok(0), place)?;
        let end = self.to.map_or(Ok(trace.events.len()), place)?;
        let part = trace.events.get(start..end).unwrap_or_default();
        let mut is_of_one = false;
        let part = part.iter().filter(|one| {
            let is_left_out = is_of_one;
            match one.event.kind() {
                Some(Kind::Entry) => is_of_one = sets_register(one),
                Some(Kind::Exit) => is_of_one = false,
                _ => {}
            }
            !(is_left_out || is_of_one)
        });
        let part: Vec<_> = part.collect();
        if part.is_empty() {
            return Err(format!(
                "a trace of {} has nothing to compare",
                trace.platform
            ));
        }
        Ok(part)
    }

    /// An event of one of the traces in words.
    fn tell(&self, side: usize, event: Option<&Numbered>) -> String {
        let Some(one) = event else {
            return "missing".to_string();
        };
        let trace = self.traces[side];
        let mut state = State::default();
        for before in &trace.events {
            state.apply(&before.event);
            if before.number == one.number {
                break;
            }
        }
        let event = &one.event;
        let mut words = Vec::new();
        for (name, part, meaning) in fields(event.kind()) {
            let value = part.of(event);
            let object = ObjectId::in_detail(value);
            let thread = state
                .thread(object)
                .filter(|_| matches!(meaning, Meaning::Thread));
            let context = state
                .context(object)
                .filter(|_| matches!(meaning, Meaning::Context));
            words.push(match (thread, context, meaning) {
                (Some(key), ..) => format!("{name} {}", state.thread_name(key, &trace.names)),
                (_, Some(key), _) => format!("{name} {}", state.context_name(key, &trace.names)),
                (.., Meaning::Signed) => format!("{name} {}", value.cast_signed()),
                (.., Meaning::Code(code)) => {
                    let values = code.values();
                    let found = values
                        .iter()
                        .find(|(number, _)| u64::from(*number) == value);
                    found.map_or(value.to_string(), |(_, name)| (*name).to_string())
                }
                (.., Meaning::Text | Meaning::Name) => continue,
                _ => format!("{name} {value}"),
            });
        }
        let kind = event.kind().map_or("of an unknown kind", Kind::name);
        let time = trace.microseconds(event.time) / 1000.0;
        format!("{kind} ({}) at {time:.3} ms", words.join(", "))
    }
}

/// Whether this kernel entry only sets the register of the running thread that has the address of its IPC buffer.
fn sets_register(entry: &Numbered) -> bool {
    let call = Syscall::SetTlsBase.number() as u64;
    (entry.event.a, entry.event.b) == (Reason::Syscall.number().into(), call)
}

/// Whether a program marks this text here.
fn says(one: &Numbered, wanted: &str) -> bool {
    let is_text = mark(&one.event).is_some_and(|(mark, _)| mark == Mark::Text);
    is_text && text(&one.event.b.to_le_bytes()) == wanted
}

/// What of the first trace is what of the second.
#[derive(Default)]
struct Counterparts {
    objects: Pairs<ObjectId>,
    /// Kinds of capabilities, which have other numbers in the ABI for 32-bit machines.
    tags: Pairs<u64>,
}

impl Counterparts {
    fn are_same(&mut self, left: &Numbered, right: &Numbered) -> bool {
        let (left, right) = (&left.event, &right.event);
        if (left.kind, left.core) != (right.kind, right.core) {
            return false;
        }
        let is_late = mark(left).is_some_and(|(mark, _)| mark == Mark::Late);
        fields(left.kind()).iter().all(|(_, part, meaning)| {
            let values = [part.of(left), part.of(right)];
            match meaning {
                Meaning::Ticks => true,
                Meaning::Object | Meaning::Thread | Meaning::Context => {
                    let [one, other] = values.map(ObjectId::in_detail);
                    let is_none = [one, other].map(|object| object == ObjectId::NONE);
                    match is_none {
                        [false, false] => self.objects.are_one(one, other),
                        [one, other] => one == other,
                    }
                }
                _ if left.kind() == Some(Kind::Invocation) && matches!(part, Part::A) => {
                    self.tags.are_one(values[0], values[1])
                }
                Meaning::Name => (left.a, left.b) == (right.a, right.b),
                // How late a job begins is a time.
                _ if is_late && matches!(part, Part::B) => true,
                _ => values[0] == values[1],
            }
        })
    }
}

/// What is paired with what, both ways.
#[derive(Default)]
struct Pairs<T>([HashMap<T, T>; 2]);

impl<T: Copy + Eq + Hash> Pairs<T> {
    /// Whether the two are a pair, or can become one.
    fn are_one(&mut self, left: T, right: T) -> bool {
        let [forth, back] = &mut self.0;
        *forth.entry(left).or_insert(right) == right && *back.entry(right).or_insert(left) == left
    }
}

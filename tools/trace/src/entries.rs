//! How many events entries of each kind write, and what these cost.

use std::collections::BTreeMap;

use trace_format::Kind;

use crate::{Trace, cost, sum};

/// Entries of one kind: for one reason, and with as many events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entries {
    /// The number of a [`Reason`](trace_format::Reason).
    pub reason: u64,
    /// What the reason says: the number of a system call, or the label of a fault.
    pub number: i64,
    /// The label of the message with which a capability was invoked; 0 without one.
    pub label: u64,
    /// Whether another thread ran afterwards.
    pub has_switched: bool,
    /// How many events each wrote.
    pub events: usize,
}

/// How many entries of a kind there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// That number.
    pub count: u64,
    /// What the events of all of them cost, and how far that may be from the truth, in parts of a tick.
    pub cost: [u64; 2],
}

/// The kinds of entries, and how many there were of each.
pub fn entries(trace: &Trace) -> BTreeMap<Entries, Count> {
    let mut open: BTreeMap<u8, (Entries, [u64; 2])> = BTreeMap::new();
    let mut kinds: BTreeMap<_, Count> = BTreeMap::new();
    for one in &trace.events {
        let event = &one.event;
        match event.kind() {
            Some(Kind::Entry) => {
                let entry = Entries {
                    reason: event.a,
                    number: event.b as i64,
                    label: 0,
                    has_switched: false,
                    events: 1,
                };
                open.insert(event.core, (entry, cost(trace, event)));
            }
            kind => {
                let Some((entry, costs)) = open.get_mut(&event.core) else {
                    continue;
                };
                *costs = sum(*costs, cost(trace, event));
                entry.events += 1;
                if kind == Some(Kind::Invocation) {
                    entry.label = event.b;
                }
                entry.has_switched |= kind == Some(Kind::Run);
                if kind == Some(Kind::Exit) {
                    let all = kinds.entry(*entry).or_default();
                    (all.count, all.cost) = (all.count + 1, sum(all.cost, *costs));
                    open.remove(&event.core);
                }
            }
        }
    }
    kinds
}

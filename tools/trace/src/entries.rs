//! How many events entries of each kind write.

use std::collections::BTreeMap;

use trace_format::Kind;

use crate::Trace;

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

/// The kinds of entries, and how many there were of each.
pub fn entries(trace: &Trace) -> BTreeMap<Entries, usize> {
    let mut open: BTreeMap<u8, Entries> = BTreeMap::new();
    let mut kinds = BTreeMap::new();
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
                open.insert(event.core, entry);
            }
            kind => {
                let Some(entry) = open.get_mut(&event.core) else {
                    continue;
                };
                entry.events += 1;
                if kind == Some(Kind::Invocation) {
                    entry.label = event.b;
                }
                entry.has_switched |= kind == Some(Kind::Run);
                if kind == Some(Kind::Exit) {
                    *kinds.entry(*entry).or_default() += 1;
                    open.remove(&event.core);
                }
            }
        }
    }
    kinds
}

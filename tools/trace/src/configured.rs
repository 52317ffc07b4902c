//! What budgets contexts had, and when.

use trace_format::Kind;

use crate::{ContextKey, State, Trace};

/// Parameters that a context has got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configured {
    /// The name of the thread to which the context was bound first.
    pub thread: String,
    /// The context.
    pub context: ContextKey,
    /// When.
    pub time: u64,
    /// The budget in ticks.
    pub budget: u64,
    /// The period in ticks; 0 for round robin.
    pub period: u64,
}

/// The parameters that contexts have got, of those that were bound to a thread.
pub fn configured(trace: &Trace) -> Vec<Configured> {
    let mut state = State::default();
    let mut found = Vec::new();
    for one in &trace.events {
        state.apply(&one.event);
        if one.event.kind() == Some(Kind::Configured)
            && let Some(context) = state.context(one.event.subject)
        {
            found.push((context, one.event));
        }
    }
    let found = found.into_iter().filter_map(|(context, event)| {
        let owner = state.contexts[context.0].owner?;
        Some(Configured {
            thread: state.thread_name(owner, &trace.names),
            context,
            time: event.time,
            budget: event.a,
            period: event.b,
        })
    });
    found.collect()
}

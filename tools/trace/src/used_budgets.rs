//! How soon budgets were used up by threads that always had something to do.

use std::collections::BTreeMap;

use trace_format::{Blocking, Kind, Move, ObjectId};

use crate::gaps::Numbers;
use crate::state::reason_of_move;
use crate::{ContextKey, State, ThreadKey, Trace};

/// The budgets of a thread that it used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedBudgets {
    /// The name of the thread.
    pub thread: String,
    /// Each of them, from when a replenishment was due to when the whole budget was used.
    pub responses: Vec<(u64, u64)>,
}

/// A budget that is used, since a replenishment was due for which its thread had waited.
struct Open {
    /// The thread to which the budget belongs.
    owner: ThreadKey,
    due: u64,
    used: u64,
    /// The thread that runs on it expects a reply, and the budget has not gone to a server with the call.
    waits: bool,
}

/// All budgets that were used up, for each thread that did so. A thread that waits in between, for anything but the reply
/// of a server that runs on its budget, could have used it earlier; so could one that a criticality level keeps back.
pub fn used_budgets(trace: &Trace) -> Vec<UsedBudgets> {
    let mut state = State::default();
    let mut budgets: BTreeMap<ContextKey, u64> = BTreeMap::new();
    let mut open: BTreeMap<ContextKey, Open> = BTreeMap::new();
    let mut found: BTreeMap<ThreadKey, Vec<(u64, u64)>> = BTreeMap::new();
    let mut numbers = Numbers::default();
    for one in &trace.events {
        let event = &one.event;
        if let Some(gap) = numbers.gap_before(one) {
            state.forget(gap.core, event.time);
            budgets.clear();
            open.clear();
        }
        state.apply(event);
        let (thread, context) = (state.thread(event.subject), state.context(event.subject));
        let holder = |context: ContextKey| state.contexts[context.0].thread;
        match event.kind() {
            Some(Kind::Configured) => {
                if let Some(context) = context {
                    budgets.insert(context, event.a);
                    open.remove(&context);
                }
            }
            // A server may have been waiting for the budget of its client.
            Some(Kind::Postponed) => {
                let context = state.context(ObjectId::in_detail(event.b));
                let owner = context.and_then(|context| state.contexts[context.0].owner);
                if let Some((owner, context)) = owner.or(thread).zip(context) {
                    let begun = Open {
                        owner,
                        due: event.a,
                        used: 0,
                        waits: false,
                    };
                    open.insert(context, begun);
                }
            }
            Some(Kind::Charged) => {
                let Some((context, all)) = context.and_then(|key| Some((key, open.get_mut(&key)?)))
                else {
                    continue;
                };
                all.used = all.used.saturating_add(event.a);
                let budget = budgets.get(&context).copied().unwrap_or(u64::MAX);
                if all.used >= budget {
                    let due = all.due.min(event.time);
                    found.entry(all.owner).or_default().push((due, event.time));
                    open.remove(&context);
                }
            }
            Some(Kind::Blocked) if Blocking::from_number(event.a) == Some(Blocking::Reply) => {
                for (context, one) in &mut open {
                    one.waits |= holder(*context) == thread;
                }
            }
            Some(Kind::Woken) => {
                open.retain(|context, one| !(one.waits && holder(*context) == thread));
            }
            Some(Kind::Blocked | Kind::Stopped | Kind::Yielded | Kind::Faulted) => {
                open.retain(|context, _| holder(*context) != thread);
            }
            Some(Kind::GivenUp) => {
                context.map(|context| open.remove(&context));
            }
            Some(Kind::Moved) => match (context, reason_of_move(event)) {
                (Some(context), Some(Move::Call)) => {
                    open.entry(context).and_modify(|one| one.waits = false);
                }
                // It is for something else than its thread waited for.
                (Some(context), Some(Move::Bind | Move::Take)) => {
                    open.remove(&context);
                }
                _ => {}
            },
            Some(Kind::Level) => open.clear(),
            _ => {}
        }
    }
    let found = found.into_iter().map(|(thread, responses)| UsedBudgets {
        thread: state.thread_name(thread, &trace.names),
        responses,
    });
    found.collect()
}

//! A donated context comes back.

use std::collections::{HashMap, HashSet};

use trace_format::{Blocking, Event, Kind, Move, ObjectId};

use super::Check;
use crate::state::reason_of_move;
use crate::{Activity, ContextKey, ThreadKey};

/// The tag of capabilities to reply objects, in [`Kind::Invocation`].
const REPLY: u64 = 8;

/// The contexts that threads have lent.
#[derive(Debug, Default)]
pub(super) struct Donations {
    /// The callers that have donated each context, the innermost one last.
    callers: HashMap<ContextKey, Vec<ThreadKey>>,
    /// The threads to which a notification has lent a context, and the notification.
    borrowers: HashMap<ThreadKey, (ContextKey, ObjectId)>,
    /// Contexts with a limit, of which calls may fail without a reply.
    limited: HashSet<ContextKey>,
    /// The cores on which a reply object is invoked.
    replying: HashSet<u8>,
}

impl Donations {
    /// The calls of a thread, and those outside, return no context any more. Returns the context that it had donated with
    /// the innermost call, if it had.
    fn end_calls(&mut self, thread: ThreadKey) -> Option<ContextKey> {
        let mut innermost = None;
        for (context, callers) in &mut self.callers {
            if let Some(place) = callers.iter().rposition(|caller| *caller == thread) {
                if place + 1 == callers.len() {
                    innermost = Some(*context);
                }
                callers.drain(..=place);
            }
        }
        innermost
    }

    fn moved(
        &mut self,
        context: ContextKey,
        from: Option<ThreadKey>,
        to: Option<ThreadKey>,
        why: Option<Move>,
    ) {
        if let Some(from) = from {
            self.borrowers.remove(&from);
        }
        let callers = self.callers.entry(context).or_default();
        match why {
            Some(Move::Call) => callers.extend(from),
            Some(Move::Return) => {
                let place = callers.iter().rposition(|caller| Some(*caller) == to);
                callers.truncate(place.unwrap_or(0));
            }
            // It may be cut off from its calls.
            Some(Move::Bind | Move::Take) | None => {
                callers.clear();
                self.limited.remove(&context);
            }
            Some(Move::Send | Move::Signal) => {}
        }
    }
}

impl Check<'_> {
    /// On one core, a thread whose call is answered has got back the context that it has donated with it, and a thread that
    /// waits again for the notification that has lent it a context has given that back.
    pub(super) fn donation(&mut self, event: &Event) {
        let Some(kind) = event.kind() else { return };
        match kind {
            Kind::Entry | Kind::Exit => {
                self.donations.replying.remove(&event.core);
            }
            Kind::Invocation if event.a == REPLY => {
                self.donations.replying.insert(event.core);
            }
            Kind::Limited => {
                let context = self.state.context(event.subject);
                self.donations.limited.extend(context);
            }
            Kind::Moved => {
                let [from, to] =
                    [event.a, event.b].map(|detail| self.state.thread(ObjectId::in_detail(detail)));
                let why = reason_of_move(event);
                if let Some(context) = self.state.context(event.subject) {
                    self.donations.moved(context, from, to, why);
                    if let (Some(Move::Signal), Some(to)) = (why, to)
                        && let Activity::Blocked(Blocking::Notification, notification) =
                            self.state.threads[to.0].activity
                    {
                        self.donations.borrowers.insert(to, (context, notification));
                    }
                }
            }
            Kind::Blocked | Kind::Woken | Kind::Stopped | Kind::ThreadDeleted => {
                if let Some(thread) = self.state.thread(event.subject) {
                    self.donation_of(thread, kind, event);
                }
            }
            Kind::ContextDeleted => {
                if let Some(context) = self.state.context(event.subject) {
                    self.donations.callers.remove(&context);
                }
            }
            _ => {}
        }
    }

    fn donation_of(&mut self, thread: ThreadKey, kind: Kind, event: &Event) {
        // On several cores, events with one time have no order.
        let is_alone = self.state.cores.len() == 1;
        let name = self.state.thread_name(thread, &self.trace.names);
        if kind == Kind::Blocked {
            let on = (Blocking::from_number(event.a), ObjectId::in_detail(event.b));
            if let Some(&(context, notification)) = self.donations.borrowers.get(&thread)
                && on == (Some(Blocking::Notification), notification)
                && is_alone
            {
                let context = self.name(context);
                self.complain(
                    event.time,
                    format!("{name} waits for the notification that has lent it the context of {context}, and keeps it"),
                );
            }
            return;
        }
        let Some(context) = self.donations.end_calls(thread) else {
            return;
        };
        let is_answered = kind == Kind::Woken && self.donations.replying.contains(&event.core);
        if is_answered
            && is_alone
            && self.state.threads[thread.0].context.is_none()
            && !self.donations.limited.contains(&context)
        {
            let context = self.name(context);
            self.complain(
                event.time,
                format!(
                    "the call of {name} is answered, and the context of {context} has not come back"
                ),
            );
        }
    }
}

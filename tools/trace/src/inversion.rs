//! Priority inversion: a thread waits while time is charged for work of lower priority.
//!
//! A thread waits for the processor if it is ready, or if it expects a reply and the thread that has to reply is ready.
//! It also waits if it is blocked on a send while a server works for another thread. It does not wait for others where
//! its own budget is used up or too small for a threshold, nor while the thread that has to reply works or sleeps. Work
//! has the priority of the thread to which the charged context is bound: a server that runs on the time of a client works
//! at the client's priority, whatever its own is. (L. Sha, R. Rajkumar, J. Lehoczky: Priority Inheritance Protocols,
//! 1990, section 2, for threads and locks.)

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::mem;

use trace_format::{Blocking, Event, Kind, Move, ObjectId};

use crate::gaps::Numbers;
use crate::state::reason_of_move;
use crate::{Activity, ContextKey, Gap, State, ThreadKey, Trace};

/// A time in which a thread waits for work of lower priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inversion {
    /// Its start, in ticks.
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// The thread that waits.
    pub thread: ThreadKey,
    /// The thread to which the context is bound that is charged first.
    pub charged: ThreadKey,
}

impl Inversion {
    /// How long it takes.
    pub const fn length(&self) -> u64 {
        self.end - self.start
    }
}

/// All inversions of a trace, by their ends.
pub fn inversions(trace: &Trace) -> Vec<Inversion> {
    let (mut search, mut numbers) = (Search::default(), Numbers::default());
    for one in &trace.events {
        if let Some(gap) = numbers.gap_before(one) {
            search.forget(gap);
        }
        search.apply(&one.event);
    }
    search.finish(trace.end)
}

#[derive(Default)]
struct Search {
    state: State,
    /// The thread to which each context is bound.
    bound: HashMap<ContextKey, ThreadKey>,
    /// The context that is bound to each thread.
    own: HashMap<ThreadKey, ContextKey>,
    /// The core on which each thread ran last.
    core: HashMap<ThreadKey, u8>,
    /// The thread that has to reply to each thread that expects a reply.
    partner: HashMap<ThreadKey, ThreadKey>,
    /// A thread that has called in the last kernel entry of a core, and when: it is not known yet which thread replies.
    calls: HashMap<u8, (u64, ThreadKey)>,
    /// The senders that an endpoint's threshold defers.
    deferred: HashSet<ThreadKey>,
    /// The threads that wait.
    waiting: HashSet<ThreadKey>,
    /// The replenishments to come, with the thread that has the context and the one to which it is bound.
    due: BTreeSet<(u64, ThreadKey)>,
    /// The inversions that have not ended: start, and the thread that is charged.
    open: BTreeMap<ThreadKey, (u64, ThreadKey)>,
    found: Vec<Inversion>,
}

impl Search {
    /// What was so before events are missing is not known any more. Inversions that had not ended are left out.
    fn forget(&mut self, Gap { core, before, .. }: Gap) {
        let (mut state, found) = (mem::take(&mut self.state), mem::take(&mut self.found));
        state.forget(core, before.map_or(0, |(_, time)| time));
        *self = Self {
            state,
            found,
            ..Self::default()
        };
    }

    fn apply(&mut self, event: &Event) {
        // No event tells that a replenishment is due.
        while let Some(&(due, thread)) = self.due.first()
            && due <= event.time
        {
            self.due.pop_first();
            self.judge(thread, due);
        }
        self.state.apply(event);
        let mut concerned: Vec<_> = self.state.touched().to_vec();
        match event.kind() {
            Some(Kind::Run) => {
                let thread = self.state.thread(event.subject);
                self.core.extend(thread.map(|thread| (thread, event.core)));
            }
            Some(Kind::Postponed) => {
                let context = self.state.context(ObjectId::in_detail(event.b));
                let bound = context.and_then(|context| self.bound(context));
                let threads = [self.state.thread(event.subject), bound];
                let due = threads.into_iter().flatten();
                self.due.extend(due.map(|thread| (event.a, thread)));
            }
            Some(Kind::Deferred) => {
                let thread = self.state.thread(event.subject);
                self.deferred.extend(thread);
            }
            Some(Kind::Woken) => {
                if let Some(woken) = self.state.thread(event.subject) {
                    self.deferred.remove(&woken);
                    let call = self.calls.remove(&event.core);
                    let call = call.filter(|(time, _)| *time == event.time);
                    self.partner.extend(call.map(|(_, caller)| (caller, woken)));
                }
            }
            Some(Kind::Blocked) => self.note_call(event),
            Some(Kind::Moved) if reason_of_move(event) == Some(Move::Bind) => {
                if let Some(context) = self.state.context(event.subject)
                    && let Some(to) = self.state.contexts[context.0].thread
                {
                    self.bind(context, to);
                }
            }
            _ => {}
        }
        for &thread in &concerned {
            match self.waits(thread) {
                true => self.waiting.insert(thread),
                false => self.waiting.remove(&thread),
            };
        }
        // Another thread runs, or would: that concerns all threads that wait.
        if matches!(
            event.kind(),
            Some(Kind::Run | Kind::Use | Kind::Woken | Kind::Postponed)
        ) {
            concerned.extend(&self.waiting);
        }
        for thread in concerned {
            self.judge(thread, event.time);
        }
    }

    /// A thread expects a reply: from the thread that runs, or, if it has called itself, from the one that it wakes.
    fn note_call(&mut self, event: &Event) {
        if Blocking::from_number(event.a) != Some(Blocking::Reply) {
            return;
        }
        let Some(caller) = self.state.thread(event.subject) else {
            return;
        };
        match self.state.core(event.core).thread {
            Some(runs) if runs != caller => {
                self.partner.insert(caller, runs);
            }
            _ => {
                self.partner.remove(&caller);
                self.calls.insert(event.core, (event.time, caller));
            }
        }
    }

    fn bind(&mut self, context: ContextKey, to: ThreadKey) {
        self.bound.insert(context, to);
        self.own.insert(to, context);
    }

    /// Whether a thread waits for the processor, or for a thread that does.
    fn waits(&self, thread: ThreadKey) -> bool {
        let is_deferred = self.deferred.contains(&thread);
        let thread = &self.state.threads[thread.0];
        let activity = match thread.activity {
            Activity::Runnable => thread.context.is_some(),
            Activity::Blocked(what, _) => matches!(what, Blocking::Send | Blocking::Reply),
            Activity::Unknown | Activity::Stopped => false,
        };
        activity && !is_deferred && thread.runs_on.is_none() && !thread.deleted
    }

    /// Whether `thread`, or the thread that has its context now, waits for a replenishment.
    fn is_out_of_budget(&self, thread: ThreadKey, now: u64) -> bool {
        let context = self.own.get(&thread);
        let user = context.and_then(|context| self.state.contexts[context.0].thread);
        let postponed = |one: ThreadKey| self.state.threads[one.0].postponed;
        let is_due_later = |one| postponed(one).is_some_and(|due| due > now);
        is_due_later(thread) || user.is_some_and(is_due_later)
    }

    /// The thread to which a context is bound: the first that had it, if it was bound before the trace began.
    fn bound(&self, context: ContextKey) -> Option<ThreadKey> {
        let known = self.bound.get(&context).copied();
        known.or(self.state.contexts[context.0].owner)
    }

    /// The thread that has to run so that `thread` continues: itself, or the last one of a chain of calls.
    fn last_called(&self, mut thread: ThreadKey) -> Option<ThreadKey> {
        const LONGEST: usize = 32;
        for _ in 0..LONGEST {
            match self.state.threads[thread.0].activity {
                Activity::Blocked(Blocking::Reply, _) => thread = *self.partner.get(&thread)?,
                _ => return Some(thread),
            }
        }
        None
    }

    /// The thread for whose work of lower priority `thread` waits.
    fn cause(&self, thread: ThreadKey, now: u64) -> Option<ThreadKey> {
        if !self.waiting.contains(&thread) || self.is_out_of_budget(thread, now) {
            return None;
        }
        let last = self.last_called(thread)?;
        let is_sender = matches!(
            self.state.threads[last.0].activity,
            Activity::Blocked(Blocking::Send, _)
        );
        if last != thread && (!self.waits(last) || self.is_out_of_budget(last, now)) {
            return None;
        }
        let core = self.state.core(*self.core.get(&last)?);
        let runs = core.thread?;
        let charged = self.bound(core.context?)?;
        // A sender waits for a server, which works only if it runs on the time of another thread.
        if is_sender && runs == charged {
            return None;
        }
        let priority = |thread: ThreadKey| self.state.threads[thread.0].priority;
        (charged != thread && priority(charged)? < priority(thread)?).then_some(charged)
    }

    /// Begins or ends an inversion of a thread.
    fn judge(&mut self, thread: ThreadKey, now: u64) {
        match self.cause(thread, now) {
            Some(charged) => {
                self.open.entry(thread).or_insert((now, charged));
            }
            None => self.end(thread, now),
        }
    }

    fn end(&mut self, thread: ThreadKey, end: u64) {
        if let Some((start, charged)) = self.open.remove(&thread)
            && start < end
        {
            self.found.push(Inversion {
                start,
                end,
                thread,
                charged,
            });
        }
    }

    fn finish(mut self, end: u64) -> Vec<Inversion> {
        let open: Vec<_> = self.open.keys().copied().collect();
        for thread in open {
            self.end(thread, end);
        }
        self.found
    }
}

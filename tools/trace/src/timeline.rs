//! The lanes of cores, threads and contexts.

use std::collections::{BTreeMap, HashMap};

use trace_format::{End, Event, Kind, Mark, Move, ObjectId};

use crate::gaps::Numbers;
use crate::jobs::mark;
use crate::state::reason_of_move;
use crate::{ContextKey, Core, Known, State, Status, ThreadKey, Trace};

/// A time in which a core does one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its start, in ticks.
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// The core.
    pub core: u8,
    /// The thread that runs; `None`: the core idles.
    pub thread: Option<ThreadKey>,
    /// The context that is charged.
    pub context: Option<ContextKey>,
}

/// When a context moves, the threads that had it before and afterwards, and why.
pub type Moved = (u64, Option<ThreadKey>, Option<ThreadKey>, Option<Move>);

/// A replenishment that is not due when a context gets it. Times and amounts are in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    /// Since when it is pending.
    pub since: u64,
    /// When it is due.
    pub due: u64,
    /// How much it is.
    pub amount: u64,
}

/// A point that a program has marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    /// When, in ticks.
    pub time: u64,
    /// The thread that has marked it.
    pub thread: ThreadKey,
    /// What it says.
    pub mark: Mark,
    /// The number of its task.
    pub task: u32,
    /// The number of the job, a number, or a text.
    pub value: u64,
}

/// A thread over time.
#[derive(Clone, Debug, Default)]
pub struct ThreadLane {
    /// Its name, or its number.
    pub name: String,
    /// Each change of its status.
    pub changes: Vec<(u64, Status)>,
    /// How many timeouts it had.
    pub timeouts: u64,
}

/// A call with which a context was donated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DonatingCall {
    /// The thread to which it was donated.
    pub(crate) server: Option<ThreadKey>,
    /// When it was donated.
    pub(crate) start: u64,
    /// When it returned.
    pub(crate) end: u64,
}

/// A context over time.
#[derive(Clone, Debug, Default)]
pub struct ContextLane {
    /// Its name, or its number.
    pub name: String,
    /// Its last budget and period.
    pub parameters: Option<(u64, u64)>,
    /// When it got parameters.
    pub configured: Vec<u64>,
    /// Its last flags, as in the ABI.
    pub flags: u64,
    /// When it was used.
    pub uses: Vec<Span>,
    /// How much could be used at once: time and amount, between which it falls while it is used.
    pub levels: Vec<(u64, u64)>,
    /// The replenishments that were pending, by their times.
    pub added: Vec<Added>,
    /// Each move.
    pub moves: Vec<Moved>,
    /// When and how its use ended.
    pub ends: Vec<(u64, Option<End>)>,
}

/// All lanes.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The time of the first event.
    pub start: u64,
    /// The end of the trace.
    pub end: u64,
    /// What each core does. The spans of a core follow each other without gaps, but for those in `unknown`.
    pub cores: BTreeMap<u8, Vec<Span>>,
    /// When it is not known what a core does, as events are missing: the core, the start and the end.
    pub unknown: Vec<(u8, u64, u64)>,
    /// The threads, by [`ThreadKey`].
    pub threads: Vec<ThreadLane>,
    /// The contexts, by [`ContextKey`].
    pub contexts: Vec<ContextLane>,
    /// The marks of programs, in the order of time.
    pub marks: Vec<Marked>,
    /// When the jobs that begin next were released, as far as threads have said how late they are.
    pub(crate) released: HashMap<(ThreadKey, u32), u64>,
}

impl Timeline {
    /// The lanes of a trace.
    pub fn of(trace: &Trace) -> Self {
        let mut state = State::default();
        let mut timeline = Self {
            start: trace.start(),
            end: trace.end,
            ..Self::default()
        };
        let mut numbers = Numbers::default();
        for one in &trace.events {
            let event = &one.event;
            if let Some(gap) = numbers.gap_before(one) {
                let time = gap.before.map_or(event.time, |(_, time)| time);
                timeline.end_span(event.core, state.cores.get(&event.core).copied(), time);
                state.forget(event.core, time);
                timeline.set_touched(&state, time);
            }
            let before = state.cores.get(&event.core).copied();
            state.apply(event);
            timeline.make_room(&state);
            let is_known_now = before.map(|core| core.known) != Some(state.core(event.core).known);
            if is_known_now || matches!(event.kind(), Some(Kind::Run | Kind::Use)) {
                timeline.end_span(event.core, before, event.time);
            }
            timeline.note(trace, &mut state, event);
            timeline.set_touched(&state, event.time);
        }
        for (core, last) in state.cores.clone() {
            timeline.end_span(core, Some(last), trace.end);
        }
        for lane in &mut timeline.threads {
            lane.finish(trace.end);
        }
        timeline.marks.sort_by_key(|one| one.time);
        for lane in &mut timeline.contexts {
            lane.added.sort_by_key(|one| one.due);
        }
        for key in 0..state.threads.len() {
            timeline.threads[key].name = state.thread_name(ThreadKey(key), &trace.names);
        }
        for key in 0..state.contexts.len() {
            timeline.contexts[key].name = state.context_name(ContextKey(key), &trace.names);
        }
        timeline
    }

    /// Records the status of the threads that the last event concerned.
    fn set_touched(&mut self, state: &State, time: u64) {
        for key in state.touched() {
            self.threads[key.0].set(time, state.status(*key, time));
        }
    }

    fn make_room(&mut self, state: &State) {
        self.threads
            .resize_with(state.threads.len(), ThreadLane::default);
        self.contexts
            .resize_with(state.contexts.len(), ContextLane::default);
    }

    /// A core stops doing what it does.
    fn end_span(&mut self, core: u8, what: Option<Core>, end: u64) {
        let lane = self.cores.entry(core).or_default();
        let Some(what) = what else { return };
        let span = Span {
            start: what.since,
            end,
            core,
            thread: what.thread,
            context: what.context,
        };
        if span.start >= end {
            return;
        }
        if what.known == Known::Nothing {
            self.unknown.push((core, span.start, end));
            return;
        }
        lane.push(span);
        if let Some(context) = span.context {
            self.contexts[context.0].uses.push(span);
        }
    }

    /// Notes what is drawn besides spans.
    fn note(&mut self, trace: &Trace, state: &mut State, event: &Event) {
        let time = event.time;
        match event.kind() {
            Some(Kind::Configured) => {
                if let Some(context) = state.context(event.subject) {
                    let lane = &mut self.contexts[context.0];
                    lane.parameters = Some((event.a, event.b));
                    lane.configured.push(time);
                }
            }
            Some(Kind::Flags) => {
                if let Some(context) = state.context(event.subject) {
                    self.contexts[context.0].flags = event.a;
                }
            }
            Some(Kind::Head) => {
                if let Some(context) = state.context(event.subject) {
                    let lane = &mut self.contexts[context.0];
                    set_level(&mut lane.levels, time, (event.a, event.b));
                    Pending::of(&mut lane.added, Added::at(time, event)).set_head();
                }
            }
            Some(Kind::Added) => {
                if let Some(context) = state.context(event.subject) {
                    let one = Added::at(time, event);
                    let pending = Pending::of(&mut self.contexts[context.0].added, one);
                    pending.set_last();
                }
            }
            Some(Kind::Moved) => {
                let from = state.thread(ObjectId::in_detail(event.a));
                let to = state.thread(ObjectId::in_detail(event.b));
                if let Some(context) = state.context(event.subject) {
                    let moves = &mut self.contexts[context.0].moves;
                    moves.push((time, from, to, reason_of_move(event)));
                }
            }
            Some(Kind::Exhausted) => {
                if let Some(context) = state.context(event.subject) {
                    let end = End::from_number(event.a);
                    self.contexts[context.0].ends.push((time, end));
                }
            }
            Some(Kind::Timeout) => {
                if let Some(thread) = state.thread(event.subject) {
                    self.threads[thread.0].timeouts += 1;
                }
            }
            Some(Kind::Marked) => {
                if let Some(((mark, task), thread)) = mark(event).zip(state.thread(event.subject)) {
                    let value = event.b;
                    let marked = Marked {
                        time,
                        thread,
                        mark,
                        task,
                        value,
                    };
                    self.mark(marked, time.saturating_sub(trace.ticks(value)));
                }
            }
            _ => {}
        }
        self.make_room(state);
    }

    /// Notes a mark. Where a program says how late its next job begins, that job was released at `before`.
    fn mark(&mut self, one: Marked, before: u64) {
        let task = (one.thread, one.task);
        match one.mark {
            Mark::Late => {
                self.released.insert(task, before);
                return;
            }
            Mark::Begun => {
                let release = self.released.remove(&task);
                self.marks.extend(release.map(|time| Marked {
                    time,
                    mark: Mark::Released,
                    ..one
                }));
            }
            _ => {}
        }
        self.marks.push(one);
    }

    /// The time for which a thread ran.
    pub fn ran(&self, thread: ThreadKey) -> u64 {
        let spans = self.cores.values().flatten();
        let own = spans.filter(|span| span.thread == Some(thread));
        total(own.map(|span| span.end - span.start))
    }
}

/// Records the head replenishment of a context, a time and an amount. It takes the place of one that is still to come;
/// until it is due, nothing can be used.
fn set_level(levels: &mut Vec<(u64, u64)>, now: u64, (due, amount): (u64, u64)) {
    while levels.last().is_some_and(|&(time, _)| time > now) {
        levels.pop();
    }
    if due > now {
        levels.push((now, 0));
    }
    levels.push((due.max(now), amount));
}

impl Added {
    /// That of an event.
    const fn at(since: u64, event: &Event) -> Self {
        Self {
            since,
            due: event.a,
            amount: event.b,
        }
    }
}

/// A replenishment in its place among those that are pending.
struct Pending<'l> {
    list: &'l mut Vec<Added>,
    /// The first that is pending.
    first: usize,
    one: Added,
}

impl<'l> Pending<'l> {
    fn of(list: &'l mut Vec<Added>, mut one: Added) -> Self {
        let past = list.iter().rposition(|other| other.due <= one.since);
        let first = past.map_or(0, |past| past + 1);
        if let Some(same) = list[first..].iter().find(|other| other.due == one.due) {
            one.since = same.since;
        }
        Self { list, first, one }
    }

    /// It is the first one: those before it are merged into it.
    fn set_head(self) {
        let merged = self.list[self.first..].partition_point(|other| other.due <= self.one.due);
        self.list.drain(self.first..self.first + merged);
        if self.one.due > self.one.since {
            self.list.insert(self.first, self.one);
        }
    }

    /// It is the last one.
    fn set_last(self) {
        let before = self.list[self.first..].partition_point(|other| other.due < self.one.due);
        self.list.truncate(self.first + before);
        if self.one.due > self.one.since {
            self.list.push(self.one);
        }
    }
}

/// Records a status from a time on, after earlier ones. A status without duration is not recorded.
pub fn record<S: Copy + PartialEq>(changes: &mut Vec<(u64, S)>, now: u64, status: S) {
    match changes.last_mut() {
        Some((_, last)) if *last == status => {}
        Some((time, last)) if *time == now => {
            *last = status;
            if let [.., (_, before), (_, last)] = &**changes
                && before == last
            {
                changes.pop();
            }
        }
        _ => changes.push((now, status)),
    }
}

impl ThreadLane {
    fn set(&mut self, now: u64, status: Status) {
        self.release_until(now);
        record(&mut self.changes, now, status);
    }

    /// A replenishment that is due by `now` makes the thread ready at its time.
    fn release_until(&mut self, now: u64) {
        if let Some((_, Status::OutOfBudget(time))) = self.changes.last()
            && *time < now
        {
            let time = *time;
            self.changes.push((time, Status::Ready));
        }
    }

    fn finish(&mut self, end: u64) {
        self.release_until(end);
    }

    /// The times with one status: start, end, status. None ends before its start, even if a damaged clock runs backwards.
    pub fn spans(&self, end: u64) -> impl Iterator<Item = (u64, u64, Status)> + '_ {
        let ends = self.changes.iter().skip(1).map(|(time, _)| *time);
        let ends = ends.chain([end]);
        let changes = self.changes.iter().zip(ends);
        changes.map(|((start, status), end)| (*start, end.max(*start), *status))
    }

    /// The longest time for which it was ready and did not run.
    pub fn longest_ready(&self, end: u64) -> u64 {
        let ready = self
            .spans(end)
            .filter(|(.., status)| *status == Status::Ready);
        ready.map(|(start, end, _)| end - start).max().unwrap_or(0)
    }
}

/// The sum of lengths of time, which are anything in a damaged trace.
pub(crate) fn total(lengths: impl Iterator<Item = u64>) -> u64 {
    lengths.fold(0, u64::saturating_add)
}

impl ContextLane {
    /// The time for which it was used.
    pub fn used(&self) -> u64 {
        total(self.uses.iter().map(|span| span.end - span.start))
    }

    /// The longest time between two uses.
    pub fn longest_blackout(&self) -> u64 {
        let pairs = self.uses.windows(2);
        let gaps = pairs.map(|pair| pair[1].start.saturating_sub(pair[0].end));
        gaps.max().unwrap_or(0)
    }

    /// The most that it received in any window of its period; `None` without a period.
    pub fn most_in_a_period(&self) -> Option<u64> {
        let (_, period) = self.parameters.filter(|(_, period)| *period > 0)?;
        Some(most_in_a_window(&self.uses, period, (0, u64::MAX)))
    }

    /// How often it was donated with a call.
    pub fn donations(&self) -> usize {
        let calls = self.moves.iter();
        calls.filter(|(.., why)| *why == Some(Move::Call)).count()
    }

    /// The calls with which it was donated, from each donation to the return, by their ends.
    pub fn calls(&self) -> Vec<(u64, u64)> {
        let calls = self.donations_and_returns().into_iter();
        calls.map(|call| (call.start, call.end)).collect()
    }

    /// The calls with which it was donated, by their ends.
    pub(crate) fn donations_and_returns(&self) -> Vec<DonatingCall> {
        let mut open = Vec::new();
        let mut calls = Vec::new();
        for &(time, from, to, why) in &self.moves {
            match why {
                Some(Move::Call) => open.push((time, from, to)),
                // A return may pass the callers of inner calls.
                Some(Move::Return) => {
                    let call = open.iter().rposition(|(_, caller, _)| *caller == to);
                    let begin = call.map(|call| open[call]);
                    open.truncate(call.unwrap_or(0));
                    calls.extend(begin.map(|(start, _, server)| DonatingCall {
                        server,
                        start,
                        end: time,
                    }));
                }
                _ => {}
            }
        }
        calls
    }
}

/// The most time of spans that follow each other in any window of a length, from one time to another. It suffices to
/// look at the windows that begin with a span.
pub(crate) fn most_in_a_window(spans: &[Span], length: u64, (from, to): (u64, u64)) -> u64 {
    let inside = |span: &Span, to: u64| span.end.min(to).saturating_sub(span.start.max(from));
    let (mut most, mut sum, mut next) = (0, 0_u64, 0);
    for (first, span) in spans.iter().enumerate() {
        let end = span.start.max(from).saturating_add(length).min(to);
        while let Some(span) = spans.get(next).filter(|span| span.start < end) {
            sum = sum.saturating_add(inside(span, to));
            next += 1;
        }
        // The last one may end after the window.
        let last = spans[first..next].last();
        let beyond = last.map_or(0, |last| inside(last, to) - inside(last, end));
        most = most.max(sum.saturating_sub(beyond));
        sum = sum.saturating_sub(inside(span, to));
        next = next.max(first + 1);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::{Span, most_in_a_window, set_level};

    #[test]
    fn the_most_in_a_window_is_found_wherever_it_begins() {
        let span = |(start, end)| Span {
            start,
            end,
            core: 0,
            thread: None,
            context: None,
        };
        let spans = [(0, 2), (10, 13), (15, 19), (40, 55)].map(span);
        let most = |length, range| most_in_a_window(&spans, length, range);
        assert_eq!(most(6, (0, 39)), 4);
        assert_eq!(most(9, (0, 39)), 7);
        assert_eq!(most(15, (0, 39)), 7);
        assert_eq!(most(19, (0, 39)), 9);
        // A span that is longer than the window, and parts of spans.
        assert_eq!(most(10, (0, 100)), 10);
        assert_eq!(most(10, (12, 18)), 4);
        assert_eq!(most(10, (20, 30)), 0);
        assert_eq!(most_in_a_window(&[], 10, (0, 100)), 0);
    }

    #[test]
    fn a_replenishment_that_does_not_come_is_forgotten() {
        let mut levels = Vec::new();
        for (now, head) in [
            (10, (10, 5)),
            (12, (30, 5)),
            (20, (5, 3)),
            (20, (20, 4)),
            (40, (40, 1)),
        ] {
            set_level(&mut levels, now, head);
        }
        assert_eq!(levels, [(10, 5), (12, 0), (20, 3), (20, 4), (40, 1)]);
    }
}

//! Rules that every trace keeps, if the kernel and its tracing are right.
//!
//! Rules about amounts need events with details, and none missing before: after a gap, a rule holds again from the
//! next event that says all it needs to know.

mod donation;

use std::collections::HashMap;

use trace_format::{Event, Kind, Mark, ObjectId};

use crate::gaps::Numbers;
use crate::jobs::mark;
use crate::replenishments::Odd;
use crate::timeline::total;
use crate::{Activity, ContextKey, Gap, Known, Numbered, State, Timeline, Trace, gaps};
use donation::Donations;

/// The longest kernel entry: the kernel's bound, of which the smallest budget is twice as much.
const LONGEST_ENTRY_US: u128 = 10;

/// Where a trace breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// When, in ticks.
    pub time: u64,
    /// What is wrong.
    pub text: String,
}

/// What is known of a context's time.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// The time used since it was charged last; `None` if it is not known how much there was at the start.
    uncharged: Option<u64>,
    /// The time charged since the kernel reported it; `None` if it is not known how much there was at the start.
    unreported: Option<u64>,
    /// The time used when the thread gave up what was left: so much of the next charge is used time.
    given_up: Option<u64>,
    /// The time that the kernel reported before the events said that it was charged: on several cores, the one that
    /// reports may have charged it for another one, whose clock reading is later.
    reported_early: u64,
}

struct Check<'t> {
    trace: &'t Trace,
    state: State,
    accounts: HashMap<ContextKey, Account>,
    donations: Donations,
    /// Whether no event was missing so far.
    is_whole: bool,
    numbers: Numbers,
    /// The number of the last event of each core.
    last: HashMap<u8, u64>,
    /// The time up to which the use of contexts is counted, by core.
    passed: HashMap<u8, u64>,
    complaints: Vec<Complaint>,
    /// Whether a core switches between domains.
    has_domains: bool,
}

/// All complaints about a trace, in the order of time.
pub fn check(trace: &Trace) -> Vec<Complaint> {
    let mut check = Check {
        trace,
        state: State::default(),
        accounts: HashMap::new(),
        donations: Donations::default(),
        is_whole: true,
        numbers: Numbers::default(),
        last: HashMap::new(),
        passed: HashMap::new(),
        complaints: Vec::new(),
        has_domains: trace
            .events
            .iter()
            .any(|one| one.event.kind() == Some(Kind::Domain) && one.event.a != 0),
    };
    for one in &trace.events {
        check.order(one);
        check.pass(&one.event);
        if trace.is_full {
            check.donation(&one.event);
        }
        let known = check.state.core(one.event.core).known;
        check.state.apply(&one.event);
        if trace.is_full {
            check.details(&one.event, known);
            check.deadlines(&one.event);
        }
    }
    check.answers();
    let timeline = Timeline::of(trace);
    check.lanes(&timeline);
    if trace.is_full {
        check.windows(&timeline);
    }
    check.complaints.sort_by_key(|complaint| complaint.time);
    check.complaints
}

impl Check<'_> {
    fn complain(&mut self, time: u64, text: String) {
        self.complaints.push(Complaint { time, text });
    }

    fn name(&self, context: ContextKey) -> String {
        self.state.context_name(context, &self.trace.names)
    }

    /// Events follow each other without gaps, and clocks do not run backwards.
    fn order(&mut self, one: &Numbered) {
        let (number, event) = (one.number, &one.event);
        let (time, core) = (event.time, event.core);
        if event.sequence != number as u16 {
            let sequence = event.sequence;
            let text = format!("event {number} of core {core} has the sequence number {sequence}");
            self.complain(time, text);
        }
        if event.kind().is_none() {
            let kind = event.kind;
            self.complain(
                time,
                format!("event {number} of core {core} has the unknown kind {kind}"),
            );
        }
        if let Some(last) = self.last.insert(core, number)
            && number < last
        {
            self.complain(
                time,
                format!("the clock of core {core} runs backwards at event {last}"),
            );
        }
        if let Some(gap) = self.numbers.gap_before(one) {
            self.forget(gap);
        }
    }

    /// What happened in a gap is not known, and so is what was so before.
    fn forget(
        &mut self,
        Gap {
            core,
            before,
            after,
        }: Gap,
    ) {
        if let (Some((last, time)), Some((number, _))) = (before, after) {
            self.complain(
                time,
                format!("events {last} to {number} of core {core} are missing"),
            );
        }
        self.state.forget(core, before.map_or(0, |(_, time)| time));
        self.accounts.clear();
        self.donations = Donations::default();
        self.is_whole = false;
    }

    /// No job misses its deadline, as far as programs mark it.
    fn deadlines(&mut self, event: &Event) {
        if let Some((Mark::Missed, task)) = mark(event)
            && let Some(thread) = self.state.thread(event.subject)
        {
            let name = self.state.thread_name(thread, &self.trace.names);
            let job = event.b;
            self.complain(
                event.time,
                format!("job {job} of task {task} of {name} has missed its deadline"),
            );
        }
    }

    /// Time passes until `event`: the current context of its core uses it.
    fn pass(&mut self, event: &Event) {
        let core = self.state.core(event.core);
        let since = self.passed.insert(event.core, event.time);
        if let (Some(context), Some(since)) = (core.context, since) {
            let account = self.account(context);
            let passed = event.time.saturating_sub(since);
            account.uncharged = account.uncharged.map(|sum| sum.saturating_add(passed));
        }
    }

    fn account(&mut self, context: ContextKey) -> &mut Account {
        let uncharged = self.is_whole.then_some(0);
        self.accounts.entry(context).or_insert(Account {
            uncharged,
            ..Account::default()
        })
    }

    fn details(&mut self, event: &Event, known: Known) {
        let time = event.time;
        let about_context = event.kind().is_some_and(Kind::is_about_context);
        let context = if about_context {
            self.state.context(event.subject)
        } else {
            None
        };
        match (event.kind(), context) {
            (Some(Kind::ContextCreated), Some(context)) => {
                let account = self.account(context);
                (account.unreported, account.uncharged) = (Some(0), Some(0));
            }
            (Some(Kind::GivenUp), Some(context)) => {
                self.account(context).given_up = Some(event.a);
            }
            (Some(Kind::Charged), Some(context)) => self.charged(time, context, event.a),
            (Some(Kind::Idled), Some(context)) => {
                let account = self.account(context);
                account.unreported = account.unreported.map(|sum| sum.saturating_add(event.a));
            }
            (Some(Kind::Consumed), Some(context)) => {
                let has_several_cores = self.state.cores.len() > 1;
                let account = self.account(context);
                let early = std::mem::take(&mut account.reported_early);
                let charged = account.unreported.replace(0);
                let known = charged.map(|charged| charged.saturating_sub(early));
                if let Some(charged) = charged
                    && has_several_cores
                    && early == 0
                    && event.a > charged
                {
                    account.reported_early = event.a - charged;
                } else {
                    self.reported(time, context, known, event.a);
                }
            }
            (Some(Kind::Head | Kind::Added), Some(context)) => self.replenished(event, context),
            (Some(Kind::Exit), _) => self.exit(event, known),
            _ => {}
        }
    }

    /// What is charged is what was used.
    fn charged(&mut self, time: u64, context: ContextKey, amount: u64) {
        let account = self.account(context);
        let used = account.uncharged.replace(0);
        let expected = account.given_up.take().unwrap_or(amount);
        account.unreported = account.unreported.map(|sum| sum.saturating_add(expected));
        if let Some(used) = used
            && used != expected
        {
            let name = self.name(context);
            let text =
                format!("the context of {name} was used for {used} ticks, and charged {expected}");
            self.complain(time, text);
        }
    }

    /// What the kernel reports as consumed is what was charged.
    fn reported(&mut self, time: u64, context: ContextKey, known: Option<u64>, said: u64) {
        if let Some(known) = known
            && known != said
        {
            let name = self.name(context);
            let text = format!(
                "the kernel says that the context of {name} has consumed {said} ticks, and the events say {known}"
            );
            self.complain(time, text);
        }
    }

    /// No replenishment is larger than the budget, and all add up to it; and what was used comes back one period later, not
    /// sooner.
    fn replenished(&mut self, event: &Event, context: ContextKey) {
        let (name, amount) = (self.name(context), event.b);
        let object = &self.state.contexts[context.0];
        let text = match (object.parameters, object.replenishments.odd()) {
            (Some((budget, _)), _) if amount > budget => format!(
                "a replenishment of the context of {name} has {amount} ticks, and its budget {budget}"
            ),
            (_, Some(Odd::Amount)) => format!(
                "a replenishment of the context of {name} has {amount} ticks, with which they do not add up to the budget"
            ),
            (_, Some(Odd::Early(early))) => format!(
                "a replenishment of the context of {name} comes {early} ticks sooner than a period after its use"
            ),
            _ => return,
        };
        self.complain(event.time, text);
    }

    /// The end of a kernel entry: the thread that runs is the one that the events say; it has a context, and may use
    /// it.
    fn exit(&mut self, event: &Event, known: Known) {
        let core = self.state.core(event.core);
        let thread = self.state.thread(event.subject);
        let context = self.state.context(ObjectId::in_detail(event.a));
        let (time, number) = (event.time, event.core);
        // After a gap, it is known from here on what the core does.
        if known == Known::All && (core.thread, core.context) != (thread, context) {
            self.complain(
                time,
                format!("core {number} runs another thread or context than its events say"),
            );
        }
        let Some(thread) = thread else {
            return self.highest_priority_runs(event, None);
        };
        let Some(context) = context else {
            let name = self.state.thread_name(thread, &self.trace.names);
            return self.complain(time, format!("{name} runs without a scheduling context"));
        };
        let object = &self.state.contexts[context.0];
        let is_round_robin = object.parameters.is_none_or(|(_, period)| period == 0);
        if let Some((head, amount)) = object.replenishments.head()
            && !is_round_robin
            && (head > time || amount == 0)
        {
            let text = format!(
                "the context of {} is used before its replenishment",
                self.name(context)
            );
            self.complain(time, text);
        }
        self.highest_priority_runs(event, Some(thread.0));
    }

    /// No thread that can run has a higher priority than the one that does, and none can if the core idles. Only where no
    /// criticality level and no domain decides.
    fn highest_priority_runs(&mut self, event: &Event, running: Option<usize>) {
        let is_level_0 = self.state.cores.values().all(|core| core.level == 0);
        // On several cores a ready thread may belong to another one, and with several domains to another domain.
        if !is_level_0 || self.has_domains || self.state.cores.len() > 1 {
            return;
        }
        let own = running.map(|running| self.state.threads[running].priority);
        if own == Some(None) {
            return;
        }
        let waits = self.state.threads.iter().position(|thread| {
            let due = thread.postponed.is_none_or(|until| until < event.time);
            let context = thread
                .context
                .map(|context| &self.state.contexts[context.0]);
            let has_budget = context.is_some_and(|context| {
                context.parameters.is_some_and(|(budget, _)| budget > 0)
                    && context
                        .replenishments
                        .head()
                        .is_some_and(|(head, _)| head < event.time)
            });
            thread.activity == Activity::Runnable
                && !thread.deleted
                && thread.runs_on.is_none()
                && due
                && has_budget
                && thread
                    .priority
                    .is_some_and(|priority| Some(Some(priority)) > own)
        });
        if let Some(waits) = waits {
            let name = |key| {
                self.state
                    .thread_name(crate::ThreadKey(key), &self.trace.names)
            };
            let waits = name(waits);
            let text = match running {
                Some(running) => {
                    let running = name(running);
                    format!("{running} runs, and {waits} could and has a higher priority")
                }
                None => format!("core {} idles, and {waits} could run", event.core),
            };
            self.complain(event.time, text);
        }
    }

    /// At the end, the kernel answers what the events say.
    fn answers(&mut self) {
        for answer in self.trace.answers.clone() {
            let Some(context) = self.state.context(answer.context) else {
                continue;
            };
            let account = *self.account(context);
            let known = account
                .unreported
                .zip(account.uncharged)
                .map(|(sum, uncharged)| sum.saturating_add(uncharged))
                .map(|sum| sum.saturating_sub(account.reported_early));
            self.reported(self.trace.end, context, known, answer.consumed);
        }
    }

    /// The lane of a core has no gaps, but where events are missing: its spans add up to the time since its first event.
    fn lanes(&mut self, timeline: &Timeline) {
        for (core, spans) in &timeline.cores {
            let first = self.trace.events.iter().find(|one| one.event.core == *core);
            let mut end = first.map_or(timeline.end, |one| one.event.time);
            for span in spans {
                if span.start != end && !timeline.unknown.contains(&(*core, end, span.start)) {
                    let text =
                        format!("it is not known what core {core} does until {}", span.start);
                    self.complain(end, text);
                }
                end = span.end;
            }
            if end != timeline.end && !timeline.unknown.contains(&(*core, end, timeline.end)) {
                self.complain(
                    end,
                    format!("it is not known what core {core} does at the end"),
                );
            }
        }
    }

    /// With constant bandwidth, no window of a period supplies more than the budget. It suffices to look at the windows
    /// that begin with a use. The kernel entry that ends a budget begins at its end, and lasts a while: that time is
    /// taken from the next replenishment.
    fn windows(&mut self, timeline: &Timeline) {
        const SPORADIC: u64 = 1;
        let entry = (u128::from(self.trace.frequency) * LONGEST_ENTRY_US / 1_000_000) as u64;
        let gaps = gaps(self.trace);
        for lane in &timeline.contexts {
            let Some((budget, period)) = lane.parameters.filter(|(_, period)| *period > 0) else {
                continue;
            };
            // Those of several budgets are not looked at.
            let &[since] = &lane.configured[..] else {
                continue;
            };
            if lane.flags & SPORADIC != 0 {
                continue;
            }
            // In a gap it may have got another one.
            let gaps = gaps.iter().filter_map(|gap| gap.before);
            let until = gaps.map(|(_, time)| time).find(|time| *time >= since);
            let until = until.unwrap_or(u64::MAX);
            let starts = lane.uses.iter().map(|span| span.start);
            for (first, start) in starts.take_while(|start| *start < until).enumerate() {
                let end = start.saturating_add(period).min(until);
                let uses = lane.uses[first..]
                    .iter()
                    .take_while(|span| span.start < end);
                let used = total(uses.map(|span| span.end.min(end) - span.start));
                if used > budget.saturating_add(entry) {
                    let name = &lane.name;
                    let text = format!(
                        "the context of {name} supplies {used} ticks within a period, and its budget is {budget}"
                    );
                    self.complain(start, text);
                    break;
                }
            }
        }
    }
}

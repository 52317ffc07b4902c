//! The states of threads, contexts and cores, rebuilt from the events up to some time.

use std::collections::{BTreeMap, HashMap};

use trace_format::{Blocking, Event, Kind, Move, ObjectId};

use crate::replenishments::Replenishments;

/// A thread of a [`State`]. Objects of different times may have one number, and have different keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadKey(pub usize);

/// A context of a [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContextKey(pub usize);

/// What a thread does, apart from whether it gets the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activity {
    /// No event has told yet.
    #[default]
    Unknown,
    /// It can run.
    Runnable,
    /// It is blocked on an object.
    Blocked(Blocking, ObjectId),
    /// It is stopped.
    Stopped,
}

/// The status of a thread at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No event has told yet.
    Unknown,
    /// It runs on a context.
    Runs(Option<ContextKey>),
    /// It can run, and another thread does.
    Ready,
    /// It can run, and waits for a replenishment at this time.
    OutOfBudget(u64),
    /// It can run, and has no context.
    Passive,
    /// It is blocked.
    Blocked(Blocking),
    /// It is stopped, or deleted.
    Stopped,
}

/// A thread.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// Its number.
    pub id: ObjectId,
    /// Its name, if an event has told it.
    pub name: Option<String>,
    /// What it does.
    pub activity: Activity,
    /// The context that it has.
    pub context: Option<ContextKey>,
    /// The time of the replenishment that it waits for.
    pub postponed: Option<u64>,
    /// Its priority, if an event has told it.
    pub priority: Option<u8>,
    /// The core that runs it.
    pub runs_on: Option<u8>,
    /// Whether it is deleted.
    pub deleted: bool,
}

/// A scheduling context.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Its number.
    pub id: ObjectId,
    /// Budget and period, if an event has told them.
    pub parameters: Option<(u64, u64)>,
    /// Its flags, as in the ABI.
    pub flags: u64,
    /// Its replenishments.
    pub replenishments: Replenishments,
    /// The thread that has it.
    pub thread: Option<ThreadKey>,
    /// The thread that it was bound to first.
    pub owner: Option<ThreadKey>,
    /// Whether it is deleted.
    pub deleted: bool,
}

/// How much is known of what a core does. Where events are missing, that is nothing until a later one shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Known {
    /// Nothing.
    Nothing,
    /// Its thread, or its context.
    Part,
    /// Everything.
    #[default]
    All,
}

/// A core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Core {
    /// How much is known of its thread and its context.
    pub known: Known,
    /// The thread that it runs.
    pub thread: Option<ThreadKey>,
    /// The context that is charged.
    pub context: Option<ContextKey>,
    /// Since when both are so.
    pub since: u64,
    /// Its criticality level.
    pub level: u8,
    /// Its domain.
    pub domain: u8,
}

/// The states of all objects.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The threads, by [`ThreadKey`].
    pub threads: Vec<Thread>,
    /// The contexts, by [`ContextKey`].
    pub contexts: Vec<Context>,
    /// The cores.
    pub cores: BTreeMap<u8, Core>,
    current_threads: HashMap<ObjectId, ThreadKey>,
    current_contexts: HashMap<ObjectId, ContextKey>,
    /// The threads that the last event concerns.
    touched: Vec<ThreadKey>,
}

impl State {
    /// The thread that has a number now; `None` for no thread.
    pub fn thread(&mut self, id: ObjectId) -> Option<ThreadKey> {
        if id == ObjectId::NONE {
            return None;
        }
        let key = *self.current_threads.entry(id).or_insert_with(|| {
            let thread = Thread {
                id,
                ..Thread::default()
            };
            self.threads.push(thread);
            ThreadKey(self.threads.len() - 1)
        });
        self.touched.push(key);
        Some(key)
    }

    /// The context that has a number now; `None` for no context.
    pub fn context(&mut self, id: ObjectId) -> Option<ContextKey> {
        if id == ObjectId::NONE {
            return None;
        }
        Some(*self.current_contexts.entry(id).or_insert_with(|| {
            let context = Context {
                id,
                ..Context::default()
            };
            self.contexts.push(context);
            ContextKey(self.contexts.len() - 1)
        }))
    }

    /// The threads that the last event concerns.
    pub fn touched(&self) -> &[ThreadKey] {
        &self.touched
    }

    /// Events of a core are missing after `time`: they may have been about any thread and any context. Names are kept, and
    /// so are the domain and the level of the core, and what other cores run.
    pub fn forget(&mut self, core: u8, time: u64) {
        let unknown = Core {
            known: Known::Nothing,
            thread: None,
            context: None,
            since: time,
            ..self.core(core)
        };
        self.cores.insert(core, unknown);
        for thread in &mut self.threads {
            *thread = Thread {
                id: thread.id,
                name: thread.name.take(),
                deleted: thread.deleted,
                ..Thread::default()
            };
        }
        for context in &mut self.contexts {
            *context = Context {
                id: context.id,
                owner: context.owner,
                deleted: context.deleted,
                ..Context::default()
            };
        }
        for (number, core) in self.cores.clone() {
            if let Some(thread) = core.thread {
                self.run(number, thread);
            }
        }
        self.touched.clear();
        self.touched.extend((0..self.threads.len()).map(ThreadKey));
    }

    /// A thread runs on a core from now on.
    fn run(&mut self, core: u8, thread: ThreadKey) {
        let thread = &mut self.threads[thread.0];
        (thread.runs_on, thread.postponed) = (Some(core), None);
        thread.activity = Activity::Runnable;
    }

    /// Applies an event.
    pub fn apply(&mut self, event: &Event) {
        self.touched.clear();
        let first = Core {
            since: event.time,
            ..Core::default()
        };
        self.cores.entry(event.core).or_insert(first);
        let Some(kind) = event.kind() else { return };
        match kind {
            Kind::Run | Kind::Use | Kind::Level | Kind::Domain => self.apply_to_core(kind, event),
            Kind::Exit => self.learn(event),
            _ if kind.is_about_context() => self.apply_to_context(kind, event),
            _ => self.apply_to_thread(kind, event),
        }
    }

    /// What a core does is known again at the end of a kernel entry.
    fn learn(&mut self, event: &Event) {
        let core = self.core(event.core);
        if core.known == Known::All {
            return;
        }
        for (kind, subject) in [
            (Kind::Run, event.subject),
            (Kind::Use, ObjectId::in_detail(event.a)),
        ] {
            self.apply_to_core(kind, &Event { subject, ..*event });
        }
        if let Some(core) = self.cores.get_mut(&event.core) {
            core.known = Known::All;
        }
    }

    fn apply_to_core(&mut self, kind: Kind, event: &Event) {
        let mut core = self.core(event.core);
        match kind {
            Kind::Run => {
                if let Some(before) = core.thread {
                    self.threads[before.0].runs_on = None;
                    self.touched.push(before);
                }
                core.thread = self.thread(event.subject);
                if let Some(next) = core.thread {
                    self.run(event.core, next);
                }
                core.since = event.time;
                core.known = core.known.max(Known::Part);
            }
            Kind::Use => {
                core.context = self.context(event.subject);
                self.touched.extend(core.thread);
                core.since = event.time;
                core.known = core.known.max(Known::Part);
                if let (Some(thread), Some(context)) = (core.thread, core.context) {
                    self.give(context, Some(thread));
                }
            }
            Kind::Level => core.level = event.a as u8,
            _ => core.domain = event.a as u8,
        }
        self.cores.insert(event.core, core);
    }

    /// A context is with a thread from now on.
    fn give(&mut self, context: ContextKey, to: Option<ThreadKey>) {
        if let Some(before) = self.contexts[context.0].thread.take() {
            self.threads[before.0].context = None;
            self.touched.push(before);
        }
        if let Some(to) = to {
            if let Some(before) = self.threads[to.0].context.replace(context) {
                self.contexts[before.0].thread = None;
            }
            self.touched.push(to);
        }
        let context = &mut self.contexts[context.0];
        context.thread = to;
        context.owner = context.owner.or(to);
    }

    fn apply_to_context(&mut self, kind: Kind, event: &Event) {
        if kind == Kind::ContextCreated {
            self.current_contexts.remove(&event.subject);
        }
        let Some(key) = self.context(event.subject) else {
            return;
        };
        let context = &mut self.contexts[key.0];
        let replenishments = &mut context.replenishments;
        let one = (event.a, event.b);
        if let Kind::Configured | Kind::Charged | Kind::Head | Kind::Added | Kind::Idled = kind {
            replenishments.told_by(event.core);
        }
        match kind {
            Kind::Configured => {
                context.parameters = Some(one);
                replenishments.configured(event.a, event.b);
            }
            Kind::Flags => context.flags = event.a,
            Kind::Charged => replenishments.charged(event.a),
            Kind::Head => replenishments.head_is(one),
            Kind::Added => replenishments.last_is(one),
            // Since when it was charged, no event tells.
            Kind::Idled => replenishments.forget(),
            Kind::Moved => {
                let to = self.thread(ObjectId::in_detail(event.b));
                self.thread(ObjectId::in_detail(event.a));
                self.give(key, to);
            }
            Kind::ContextDeleted => {
                context.deleted = true;
                self.give(key, None);
                self.current_contexts.remove(&event.subject);
            }
            _ => {}
        }
    }

    fn apply_to_thread(&mut self, kind: Kind, event: &Event) {
        if kind == Kind::ThreadCreated {
            self.current_threads.remove(&event.subject);
        }
        let Some(key) = self.thread(event.subject) else {
            return;
        };
        let thread = &mut self.threads[key.0];
        match kind {
            Kind::ThreadCreated | Kind::Stopped => thread.activity = Activity::Stopped,
            Kind::Woken => thread.activity = Activity::Runnable,
            Kind::Blocked => {
                if let Some(what) = Blocking::from_number(event.a) {
                    let object = ObjectId::in_detail(event.b);
                    thread.activity = Activity::Blocked(what, object);
                    thread.postponed = None;
                }
            }
            Kind::Postponed => thread.postponed = Some(event.a),
            Kind::Priority => thread.priority = Some(event.a as u8),
            Kind::Named => thread.name = Some(name(event)),
            Kind::ThreadDeleted => {
                (thread.deleted, thread.activity) = (true, Activity::Stopped);
                self.current_threads.remove(&event.subject);
            }
            _ => {}
        }
    }

    /// What is known of a core.
    pub fn core(&self, number: u8) -> Core {
        self.cores.get(&number).copied().unwrap_or_default()
    }

    /// The status of a thread at a time, if no event comes before it.
    pub fn status(&self, thread: ThreadKey, now: u64) -> Status {
        let thread = &self.threads[thread.0];
        match thread.activity {
            _ if thread.deleted => Status::Stopped,
            _ if thread.runs_on.is_some() => {
                let core = thread.runs_on.and_then(|core| self.cores.get(&core));
                Status::Runs(core.and_then(|core| core.context))
            }
            Activity::Unknown => Status::Unknown,
            Activity::Stopped => Status::Stopped,
            Activity::Blocked(what, _) => Status::Blocked(what),
            Activity::Runnable if thread.context.is_none() => Status::Passive,
            Activity::Runnable => match thread.postponed {
                Some(time) if time > now => Status::OutOfBudget(time),
                _ => Status::Ready,
            },
        }
    }

    /// The name of a thread, or its number.
    pub fn thread_name(&self, key: ThreadKey, names: &HashMap<ObjectId, String>) -> String {
        let thread = &self.threads[key.0];
        let name = names.get(&thread.id).or(thread.name.as_ref());
        let name = name.filter(|name| !name.is_empty());
        name.map_or_else(|| format!("thread {:x}", thread.id.0), Clone::clone)
    }

    /// The name of a context: its own, that of the thread that had it first, or its number.
    pub fn context_name(&self, key: ContextKey, names: &HashMap<ObjectId, String>) -> String {
        let context = &self.contexts[key.0];
        match (names.get(&context.id), context.owner) {
            (Some(name), _) => name.clone(),
            (None, Some(owner)) => self.thread_name(owner, names),
            (None, None) => format!("context {:x}", context.id.0),
        }
    }
}

/// The name in a [`Kind::Named`] event.
fn name(event: &Event) -> String {
    text(&[event.a.to_le_bytes(), event.b.to_le_bytes()].concat())
}

/// The text in the bytes of an event, up to the first zero.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}

/// The reason in a [`Kind::Moved`] event.
pub(crate) fn reason_of_move(event: &Event) -> Option<Move> {
    Move::from_number(event.a >> 32)
}

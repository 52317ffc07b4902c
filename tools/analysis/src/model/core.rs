//! The threads of one core, the servers that they call, and their contexts.

use crate::fault::{self, Fault};
use crate::{Error, Result, Time};

use super::{Context, MOST, Task};

/// A thread's priority; 255 is the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub u8);

/// The place of a server in [`Core::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ServerId(pub usize);

/// Calls of a server, in each job or each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which server.
    pub server: ServerId,
    /// How often.
    pub count: u32,
    /// How long the server itself works for a call, without the servers that it calls in turn.
    pub length: Time,
}

/// A passive server, which runs on the contexts of its callers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name, for messages.
    pub name: String,
    /// Its priority, the ceiling of those of its callers.
    pub ceiling: Priority,
    /// The threshold of its endpoint.
    pub threshold: Option<Time>,
    /// What it calls for each request.
    pub calls: Vec<Call>,
    /// Whether a request whose budget is used up ends at once: a timeout handler of higher priority than all callers
    /// answers the caller and makes the server ready again.
    pub aborts: bool,
}

/// Waiting of a job between its release and its end, for servers that have time of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// How often.
    pub count: u32,
    /// For how long in all.
    pub time: Time,
    /// Whether the waiting is charged to the thread's context (an idling context).
    pub is_charged: bool,
}

/// A thread: a task with a priority, and where its time comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its jobs. Their cost is without the servers that they call.
    pub task: Task,
    /// Its priority.
    pub priority: Priority,
    /// Its scheduling context; without one, its budget has no limit.
    pub context: Option<Context>,
    /// The servers that each job calls.
    pub calls: Vec<Call>,
    /// How each job waits.
    pub waits: Waits,
}

impl Thread {
    /// A thread without limit, without calls, and without waiting.
    pub fn new(task: Task, priority: Priority) -> Self {
        let (context, calls) = (None, Vec::new());
        Self {
            task,
            priority,
            context,
            calls,
            waits: Waits::default(),
        }
    }
}

/// The threads and servers of one core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core {
    threads: Vec<Thread>,
    servers: Vec<Server>,
    kernel: Time,
    /// The longest section of the kernel that delays a thread when it is released.
    section: Time,
    /// What each server's calls take for one request.
    nested: Vec<Caused>,
}

/// What calls cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Caused {
    /// Execution.
    execution: Time,
    /// Budget that may be left unused, because thresholds defer the calls.
    deferred: Time,
}

impl Core {
    /// A core with these threads and servers. `kernel` is the smallest budget: what a replenishment loses to entering
    /// and leaving the kernel.
    ///
    /// # Errors
    /// If a call names no server, servers call each other in a cycle, a ceiling is below a caller's priority, calls
    /// take more than [`Time::LONGEST`] in all, or there are too many threads or servers.
    pub fn new(threads: Vec<Thread>, servers: Vec<Server>, kernel: Time) -> Result<Self> {
        let possible = |time: &Time| (Time::ZERO..=Time::LONGEST).contains(time);
        if threads.len() > MOST || servers.len() > MOST || !possible(&kernel) {
            let why =
                format!("more than {MOST} threads or servers, or {kernel} for a kernel entry");
            return Err(Error::impossible("core", why));
        }
        let thresholds = servers.iter().filter_map(|server| server.threshold);
        if let Some(threshold) = thresholds.into_iter().find(|time| !possible(time)) {
            let why = format!("a threshold of {threshold} is impossible");
            return Err(Error::impossible("core", why));
        }
        let mut core = Self {
            nested: Vec::new(),
            threads,
            servers,
            kernel,
            section: Time::ZERO,
        };
        core.nested = core.nest()?;
        for thread in &core.threads {
            let name = format!("task `{}`", thread.task.name());
            if !possible(&thread.waits.time) {
                let why = format!("it cannot wait for {}", thread.waits.time);
                return Err(Error::impossible(name, why));
            }
            core.caused(&name, thread.priority, &thread.calls, &core.nested)?;
        }
        Ok(core)
    }

    /// The same with a longest section of the kernel: a released thread is delayed by one that has begun for a thread
    /// of lower priority.
    ///
    /// # Errors
    /// If it is negative or above [`Time::LONGEST`].
    pub fn with_section(mut self, section: Time) -> Result<Self> {
        if !(Time::ZERO..=Time::LONGEST).contains(&section) {
            let why = format!("a section of {section} in the kernel is impossible");
            return Err(Error::impossible("core", why));
        }
        self.section = section;
        Ok(self)
    }

    /// What each server's calls cause. A server is done when all that it calls are; if none can be done, there is a
    /// cycle.
    fn nest(&self) -> Result<Vec<Caused>> {
        let mut nested = vec![Caused::default(); self.servers.len()];
        let mut done = vec![false; self.servers.len()];
        loop {
            let is_ready = |server: &Server| {
                let mut calls = server.calls.iter();
                // A server that does not exist is complained about below.
                calls.all(|call| done.get(call.server.0).copied().unwrap_or(true))
            };
            let left = || (0..self.servers.len()).filter(|place| !done[*place]);
            let Some(place) = left().find(|place| is_ready(&self.servers[*place])) else {
                break;
            };
            let server = &self.servers[place];
            let name = format!("server `{}`", server.name);
            nested[place] = self.caused(&name, server.ceiling, &server.calls, &nested)?;
            done[place] = true;
        }
        match done.iter().position(|done| !done) {
            None => Ok(nested),
            Some(place) => Err(Error::impossible(
                format!("server `{}`", self.servers[place].name),
                "its calls lead to a server that waits for its own reply; break the cycle",
            )),
        }
    }

    /// What calls of a thread or server of some priority cause.
    fn caused(
        &self,
        name: &str,
        priority: Priority,
        calls: &[Call],
        nested: &[Caused],
    ) -> Result<Caused> {
        let complain = |why: String| Err(Error::impossible(name, why));
        let mut all = Caused::default();
        for call in calls {
            let Some((server, nested)) = self
                .servers
                .get(call.server.0)
                .zip(nested.get(call.server.0))
            else {
                return complain(format!(
                    "it calls server {}, which does not exist",
                    call.server.0
                ));
            };
            if server.ceiling < priority {
                return complain(format!(
                    "it has priority {}, and the server `{}` that it calls only {}; raise the server's",
                    priority.0, server.name, server.ceiling.0
                ));
            }
            if !(Time::ZERO..=Time::LONGEST).contains(&call.length) {
                return complain(format!("a request of {} is impossible", call.length));
            }
            let count = i128::from(call.count);
            let threshold = server.threshold.map(|threshold| threshold + self.kernel);
            all.execution += (call.length + nested.execution) * count;
            all.deferred += (threshold.unwrap_or_default() + nested.deferred) * count;
            if all.execution > Time::LONGEST || all.deferred > Time::LONGEST {
                return complain(format!(
                    "its calls take {}, and thresholds can defer them for {}; at most {} can be analysed",
                    all.execution,
                    all.deferred,
                    Time::LONGEST
                ));
            }
        }
        Ok(all)
    }

    /// The threads.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// The servers.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// What a replenishment loses to entering and leaving the kernel.
    pub fn kernel(&self) -> Time {
        self.kernel
    }

    /// The longest section of the kernel.
    pub fn section(&self) -> Time {
        self.section
    }

    /// The server that a call names.
    pub fn server(&self, call: &Call) -> &Server {
        &self.servers[call.server.0]
    }

    /// The execution that one call causes: the server's and that of the servers that it calls.
    pub fn request(&self, call: &Call) -> Time {
        let nested = self.nested[call.server.0].execution;
        call.length + fault::unless(Fault::NestedRequests, nested)
    }

    /// The execution that calls cause.
    pub fn requests(&self, calls: &[Call]) -> Time {
        let all = |call: &Call| self.request(call) * i128::from(call.count);
        calls.iter().map(all).sum()
    }

    /// The budget that a job may leave unused, because thresholds defer its calls: each at most its threshold.
    pub(crate) fn deferred(&self, thread: usize) -> Time {
        let of = |call: &Call| {
            let threshold = self.server(call).threshold.map(|time| time + self.kernel);
            let nested = self.nested[call.server.0].deferred;
            (threshold.unwrap_or_default() + nested) * i128::from(call.count)
        };
        self.threads[thread].calls.iter().map(of).sum()
    }

    /// The execution of a job at a level of assurance, with the servers that it calls: with donation, all of it is
    /// charged to the thread's context.
    pub fn demand_at(&self, thread: usize, level: usize) -> Time {
        let thread = &self.threads[thread];
        thread.task.cost_at(level) + fault::unless(Fault::Requests, self.requests(&thread.calls))
    }

    /// The execution of a job at the thread's own level, with the servers that it calls.
    pub fn demand(&self, thread: usize) -> Time {
        self.demand_at(thread, usize::MAX)
    }

    /// The processor time that a job must find free: its execution and its waiting, which counts like execution.
    pub fn occupied(&self, thread: usize) -> Time {
        self.demand(thread) + self.threads[thread].waits.time
    }

    /// All calls that a thread causes, each once, however often it happens.
    pub(crate) fn all_calls(&self, thread: usize) -> Vec<&Call> {
        let mut calls: Vec<&Call> = self.threads[thread].calls.iter().collect();
        let mut known = vec![false; self.servers.len()];
        let mut next = 0;
        while let Some(call) = calls.get(next) {
            let server = call.server.0;
            if !std::mem::replace(&mut known[server], true) {
                calls.extend(&self.servers[server].calls);
            }
            next += 1;
        }
        calls
    }
}

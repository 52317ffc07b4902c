//! The threads of one core, the servers that they call, and their contexts.

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
}

impl Thread {
    /// A thread without limit and without calls.
    pub fn new(task: Task, priority: Priority) -> Self {
        let (context, calls) = (None, Vec::new());
        Self {
            task,
            priority,
            context,
            calls,
        }
    }
}

/// The threads and servers of one core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core {
    threads: Vec<Thread>,
    servers: Vec<Server>,
    kernel: Time,
}

impl Core {
    /// A core with these threads and servers. `kernel` is the smallest budget: what a replenishment loses to entering
    /// and leaving the kernel.
    ///
    /// # Errors
    /// If a call names no server, servers call each other in a cycle, a ceiling is below a caller's priority, a
    /// request takes more than [`Time::LONGEST`] in all, or there are too many threads.
    pub fn new(threads: Vec<Thread>, servers: Vec<Server>, kernel: Time) -> Result<Self> {
        let core = Self {
            threads,
            servers,
            kernel,
        };
        if core.threads.len() > MOST || !(Time::ZERO..=Time::LONGEST).contains(&kernel) {
            let why = format!("more than {MOST} threads, or {kernel} for a kernel entry");
            return Err(Error::impossible("core", why));
        }
        for thread in &core.threads {
            let name = format!("task `{}`", thread.task.name());
            core.check(&name, thread.priority, &thread.calls, &mut Vec::new())?;
        }
        for server in &core.servers {
            let name = format!("server `{}`", server.name);
            core.check(&name, server.ceiling, &server.calls, &mut Vec::new())?;
        }
        Ok(core)
    }

    /// Checks the calls of a thread or server, and those of the servers that it calls.
    fn check(
        &self,
        name: &str,
        priority: Priority,
        calls: &[Call],
        callers: &mut Vec<ServerId>,
    ) -> Result<()> {
        for call in calls {
            let complain = |why: String| Err(Error::impossible(name, why));
            let Some(server) = self.servers.get(call.server.0) else {
                return complain(format!(
                    "it calls server {}, which does not exist",
                    call.server.0
                ));
            };
            if callers.contains(&call.server) {
                return complain(format!(
                    "its calls lead to `{}` a second time, which would wait for itself; break the cycle",
                    server.name
                ));
            }
            if server.ceiling < priority {
                return complain(format!(
                    "it has priority {}, and the server `{}` that it calls only {}; raise the server's",
                    priority.0, server.name, server.ceiling.0
                ));
            }
            callers.push(call.server);
            self.check(
                &format!("server `{}`", server.name),
                server.ceiling,
                &server.calls,
                callers,
            )?;
            callers.pop();
            let request = self.request(call);
            let all = request * i128::from(call.count);
            if call.length < Time::ZERO || call.length > Time::LONGEST || all > Time::LONGEST {
                return complain(format!(
                    "{} calls of `{}` take {all}; at most {} can be analysed",
                    call.count,
                    server.name,
                    Time::LONGEST
                ));
            }
        }
        Ok(())
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

    /// The server that a call names.
    pub fn server(&self, call: &Call) -> &Server {
        &self.servers[call.server.0]
    }

    /// The execution that one call causes: the server's and that of the servers that it calls.
    pub fn request(&self, call: &Call) -> Time {
        call.length + self.requests(&self.server(call).calls)
    }

    /// The execution that calls cause.
    pub fn requests(&self, calls: &[Call]) -> Time {
        let all = |call: &Call| self.request(call) * i128::from(call.count);
        calls.iter().map(all).sum()
    }

    /// The execution of a job at a level of assurance, with the servers that it calls: with donation, all of it is
    /// charged to the thread's context.
    pub fn demand_at(&self, thread: usize, level: usize) -> Time {
        let thread = &self.threads[thread];
        thread.task.cost_at(level) + self.requests(&thread.calls)
    }

    /// The execution of a job at the thread's own level, with the servers that it calls.
    pub fn demand(&self, thread: usize) -> Time {
        self.demand_at(thread, usize::MAX)
    }

    /// All calls that these cause, nested ones included.
    pub(crate) fn all_calls<'a>(&'a self, calls: &'a [Call], found: &mut Vec<&'a Call>) {
        for call in calls {
            found.push(call);
            self.all_calls(&self.server(call).calls, found);
        }
    }
}

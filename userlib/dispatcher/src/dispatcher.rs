//! The scheduler's loop.

use schedulers::{
    Admission, Cluster, Completion, Core, Duration, Instant, Mode, Refusal, Task, TaskId,
};
use userlib::cap::{Endpoint, Reply, SchedControl};
use userlib::thread::ThreadParameters;
use userlib::{Capability, Environment, Error, Fault, Received, Result, Rights};

use crate::job::{Arrivals, Job, label};
use crate::source::{Inbox, Local, Source};
use crate::worker::{SLICE, State, Worker};

/// The longest time between two decisions: kernels refuse times that their clocks cannot reach.
const LONGEST_TURN: Duration = Duration(1_000_000);

/// By less than this a job may exceed its budget: a multiple of what a decision costs on a debug kernel.
const GRAIN: Duration = Duration(100);

/// What happened, for the program around the dispatcher.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A job is completed.
    Completed(TaskId, Completion),
    /// A job has used its budget.
    Overrun(TaskId),
    /// A job has ended without completion, or its arrival is dropped.
    Aborted(TaskId),
    /// The cluster is in another mode now.
    Switched(Mode),
    /// The cluster refused what a thread reported of this task.
    Refused(TaskId, schedulers::Error),
    /// The thread of a task has faulted. The task is removed.
    Faulted(TaskId, Fault),
    /// A message that does not come from a task. If it is a call, its caller waits for the reply.
    Message(Received, Reply),
}

/// Why a task is not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAdded<R> {
    /// The cluster refuses it.
    Refused(Refusal<R>),
    /// The kernel refuses its thread.
    Kernel(Error),
}

impl<R> From<Error> for NotAdded<R> {
    fn from(error: Error) -> Self {
        Self::Kernel(error)
    }
}

/// How often something happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Decisions of the cluster.
    pub decisions: u64,
    /// Jobs that began or continued on a core which had run something else.
    pub dispatches: u64,
    /// Jobs, or parts of them, on another core than their task's last.
    pub migrations: u64,
}

/// What a dispatcher needs beside its cluster.
#[derive(Clone, Copy, Debug)]
pub struct Configuration<const CORES: usize> {
    /// The right to configure contexts on each core; the scheduler's own core is the first.
    pub controls: [SchedControl; CORES],
    /// The priority of tasks whose turn it is. The scheduler's must be higher by two; a thread that continues after
    /// waiting has the priority between them for an instant. The priority below runs when no job is ready.
    pub priority: u8,
}

/// Runs the threads of a cluster's tasks.
pub struct Dispatcher<const CORES: usize, const TASKS: usize, S> {
    pub(crate) cluster: Cluster<CORES, TASKS>,
    pub(crate) workers: [Option<Worker>; TASKS],
    /// The task whose job each core runs.
    pub(crate) running: [Option<TaskId>; CORES],
    pub(crate) configuration: Configuration<CORES>,
    events: Endpoint,
    /// Takes the next call.
    spare: Reply,
    /// Runs on the scheduler's core when no job does.
    idle: Worker,
    source: S,
    pub(crate) now: Instant,
    pub(crate) counts: Counts,
}

impl<const CORES: usize, const TASKS: usize, S: Source> Dispatcher<CORES, TASKS, S> {
    /// The badge of the thread that runs when no job does. Those of tasks are below, and not 0.
    const IDLE: usize = TASKS + 1;

    /// A dispatcher for a cluster without tasks. `source` makes the source of time; it gets a context on the
    /// scheduler's core.
    pub fn new(
        environment: &mut Environment,
        mut cluster: Cluster<CORES, TASKS>,
        configuration: Configuration<CORES>,
        source: impl FnOnce(&mut Environment, userlib::cap::SchedContext) -> Result<S>,
    ) -> Result<Self> {
        cluster.set_grain(GRAIN);
        let events: Endpoint = environment.allocator.create()?;
        let idle = configuration.priority - 1;
        // Without a hint that it spins, on which emulators pause.
        let mut idle = worker(environment, events, Self::IDLE, idle, || {
            loop {
                core::hint::black_box(());
            }
        })?;
        idle.thread.set_name("idle");
        idle.proceed()?;
        let mut source = source(environment, idle.thread.sched_context)?;
        Ok(Self {
            cluster,
            workers: [const { None }; TASKS],
            running: [None; CORES],
            configuration,
            events,
            spare: environment.allocator.create()?,
            idle,
            now: source.now()?,
            source,
            counts: Counts::default(),
        })
    }

    /// The time of the last event.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// How often it has decided, and what became of it.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Adds a task if the admission test accepts the set with it. An offset counts from [`now`](Self::now). The task's
    /// thread runs `work` once for each job; after an abort, it begins anew with `work` as it is now.
    pub fn add<A: Admission>(
        &mut self,
        environment: &mut Environment,
        task: Task,
        admission: &A,
        mut work: impl FnMut(&Job) + Copy + Send + 'static,
    ) -> core::result::Result<TaskId, NotAdded<A::Reason>> {
        let added = self.cluster.add(task, self.now, admission);
        let id = added.map_err(NotAdded::Refused)?;
        let badge = badge(id);
        let made = environment
            .allocator
            .mint(self.events, Rights::ALL, badge)
            .and_then(|scheduler| {
                let job = Job { scheduler };
                worker(
                    environment,
                    self.events,
                    badge,
                    self.configuration.priority,
                    move || {
                        loop {
                            work(&job);
                            job.complete();
                        }
                    },
                )
            });
        match made {
            Ok(made) => self.workers[usize::from(id.0)] = Some(made),
            Err(error) => {
                // It was added just now.
                let _removed = self.cluster.remove(id);
                return Err(error.into());
            }
        }
        Ok(id)
    }

    /// The right to report arrivals of a sporadic task's jobs, for one of its clients.
    pub fn arrivals(&self, environment: &mut Environment, id: TaskId) -> Result<Arrivals> {
        let endpoint = environment
            .allocator
            .mint(self.events, Rights::ALL, badge(id))?;
        Ok(Arrivals(endpoint))
    }

    /// The endpoint of the scheduler's messages, for those of other kinds.
    pub fn events(&self) -> Endpoint {
        self.events
    }

    /// Schedules the tasks until this time. `observe` is told what happens; it must not wait.
    pub fn run(
        &mut self,
        environment: &Environment,
        until: Instant,
        mut observe: impl FnMut(Event),
    ) -> Result {
        while self.now < until {
            let next = self.decide(environment, &mut observe)?;
            let longest = self.now + LONGEST_TURN;
            let received = self.turn(next.min(until).min(longest))?;
            if let Some(received) = received {
                let event = self.handle(environment, received)?;
                event.into_iter().for_each(&mut observe);
            }
        }
        Ok(())
    }

    /// Stops all threads for good.
    pub fn stop(self) -> Result {
        let mut workers = self.workers.iter().flatten().chain([&self.idle]);
        workers.try_for_each(|worker| worker.thread.tcb.suspend())
    }

    /// Lets the local thread run until the next event, charges what ran, and returns the message that came.
    fn turn(&mut self, until: Instant) -> Result<Option<Received>> {
        let task = self.running[0];
        let worker = match task {
            Some(id) => self.workers[usize::from(id.0)].as_mut(),
            None => None,
        };
        let is_job = worker.is_some();
        let worker = worker.unwrap_or(&mut self.idle);
        let local = Local {
            context: worker.thread.sched_context,
            badge: task.filter(|_| is_job).map_or(Self::IDLE, badge),
            timeout: worker.timeout(),
        };
        let inbox = Inbox {
            events: self.events,
            spare: self.spare,
        };
        let turn = self.source.turn(&local, until, &inbox)?;
        if turn.ran {
            worker.state = State::Runnable;
        }
        self.now = turn.now;
        self.cluster.charge(0, turn.consumed);
        for core in 1..CORES {
            if let Some(context) = self.context_on(core) {
                let consumed = context.consumed()?;
                self.cluster.charge(core, Duration(consumed.0));
            }
        }
        Ok(turn.received)
    }

    /// The context of the job on a core.
    fn context_on(&self, core: Core) -> Option<userlib::cap::SchedContext> {
        let id = self.running[core]?;
        let worker = self.workers[usize::from(id.0)].as_ref()?;
        Some(worker.thread.sched_context)
    }

    /// The task's thread does not run any more.
    fn leave_core(&mut self, id: TaskId) {
        let core = self.running.iter_mut().find(|task| **task == Some(id));
        core.map(Option::take);
    }

    /// Turns a message into an event of the cluster.
    fn handle(&mut self, environment: &Environment, received: Received) -> Result<Option<Event>> {
        let (badge, now) = (received.badge, self.now);
        let other = Event::Message(received, self.spare);
        let Some(message) = received.message else {
            return Ok(Some(other));
        };
        if badge == Self::IDLE {
            self.idle.hold(&mut self.spare, State::TimedOut);
            return Ok(None);
        }
        let id = TaskId(badge.wrapping_sub(1) as u16);
        let worker = self.workers.get_mut(usize::from(id.0));
        let Some(worker) = worker.and_then(Option::as_mut).filter(|_| badge != 0) else {
            return Ok(Some(other));
        };
        let done = match message.label() {
            label::COMPLETED => {
                worker.hold(&mut self.spare, State::Calling);
                self.leave_core(id);
                match self.cluster.complete(id, now) {
                    Ok(completion) => return Ok(Some(Event::Completed(id, completion))),
                    Err(error) => Err(error),
                }
            }
            label::WAITS => {
                worker.wait(environment)?;
                self.leave_core(id);
                self.cluster.block(id)
            }
            label::CONTINUES => {
                worker.end_wait(environment, &mut self.spare)?;
                self.cluster.unblock(id)
            }
            label::NON_PREEMPTIBLE => self.cluster.set_non_preemptible(id, message.word(0) != 0),
            label::DEADLINE => {
                let time = message.word(0) as u64 | (message.word(1) as u64) << 32;
                self.cluster.set_deadline(id, Instant(time))
            }
            label::ARRIVED => self.cluster.arrive(id, now),
            _ => match Fault::from_message(&message) {
                Fault::Timeout { .. } => {
                    worker.hold(&mut self.spare, State::TimedOut);
                    Ok(())
                }
                Fault::Other(_) => return Ok(Some(other)),
                fault => {
                    worker.hold(&mut self.spare, State::Faulted);
                    let _was_there = self.cluster.remove(id);
                    return Ok(Some(Event::Faulted(id, fault)));
                }
            },
        };
        Ok(done.err().map(|error| Event::Refused(id, error)))
    }
}

/// The badge of a task's messages.
fn badge(id: TaskId) -> usize {
    usize::from(id.0) + 1
}

/// A thread whose faults and timeouts come to the scheduler.
fn worker(
    environment: &mut Environment,
    events: Endpoint,
    badge: usize,
    priority: u8,
    work: impl FnMut() + Copy + Send + 'static,
) -> Result<Worker> {
    let faults = environment.allocator.mint(events, Rights::ALL, badge)?;
    let time = SLICE.with_badge(badge);
    let parameters = ThreadParameters {
        priority,
        time: Some(time),
        fault_endpoint: faults.cptr(),
    };
    let thread = environment.create_thread(&parameters, work)?;
    thread.tcb.set_timeout_endpoint(faults)?;
    Worker::new(environment, thread, time, priority)
}

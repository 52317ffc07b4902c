//! The scheduler's loop.

use schedulers::{
    Admission, Arrivals as Releases, Cluster, Completion, Duration, Instant, Mode, Overload,
    Overrun, Policy, Quanta, Refusal, Task, TaskId, Weight,
};
use userlib::cap::{Endpoint, Reply, SchedContext, SchedControl};
use userlib::thread::ThreadParameters;
use userlib::{
    Capability, Environment, Error, Fault, Message, Microseconds, Received, Result, Rights,
};

use crate::job::{Arrivals, Job, label};
use crate::source::{Inbox, Source};
use crate::worker::{SLICE, State, Worker};

/// The longest time between two decisions: kernels refuse times that their clocks cannot reach.
const LONGEST_TURN: Duration = Duration(1_000_000);

/// By less than this a job may exceed its budget: a multiple of what a decision costs on a debug kernel.
pub(crate) const GRANULARITY: Duration = Duration(100);

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
    /// The policy refused what a thread reported of this task.
    Refused(TaskId, schedulers::Error),
    /// The thread of a task has faulted. The task is removed.
    Faulted(TaskId, Fault),
    /// A message that comes neither from a task nor from a client that reports arrivals. If it is a call, the observer must
    /// reply at once: later the reply object takes another call. Words that are not in registers may be overwritten.
    Message(Received, Reply),
}

/// Why a task is not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAdded<R> {
    /// The policy refuses it.
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
    /// Decisions of the policy.
    pub decisions: u64,
    /// Jobs that began or continued on a core which had run something else.
    pub dispatches: u64,
    /// Jobs, or parts of them, on another core than the last of their task.
    pub migrations: u64,
}

/// What a dispatcher needs beside its policy.
#[derive(Clone, Copy, Debug)]
pub struct Configuration<const CORES: usize> {
    /// The right to configure contexts on each core. The first is that of the environment, for the scheduler's own core.
    pub controls: [SchedControl; CORES],
    /// The priority of tasks, from 1 to 253. The scheduler's must be higher by at least two: a thread that continues after
    /// waiting has the priority between until it has told the scheduler. The priority below is that of a thread which
    /// never waits, and has the core when no job is ready; so other schedulers on the core have higher ones.
    pub priority: u8,
}

/// Runs the threads of tasks as a policy decides: a [`Cluster`] unless another is named, such as [`Quanta`].
pub struct Dispatcher<const CORES: usize, const TASKS: usize, S, P = Cluster<CORES, TASKS>> {
    pub(crate) policy: P,
    pub(crate) workers: [Option<Worker>; TASKS],
    /// The task whose job each core runs.
    pub(crate) running: [Option<TaskId>; CORES],
    pub(crate) configuration: Configuration<CORES>,
    inbox: Inbox,
    /// Runs on the scheduler's core when no job does.
    idle: Worker,
    source: S,
    pub(crate) now: Instant,
    pub(crate) counts: Counts,
}

impl<const CORES: usize, const TASKS: usize, S: Source, P> Dispatcher<CORES, TASKS, S, P>
where
    P: Policy<CORES, TASKS>,
{
    /// The badge of the thread that runs when no job does. Those of tasks are below, and not 0; those of their clients are
    /// above.
    const IDLE: usize = TASKS + 1;

    /// A dispatcher for a policy without tasks. `source` makes the source of time; it gets a context on the
    /// scheduler's core.
    ///
    /// # Panics
    /// If the priority of tasks is not from 1 to 253.
    pub fn new(
        environment: &mut Environment,
        mut policy: P,
        configuration: Configuration<CORES>,
        source: impl FnOnce(&mut Environment, SchedContext) -> Result<S>,
    ) -> Result<Self> {
        assert!(
            (1..=253).contains(&configuration.priority),
            "tasks have priorities from 1 to 253"
        );
        policy.set_granularity(GRANULARITY);
        let events: Endpoint = environment.allocator.create()?;
        let idle = configuration.priority - 1;
        // Few hints that it spins: on each, emulators give another core its turn, or pause.
        let mut idle = worker(environment, events, Self::IDLE, idle, || {
            loop {
                for turn in 0..1 << 10 {
                    core::hint::black_box(turn);
                }
                userlib::arch::relax();
            }
        })?;
        idle.thread.set_name("idle");
        let mut source = source(environment, idle.thread.sched_context)?;
        idle.proceed()?;
        Ok(Self {
            policy,
            workers: [const { None }; TASKS],
            running: [None; CORES],
            configuration,
            inbox: Inbox {
                events,
                spare: environment.allocator.create()?,
                arrived: None,
            },
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

    /// How often jobs of a task have used up their budgets; 0 if there is no such task.
    pub fn overruns(&self, id: TaskId) -> u32 {
        self.policy.overruns(id).unwrap_or(0)
    }

    /// Makes the thread of a task that the policy has just accepted.
    #[inline]
    fn start(
        &mut self,
        environment: &mut Environment,
        id: TaskId,
        mut work: impl FnMut(&Job) + Copy + Send + 'static,
    ) -> Result {
        let badge = badge(id);
        let made = environment
            .allocator
            .mint(self.inbox.events, Rights::ALL, badge)
            .and_then(|scheduler| {
                let job = Job { scheduler };
                worker(
                    environment,
                    self.inbox.events,
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
            Ok(made) => {
                self.workers[usize::from(id.0)] = Some(made);
                Ok(())
            }
            Err(error) => {
                // It was added just now.
                let _removed = self.policy.remove(id);
                Err(error)
            }
        }
    }

    /// Removes a task and its job. Its thread never runs again; its memory is not used again.
    pub fn remove(&mut self, id: TaskId) -> Result {
        leave_core(&mut self.running, id);
        // Only the kernel can refuse: a task that is not there is no error.
        let _there = self.policy.remove(id);
        match self
            .workers
            .get_mut(usize::from(id.0))
            .and_then(Option::take)
        {
            Some(worker) => worker.thread.tcb.suspend(),
            None => Ok(()),
        }
    }

    /// The right to report arrivals of a sporadic task's jobs, for one of its clients.
    pub fn arrivals(&self, environment: &mut Environment, id: TaskId) -> Result<Arrivals> {
        let badge = Self::IDLE + 1 + usize::from(id.0);
        let endpoint = environment
            .allocator
            .mint(self.inbox.events, Rights::WRITE, badge)?;
        Ok(Arrivals(endpoint))
    }

    /// The endpoint of the scheduler's messages, for those of other kinds: without a badge, or with one above twice the
    /// number of tasks and 1.
    pub fn events(&self) -> Endpoint {
        self.inbox.events
    }

    /// Schedules the tasks until this time. `observe` gets each event; it must not wait. Between two calls, jobs on
    /// other cores continue, and reports wait.
    pub fn run(
        &mut self,
        environment: &Environment,
        until: Instant,
        mut observe: impl FnMut(Event),
    ) -> Result {
        let now = self.source.now()?;
        self.charge_other_cores(now);
        self.now = now;
        while self.now < until {
            // On one core, an event ends the turn at once, and there is no other.
            if CORES > 1 && self.policy.ends_jobs(self.now) {
                self.take_reports(environment, &mut observe)?;
                self.refund_lost_time()?;
            }
            let next = self.decide(environment, &mut observe)?;
            let longest = self.now + LONGEST_TURN;
            self.inbox.arrived = None;
            self.turn(next.min(until).min(longest))?;
            self.handle(environment, &mut observe)?;
        }
        Ok(())
    }

    /// Handles what has come beside the event that ended the turn: a job that has ended is not to be ended by the next
    /// decision.
    fn take_reports(
        &mut self,
        environment: &Environment,
        observe: &mut impl FnMut(Event),
    ) -> Result {
        for _ in 0..=TASKS {
            if !self.inbox.nb_recv() {
                break;
            }
            self.handle(environment, observe)?;
        }
        Ok(())
    }

    /// Stops all threads for good; returns the source of time.
    pub fn stop(self) -> Result<S> {
        let workers = self.workers.iter().flatten().chain([&self.idle]);
        let suspended = workers.map(|worker| worker.thread.tcb.suspend());
        suspended.fold(Ok(()), Result::and)?;
        Ok(self.source)
    }

    /// Lets the local thread run until the next event, whose message is then in the inbox, and charges what ran.
    #[inline]
    fn turn(&mut self, until: Instant) -> Result {
        let task = self.running[0];
        let worker = task.and_then(|id| self.workers.get_mut(usize::from(id.0))?.as_mut());
        let local = worker.as_deref().unwrap_or(&self.idle).local();
        let (idle, inbox) = (self.idle.local(), &mut self.inbox);
        let turn = self.source.turn(local, idle, until, inbox)?;
        if turn.idle_ran {
            self.idle.state = State::Runnable;
        }
        if turn.ran {
            worker.unwrap_or(&mut self.idle).state = State::Runnable;
        }
        self.policy.charge(0, turn.consumed);
        self.charge_other_cores(turn.now);
        self.now = turn.now;
        Ok(())
    }

    /// Charges the time until `now` to the jobs on the other cores.
    fn charge_other_cores(&mut self, now: Instant) {
        let elapsed = now - self.now;
        for core in 1..CORES {
            let remaining = self.policy.remaining(core);
            if let Some(worker) = self.on(core) {
                worker.elsewhere.charge(elapsed, remaining);
            }
            self.policy.charge(core, elapsed);
        }
    }

    /// Before a job on another core is found to exceed its budget, time that higher-priority threads took from it is given
    /// back.
    fn refund_lost_time(&mut self) -> Result {
        for core in 0..CORES {
            if self.policy.remaining(core) == Duration(0)
                && let Some(worker) = self.on(core)
            {
                let lost = worker.lost()?;
                self.policy.refund(core, lost);
            }
        }
        Ok(())
    }

    /// The thread whose job runs on this core.
    fn on(&mut self, core: usize) -> Option<&mut Worker> {
        self.workers
            .get_mut(usize::from(self.running[core]?.0))?
            .as_mut()
    }

    /// Turns the message in the inbox, if there is one, into an event of the cluster.
    #[inline]
    fn handle(&mut self, environment: &Environment, observe: &mut impl FnMut(Event)) -> Result {
        let Some(arrived) = &self.inbox.arrived else {
            return Ok(());
        };
        let badge = arrived.received.badge;
        if let Some(message) = arrived.received.message
            && let Some((id, worker)) = Self::sender(&mut self.workers, badge)
        {
            if message.label() == label::COMPLETED {
                worker.take(&mut self.inbox.spare, State::Calling);
                if CORES > 1 {
                    worker.elsewhere.end_job();
                }
                leave_core(&mut self.running, id);
                observe(match self.policy.complete(id, self.now) {
                    Ok(completion) => Event::Completed(id, completion),
                    Err(error) => Event::Refused(id, error),
                });
                return Ok(());
            }
            if arrived.is_timeout() && worker.state != State::Waiting {
                worker.take(&mut self.inbox.spare, State::TimedOut);
                return Ok(());
            }
        }
        self.handle_other(environment)?
            .into_iter()
            .for_each(observe);
        Ok(())
    }

    /// The same for other messages than the end of a job or its turn.
    #[inline(never)]
    fn handle_other(&mut self, environment: &Environment) -> Result<Option<Event>> {
        let Some(arrived) = self.inbox.arrived else {
            return Ok(None);
        };
        let now = self.now;
        let badge = arrived.received.badge;
        let (Some(message), Some(fault)) = (&arrived.received.message, arrived.fault()) else {
            let is_timer = self.source.signalled()?;
            return Ok(if is_timer { None } else { self.other() });
        };
        if badge == Self::IDLE {
            self.idle.take(&mut self.inbox.spare, State::TimedOut);
            return Ok(None);
        }
        if let Some(id) = Self::client_of(badge) {
            let arrives = match message.label() {
                label::ARRIVED => self.policy.arrive(id, now),
                _ => Ok(()),
            };
            return Ok(self.answer(id, arrives));
        }
        let Some((id, worker)) = Self::sender(&mut self.workers, badge) else {
            return Ok(self.other());
        };
        match (message.label(), fault) {
            (label::WAITS, _) => {
                worker.wait(environment)?;
                if worker.core() == 0 {
                    self.source.lift(worker.local())?;
                }
                leave_core(&mut self.running, id);
                let blocked = self.policy.block(id);
                Ok(self.answer(id, blocked))
            }
            (label::CONTINUES, _) if worker.state == State::Waiting => {
                worker.end_wait(environment, &mut self.inbox.spare)?;
                let unblocked = self.policy.unblock(id);
                Ok(unblocked.err().map(|error| Event::Refused(id, error)))
            }
            (label::NON_PREEMPTIBLE, _) => {
                let value = message.word(0) != 0;
                let set = self.policy.set_non_preemptible(id, value);
                Ok(self.answer(id, set))
            }
            (label::DEADLINE, _) => {
                let time = Microseconds::from_message(message, 0);
                let set = self.policy.set_deadline(id, Instant(time.0));
                Ok(self.answer(id, set))
            }
            // The budget with which it began to wait has ended.
            (_, Fault::Timeout { .. }) => {
                self.source.lift(worker.local())?;
                Ok(self.answer(id, Ok(())))
            }
            // Not from this crate.
            (_, Fault::Other(_)) => Ok(self.answer(id, Ok(()))),
            (_, fault) => {
                worker.take(&mut self.inbox.spare, State::Calling);
                self.remove(id)?;
                Ok(Some(Event::Faulted(id, fault)))
            }
        }
    }

    /// The message in the inbox as an event for the program around.
    #[cold]
    fn other(&self) -> Option<Event> {
        let received = self.inbox.arrived?.received;
        Some(Event::Message(received, self.inbox.spare))
    }

    /// Replies to a report that waits for nothing, in case that it is a call.
    fn answer(
        &self,
        id: TaskId,
        result: core::result::Result<(), schedulers::Error>,
    ) -> Option<Event> {
        self.inbox.spare.send(Message::empty(0));
        result.err().map(|error| Event::Refused(id, error))
    }

    /// The task whose thread sends messages with this badge.
    fn sender(workers: &mut [Option<Worker>], badge: usize) -> Option<(TaskId, &mut Worker)> {
        let index = badge.checked_sub(1)?;
        let worker = workers.get_mut(index)?.as_mut()?;
        Some((TaskId(index as u16), worker))
    }

    /// The task of which clients report arrivals with this badge.
    fn client_of(badge: usize) -> Option<TaskId> {
        let index = badge.checked_sub(Self::IDLE + 1)?;
        (index < TASKS).then_some(TaskId(index as u16))
    }
}

impl<const CORES: usize, const TASKS: usize, S: Source> Dispatcher<CORES, TASKS, S> {
    /// Adds a task if the admission test accepts the set with it. An offset counts from [`now`](Self::now). The task's
    /// thread runs `work` once for each job; after an abort, it starts again with `work` as it is now.
    pub fn add<A: Admission>(
        &mut self,
        environment: &mut Environment,
        task: Task,
        admission: &A,
        work: impl FnMut(&Job) + Copy + Send + 'static,
    ) -> core::result::Result<TaskId, NotAdded<A::Reason>> {
        let added = self.policy.add(task, self.now, admission);
        let id = added.map_err(NotAdded::Refused)?;
        self.start(environment, id, work)?;
        Ok(id)
    }
}

impl<const CORES: usize, const TASKS: usize, S: Source>
    Dispatcher<CORES, TASKS, S, Quanta<CORES, TASKS>>
{
    /// Adds a task if the cores have so much left; see [`Quanta::add`]. The task's thread runs `work` once for each job; after
    /// an abort, it starts again with `work` as it is now.
    pub fn add(
        &mut self,
        environment: &mut Environment,
        weight: Weight,
        arrivals: Releases,
        overrun: Overrun,
        work: impl FnMut(&Job) + Copy + Send + 'static,
    ) -> core::result::Result<TaskId, NotAdded<Overload>> {
        let added = self.policy.add(weight, arrivals, overrun);
        let id = added.map_err(NotAdded::Refused)?;
        self.start(environment, id, work)?;
        Ok(id)
    }

    /// What has become of the quanta.
    pub fn quanta(&self) -> &Quanta<CORES, TASKS> {
        &self.policy
    }
}

/// The task's job runs on no core any more.
pub(crate) fn leave_core(running: &mut [Option<TaskId>], id: TaskId) {
    let core = running.iter_mut().find(|task| **task == Some(id));
    core.map(Option::take);
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
    Worker::new(environment, thread, badge, priority)
}

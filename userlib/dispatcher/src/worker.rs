//! The threads of the tasks.

use core::mem;

use schedulers::{Core, Duration};
use userlib::cap::Registers;
use userlib::cap::{Reply, SchedControl, SchedParameters};
use userlib::environment::Environment;
use userlib::{Microseconds, Result, Thread};

use crate::elsewhere::Elsewhere;
use crate::source::{Hold, Local};

/// What the thread of a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It is suspended: it has not begun, or it continues where it was stopped.
    Stopped,
    /// It waits for the reply to a call.
    Calling,
    /// It waits for the reply to a timeout fault.
    TimedOut,
    /// It runs when no thread of higher priority does.
    Runnable,
    /// It waits for something in the middle of its job.
    Waiting,
}

/// The thread of a task.
#[derive(Debug)]
pub(crate) struct Worker {
    pub thread: Thread,
    pub state: State,
    /// Holds the thread's call or fault.
    pub reply: Reply,
    /// The core of its scheduling context.
    core: Core,
    /// Whether it has run there.
    has_run: bool,
    /// The badge of its faults.
    pub badge: usize,
    priority: u8,
    /// How it began.
    initial: Registers,
    /// What was charged on other cores.
    pub elsewhere: Elsewhere,
}

/// Contexts of tasks do not run out by themselves: the cluster keeps account of budgets.
pub(crate) const SLICE: SchedParameters =
    SchedParameters::round_robin(Microseconds::from_millis(10_000));

impl Worker {
    /// For a thread that has not begun, with a context on the scheduler's own core.
    pub fn new(
        environment: &mut Environment,
        thread: Thread,
        badge: usize,
        priority: u8,
    ) -> Result<Self> {
        Ok(Self {
            thread,
            state: State::Stopped,
            reply: environment.allocator.create()?,
            core: 0,
            has_run: false,
            badge,
            priority,
            initial: thread.tcb.read_registers(false)?,
            elsewhere: Elsewhere::default(),
        })
    }

    /// Takes the thread's call or fault out of the reply object `spare`, for which the thread's empty one is left.
    #[inline]
    pub fn take(&mut self, spare: &mut Reply, state: State) {
        mem::swap(&mut self.reply, spare);
        self.state = state;
    }

    /// The core of its scheduling context.
    pub fn core(&self) -> Core {
        self.core
    }

    /// Stops the thread where it is. If it waits for a reply, it repeats its call when it continues.
    pub fn stop(&mut self) -> Result {
        if self.state == State::Runnable {
            self.thread.tcb.suspend()?;
            self.state = State::Stopped;
        }
        Ok(())
    }

    /// What a source of time must know of it.
    pub fn local(&self) -> Local<'_> {
        Local(self)
    }

    /// What keeps it from running.
    pub fn hold(&self) -> Hold {
        match self.state {
            State::Stopped => Hold::Suspended(self.thread.tcb),
            State::TimedOut => Hold::Timeout(self.reply),
            State::Calling => Hold::Call(self.reply),
            State::Runnable | State::Waiting => Hold::None,
        }
    }

    /// Moves the thread's context to this core; returns whether the thread has run on another one before. It must not be
    /// runnable.
    #[inline]
    pub fn migrate(&mut self, core: Core, control: SchedControl) -> Result<bool> {
        let is_elsewhere = self.core != core;
        if is_elsewhere {
            if self.elsewhere.is_charged() {
                let_switch();
            }
            control.configure(self.thread.sched_context, &SLICE.with_badge(self.badge))?;
            self.core = core;
            // What it has consumed so far must not be charged again.
            self.ask()?;
        }
        Ok(mem::replace(&mut self.has_run, true) && is_elsewhere)
    }

    /// A job begins, or continues. This comes after it has been dispatched, for which it must not wait.
    pub fn account(&mut self) -> Result {
        if self.elsewhere.begin() {
            self.thread.sched_context.consumed()?;
        }
        Ok(())
    }

    /// How much of what was charged to the running job, whose budget seems to be used up, others have used.
    pub fn lost(&mut self) -> Result<Duration> {
        if self.core != 0 && self.state == State::Runnable {
            self.thread.tcb.suspend()?;
            let_switch();
            self.ask()?;
            self.thread.tcb.resume()?;
        }
        Ok(self.elsewhere.take_lost())
    }

    /// Asks the context what it has consumed.
    fn ask(&mut self) -> Result {
        let consumed = self.thread.sched_context.consumed()?;
        self.elsewhere.told(Duration(consumed.0));
        Ok(())
    }

    /// Lets the thread run. The cluster dispatches no task that waits.
    pub fn proceed(&mut self) -> Result {
        self.hold().release()?;
        self.state = State::Runnable;
        Ok(())
    }

    /// The thread waits for something in the middle of its job. When that comes, its report of it must not wait for
    /// the jobs of other tasks: until then it has a higher priority.
    pub fn wait(&mut self, environment: &Environment) -> Result {
        self.state = State::Waiting;
        self.thread
            .tcb
            .set_priority(environment.tcb, self.priority + 1)
    }

    /// The end of [`wait`](Self::wait): the thread waits for the reply to its report.
    pub fn end_wait(&mut self, environment: &Environment, spare: &mut Reply) -> Result {
        self.take(spare, State::Calling);
        self.thread.tcb.set_priority(environment.tcb, self.priority)
    }

    /// Ends the thread's job: it is to start again.
    pub fn restart(&mut self, environment: &Environment) -> Result {
        let tcb = self.thread.tcb;
        tcb.suspend()?;
        tcb.write_registers(false, &self.initial)?;
        if self.state == State::Waiting {
            tcb.set_priority(environment.tcb, self.priority)?;
        }
        self.state = State::Stopped;
        self.elsewhere.end_job();
        Ok(())
    }
}

/// Lets another core switch, whose thread has just been suspended: it does so after the system call, and only then a context
/// tells what it had consumed. The core is the next to enter the kernel; an emulator gives it a turn at each hint.
fn let_switch() {
    const HINTS: u32 = 2;
    for _ in 0..HINTS {
        userlib::arch::relax();
    }
}

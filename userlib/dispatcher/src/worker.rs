//! The threads of the tasks.

use core::mem;

use schedulers::Core;
use userlib::cap::Registers;
use userlib::cap::{Reply, SchedControl, SchedParameters};
use userlib::environment::Environment;
use userlib::{Message, Microseconds, Result, Thread};

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
    /// It has faulted, and never runs again.
    Faulted,
}

/// The thread of a task.
#[derive(Debug)]
pub(crate) struct Worker {
    pub thread: Thread,
    pub state: State,
    /// Holds the thread's call or fault.
    pub reply: Reply,
    /// The core of its scheduling context.
    pub core: Core,
    time: SchedParameters,
    priority: u8,
    /// How it began.
    initial: Registers,
}

/// Contexts of tasks do not run out by themselves: the cluster keeps account of budgets.
pub(crate) const SLICE: SchedParameters =
    SchedParameters::round_robin(Microseconds::from_millis(10_000));

impl Worker {
    /// For a thread that has not begun, with a context on the scheduler's own core.
    pub fn new(
        environment: &mut Environment,
        thread: Thread,
        time: SchedParameters,
        priority: u8,
    ) -> Result<Self> {
        Ok(Self {
            thread,
            state: State::Stopped,
            reply: environment.allocator.create()?,
            core: 0,
            time,
            priority,
            initial: thread.tcb.read_registers(false)?,
        })
    }

    /// Takes the thread's call or fault out of the reply object `spare`, for which the thread's empty one is left.
    pub fn hold(&mut self, spare: &mut Reply, state: State) {
        mem::swap(&mut self.reply, spare);
        self.state = state;
    }

    /// The reply object with a timeout fault of the thread, if there is one.
    pub fn timeout(&self) -> Option<Reply> {
        (self.state == State::TimedOut).then_some(self.reply)
    }

    /// Stops the thread where it is.
    pub fn stop(&mut self) -> Result {
        if self.state == State::Runnable {
            self.thread.tcb.suspend()?;
            self.state = State::Stopped;
        }
        Ok(())
    }

    /// Moves the thread's context to another core. The thread must not be runnable.
    pub fn migrate(&mut self, core: Core, control: SchedControl) -> Result {
        if self.core != core {
            control.configure(self.thread.sched_context, &self.time)?;
            self.core = core;
        }
        Ok(())
    }

    /// Makes the thread runnable.
    pub fn proceed(&mut self) -> Result {
        match self.state {
            State::Stopped => self.thread.tcb.resume()?,
            State::Calling | State::TimedOut => self.reply.send(Message::empty(0)),
            State::Runnable => {}
            // The cluster dispatches no task that waits, or that is removed.
            State::Waiting | State::Faulted => return Ok(()),
        }
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
        self.hold(spare, State::Calling);
        self.thread.tcb.set_priority(environment.tcb, self.priority)
    }

    /// Ends the thread's job: it is to begin anew.
    pub fn restart(&mut self, environment: &Environment) -> Result {
        let tcb = self.thread.tcb;
        tcb.suspend()?;
        tcb.write_registers(false, &self.initial)?;
        if self.state == State::Waiting {
            tcb.set_priority(environment.tcb, self.priority)?;
        }
        self.state = State::Stopped;
        Ok(())
    }
}

//! What tasks, and clients that cause jobs, report to the scheduler.

use userlib::cap::Endpoint;
use userlib::{Message, Microseconds};

/// The labels of messages to the scheduler, beyond those of faults. The badge of the endpoint is the task.
pub(crate) mod label {
    /// A call: the job is completed. The reply is the release of the next job.
    pub const COMPLETED: usize = 100;
    /// The thread is about to wait for something other than a job.
    pub const WAITS: usize = 101;
    /// A call: the thread can continue its job.
    pub const CONTINUES: usize = 102;
    /// The job enters a non-preemptible section (word 0 is 1), or leaves it (0).
    pub const NON_PREEMPTIBLE: usize = 103;
    /// The job's deadline is to be the time in the message.
    pub const DEADLINE: usize = 104;
    /// A job of a sporadic task arrives.
    pub const ARRIVED: usize = 105;
}

/// The present job of a task, for the task's own thread.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub(crate) scheduler: Endpoint,
}

impl Job {
    /// Waits for something other than time, such as a signal or the reply of a server: other jobs run until `wait`
    /// returns. `wait` should do nothing else: meanwhile the thread has no budget, and a priority above the other tasks.
    ///
    /// A job that waits without this leaves its core idle, and, with YieldToTimeout or timeout faults as the source of
    /// time, may leave the scheduler without a clock until the next message; a call may be made twice, because the job is
    /// suspended when another one has its core. Servers must be active: a passive one takes the
    /// thread's context, which is not the scheduler's any more when the job's turn ends.
    pub fn while_waiting<R>(&self, wait: impl FnOnce() -> R) -> R {
        self.scheduler.send(Message::empty(label::WAITS));
        let result = wait();
        self.scheduler.call(Message::empty(label::CONTINUES));
        result
    }

    /// Runs `section` without preemption by other tasks of the cluster. Its budget is enforced all the same. Sections are
    /// not nested, and a job that waits leaves its section.
    pub fn without_preemption<R>(&self, section: impl FnOnce() -> R) -> R {
        let set = |value| {
            self.scheduler
                .send(Message::new(label::NON_PREEMPTIBLE, &[value]))
        };
        set(1);
        let result = section();
        set(0);
        result
    }

    /// Schedules the rest of the job by another deadline, a time of the scheduler's clock. The deadline that it must
    /// keep does not change.
    pub fn set_deadline(&self, deadline: Microseconds) {
        self.scheduler
            .send(Message::new(label::DEADLINE, &deadline.words()));
    }

    /// Reports that the job is completed, and waits for the next.
    pub(crate) fn complete(&self) {
        self.scheduler.call(Message::empty(label::COMPLETED));
    }
}

/// The right to report arrivals of a sporadic task's jobs.
#[derive(Clone, Copy, Debug)]
pub struct Arrivals(pub Endpoint);

impl Arrivals {
    /// Reports that a job arrives.
    pub fn report(&self) {
        self.0.send(Message::empty(label::ARRIVED));
    }
}

//! The tasks and their deadlines.

use userlib::cap::{Endpoint, Notification, Reply, SchedParameters};
use userlib::thread::ThreadParameters;
use userlib::time::{Clock, Load};
use userlib::{Environment, Message, Microseconds, Result, Rights, Thread, println};

/// The label of a message that reports a completed job.
pub const DONE: usize = 100;

/// Period and work of each task, in milliseconds.
const PLAN: [(u64, u64); 3] = [(100, 25), (150, 40), (280, 75)];
/// The index of the background task, which is always ready and has no deadline.
pub const IDLE: usize = PLAN.len();

const PRIORITY: u8 = 100;
const TURN: SchedParameters = SchedParameters::round_robin(Microseconds::from_millis(10_000));
/// A time after all deadlines.
const NEVER: Microseconds = Microseconds(u64::MAX);

/// A task.
pub struct Task {
    pub thread: Thread,
    /// The reply object of its timeout fault.
    pub reply: Reply,
    /// Whether it waits for the reply to a timeout fault.
    pub waits_for_answer: bool,
    start: Notification,
    period: Microseconds,
    /// Release time of its current job, or of the next one.
    released: Microseconds,
    busy: bool,
    /// Number of completed jobs, and of those completed too late.
    done: usize,
    late: usize,
}

/// All tasks.
pub struct Tasks {
    pub list: [Task; IDLE + 1],
    pub turns: usize,
}

impl Task {
    fn create(
        environment: &mut Environment,
        events: Endpoint,
        number: usize,
        load: Load,
    ) -> Result<Self> {
        let start: Notification = environment.allocator.create()?;
        let events = environment.allocator.mint(events, Rights::ALL, number)?;
        let parameters = ThreadParameters {
            priority: PRIORITY,
            time: Some(TURN.with_badge(number)),
            fault_endpoint: events.0,
        };
        let plan = PLAN.get(number).copied();
        let thread = environment.create_thread(&parameters, move || {
            loop {
                let Some((_, milliseconds)) = plan else {
                    load.work(Microseconds::from_millis(1));
                    continue;
                };
                start.wait();
                load.work(Microseconds::from_millis(milliseconds));
                events.send(Message::empty(DONE));
            }
        })?;
        thread.tcb.set_timeout_endpoint(events)?;
        Ok(Self {
            thread,
            reply: environment.allocator.create()?,
            waits_for_answer: false,
            start,
            period: plan.map_or(NEVER, |(period, _)| Microseconds::from_millis(period)),
            released: Microseconds(0),
            busy: plan.is_none(),
            done: 0,
            late: 0,
        })
    }

    fn deadline(&self) -> Microseconds {
        if self.period == NEVER {
            NEVER
        } else {
            self.released + self.period
        }
    }

    /// Records that a job is completed.
    pub fn finish(&mut self, now: Microseconds) {
        self.done += 1;
        self.late += usize::from(now > self.deadline());
        self.released = self.deadline();
        self.busy = false;
    }
}

impl Tasks {
    /// Creates the tasks; they run when selected.
    pub fn create(environment: &mut Environment, clock: &Clock, events: Endpoint) -> Result<Self> {
        let load = Load::calibrate(clock);
        let mut create = |number| Task::create(environment, events, number, load);
        let list = [create(0)?, create(1)?, create(2)?, create(IDLE)?];
        for task in &list {
            task.thread.start()?;
        }
        Ok(Self { list, turns: 0 })
    }

    /// Releases all first jobs at `now`.
    pub fn begin(&mut self, now: Microseconds) {
        for task in &mut self.list {
            task.released = now;
        }
    }

    /// Releases the jobs that are due.
    pub fn release(&mut self, now: Microseconds) {
        for task in &mut self.list {
            if !task.busy && task.released <= now {
                task.busy = true;
                task.start.signal();
            }
        }
    }

    /// The ready task with the earliest deadline.
    pub fn earliest_deadline(&self) -> usize {
        let busy = (0..self.list.len()).filter(|number| self.list[*number].busy);
        let earliest = busy.min_by_key(|number| self.list[*number].deadline());
        earliest.unwrap_or(IDLE)
    }

    /// The next release; if all jobs are released, some later time.
    pub fn next_release(&self, now: Microseconds) -> Microseconds {
        let waiting = self.list.iter().filter(|task| !task.busy);
        let next = waiting.map(|task| task.released).min();
        next.unwrap_or(now + self.list[0].period)
    }

    /// Whether each task has completed jobs, none of them too late.
    pub fn all_in_time(&self) -> bool {
        self.list[..IDLE]
            .iter()
            .all(|task| task.done > 0 && task.late == 0)
    }

    /// Prints the results.
    pub fn report(&self) {
        for task in &self.list[..IDLE] {
            println!(
                "every {:3} ms: {:2} jobs done, {} late",
                task.period.as_millis(),
                task.done,
                task.late
            );
        }
    }
}

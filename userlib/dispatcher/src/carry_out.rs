//! From the actions of a policy to system calls.

use schedulers::{Action, Core, Instant, Policy, TaskId};
use userlib::cap::SchedControl;
use userlib::{Environment, Result};

use crate::dispatcher::{Counts, Dispatcher, Event, leave_core};
use crate::source::Source;
use crate::worker::Worker;

impl<const CORES: usize, const TASKS: usize, S: Source, P> Dispatcher<CORES, TASKS, S, P>
where
    P: Policy<CORES, TASKS>,
{
    /// Decides what runs, and carries that out; a job on the scheduler's own core begins with its turn. Returns the time of
    /// the next decision, if no event comes before.
    #[inline]
    pub(crate) fn decide(
        &mut self,
        environment: &Environment,
        observe: &mut impl FnMut(Event),
    ) -> Result<Instant> {
        self.counts.decisions += 1;
        let mut threads = Threads {
            workers: &mut self.workers,
            running: &mut self.running,
            controls: &self.configuration.controls,
            counts: &mut self.counts,
        };
        let mut done = Ok(());
        let next = self.policy.decide(self.now, &mut |action| {
            if done.is_ok() {
                done = match action {
                    Action::Dispatch { core, task } => threads.dispatch(core, task),
                    other => threads.carry_out(environment, other, observe),
                };
            }
        });
        done.map(|()| next)
    }
}

/// The threads of the tasks, and what the cores run.
struct Threads<'a, const CORES: usize> {
    workers: &'a mut [Option<Worker>],
    running: &'a mut [Option<TaskId>; CORES],
    controls: &'a [SchedControl; CORES],
    counts: &'a mut Counts,
}

impl<const CORES: usize> Threads<'_, CORES> {
    fn worker(&mut self, id: TaskId) -> Option<&mut Worker> {
        self.workers.get_mut(usize::from(id.0))?.as_mut()
    }

    /// The core runs the task's job instead of another.
    #[inline]
    fn dispatch(&mut self, core: Core, task: TaskId) -> Result {
        let before = self.running[core].replace(task);
        self.counts.dispatches += 1;
        if let Some(before) = before.filter(|before| *before != task) {
            self.stop(before)?;
        }
        // On one core, all contexts are there.
        if CORES > 1 {
            let control = self.controls[core];
            let Some(worker) = self.worker(task) else {
                return Ok(());
            };
            let migrates = worker.migrate(core, control)?;
            if core != 0 {
                worker.proceed()?;
            }
            worker.account()?;
            self.counts.migrations += u64::from(migrates);
        }
        Ok(())
    }

    fn stop(&mut self, id: TaskId) -> Result {
        self.worker(id).map_or(Ok(()), Worker::stop)
    }

    /// Other actions than dispatches.
    #[inline(never)]
    fn carry_out(
        &mut self,
        environment: &Environment,
        action: Action,
        observe: &mut dyn FnMut(Event),
    ) -> Result {
        match action {
            Action::Dispatch { core, task } => self.dispatch(core, task)?,
            Action::Idle { core } => {
                if let Some(before) = self.running[core].take() {
                    self.stop(before)?;
                }
            }
            Action::Aborted { task } => {
                leave_core(self.running, task);
                if let Some(worker) = self.worker(task) {
                    worker.restart(environment)?;
                }
                observe(Event::Aborted(task));
            }
            Action::Overrun { task } => observe(Event::Overrun(task)),
            Action::Switched(mode) => observe(Event::Switched(mode)),
        }
        Ok(())
    }
}

//! From the actions of a cluster to system calls.

use schedulers::{Action, Instant, TaskId};
use userlib::{Environment, Result};

use crate::dispatcher::{Dispatcher, Event, leave_core};
use crate::source::Source;
use crate::worker::Worker;

impl<const CORES: usize, const TASKS: usize, S: Source> Dispatcher<CORES, TASKS, S> {
    /// Decides what runs, and carries that out; a job on the scheduler's own core begins with its turn. Returns the time of
    /// the next decision, if no event comes before.
    pub(crate) fn decide(
        &mut self,
        environment: &Environment,
        observe: &mut impl FnMut(Event),
    ) -> Result<Instant> {
        let Self {
            cluster,
            workers,
            running,
            configuration,
            now,
            counts,
            ..
        } = self;
        counts.decisions += 1;
        let mut carry_out = |action| -> Result {
            match action {
                Action::Dispatch { core, task } => {
                    let before = running[core].replace(task).filter(|one| *one != task);
                    if let Some(before) = before.and_then(|id| worker(workers, id)) {
                        before.stop()?;
                    }
                    counts.dispatches += 1;
                    if let Some(worker) = worker(workers, task) {
                        let migrates = worker.migrate(core, configuration.controls[core])?;
                        counts.migrations += u64::from(migrates);
                        if core != 0 {
                            worker.proceed()?;
                        }
                    }
                }
                Action::Idle { core } => {
                    let before = running[core].take();
                    if let Some(before) = before.and_then(|id| worker(workers, id)) {
                        before.stop()?;
                    }
                }
                Action::Aborted { task } => {
                    leave_core(running, task);
                    if let Some(worker) = worker(workers, task) {
                        worker.restart(environment)?;
                    }
                    observe(Event::Aborted(task));
                }
                Action::Overrun { task } => observe(Event::Overrun(task)),
                Action::Switched(mode) => observe(Event::Switched(mode)),
            }
            Ok(())
        };
        let mut failure = None;
        let next = cluster.decide(*now, &mut |action| {
            if failure.is_none() {
                failure = carry_out(action).err();
            }
        });
        failure.map_or(Ok(next), Err)
    }
}

/// The thread of a task.
fn worker(workers: &mut [Option<Worker>], id: TaskId) -> Option<&mut Worker> {
    workers.get_mut(usize::from(id.0))?.as_mut()
}

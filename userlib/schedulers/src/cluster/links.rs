//! Which job is linked to which core, and what follows for what the cores run.

use super::{Action, Cluster, Core, Running};
use crate::task::TaskId;
use crate::time::Instant;

impl<const CORES: usize, const TASKS: usize> Cluster<CORES, TASKS> {
    /// Links the ready jobs with the earliest deadlines: to cores without link, else to the core of the linked
    /// job with the latest deadline, if that is later. A job does not displace one of the same deadline.
    #[inline]
    pub(super) fn link_earliest(&mut self) {
        while let Some(first) = self.first_ready() {
            let (_, id) = first;
            let core = match self.core_without_link(id) {
                Some(core) => Some(core),
                None => self.displace_latest(first),
            };
            let Some(core) = core else {
                return;
            };
            self.ready.remove(id);
            self.link(id, core);
        }
    }

    /// A job is released. If all cores have links, and it displaces a job, it needs no place in the ready queue.
    #[inline]
    pub(super) fn link_or_wait(&mut self, id: TaskId, deadline: Instant) {
        let all_linked = self.linked.iter().all(Option::is_some);
        let core = if all_linked {
            self.displace_latest((deadline, id))
        } else {
            None
        };
        match core {
            Some(core) => self.link(id, core),
            None => self.ready.set(id, deadline),
        }
    }

    /// Returns the linked job with the latest deadline to the ready queue if this one displaces it; returns its core, whose
    /// link does not count any more.
    #[inline]
    fn displace_latest(&mut self, first: (Instant, TaskId)) -> Option<Core> {
        let (latest, core) = self.latest_linked()?;
        if !self.displaces(first, latest) {
            return None;
        }
        let (deadline, id) = latest;
        self.ready.set(id, deadline);
        if let Ok(job) = self.job_mut(id) {
            job.linked = None;
        }
        Some(core)
    }

    /// One action for each core whose link differs from what it runs; the scheduler's own core comes last,
    /// since its dispatch may end the scheduler's turn.
    #[inline]
    pub(super) fn apply_links(&mut self, act: &mut impl FnMut(Action)) {
        for core in (0..CORES).rev() {
            let running = self.scheduled[core];
            if let Running::Job(id) = running {
                if self.linked[core] == Some(id) {
                    continue;
                }
                if let Ok(job) = self.job_mut(id) {
                    if job.non_preemptible {
                        continue;
                    }
                    job.scheduled = None;
                }
            }
            match self.linked[core] {
                Some(id) => {
                    self.scheduled[core] = Running::Job(id);
                    if let Some(entry) = &mut self.entries[id.index()] {
                        entry.last = core;
                        if let Some(job) = &mut entry.job {
                            job.scheduled = Some(core);
                        }
                    }
                    act(Action::Dispatch { core, task: id });
                }
                None => {
                    self.scheduled[core] = Running::Nothing;
                    if running != Running::Nothing {
                        act(Action::Idle { core });
                    }
                }
            }
        }
    }

    /// Takes the task's job from the ready queue or its core, which then runs `left`.
    pub(super) fn withdraw(&mut self, id: TaskId, left: Running) {
        self.ready.remove(id);
        let Ok(job) = self.job_mut(id) else {
            return;
        };
        job.non_preemptible = false;
        let (linked, scheduled) = (job.linked.take(), job.scheduled.take());
        if let Some(core) = linked
            && !self.forgets_links()
        {
            self.linked[core] = None;
        }
        if let Some(core) = scheduled {
            self.scheduled[core] = left;
        }
    }

    /// Links a job that is not in the ready queue to a core without a link that counts. A job that runs stays where it runs:
    /// then that core's link moves to `core` in exchange, and no job migrates.
    #[inline]
    fn link(&mut self, id: TaskId, core: Core) {
        let Ok(job) = self.job_mut(id) else {
            return;
        };
        let target = job.scheduled.unwrap_or(core);
        job.linked = Some(target);
        let exchanged = self.linked[target].replace(id);
        if target == core {
            return;
        }
        self.linked[core] = exchanged;
        if let Some(moved) = exchanged
            && let Ok(job) = self.job_mut(moved)
        {
            job.linked = Some(core);
        }
    }

    /// The core for a job if one has no link: the scheduler's own if no core has one, else the one where the
    /// task ran last.
    fn core_without_link(&self, id: TaskId) -> Option<Core> {
        if self.linked.iter().all(Option::is_some) {
            return None;
        }
        if self.linked.iter().all(Option::is_none) {
            return Some(0);
        }
        let last = self.entry(id).map_or(0, |entry| entry.last);
        let mut cores = [last].into_iter().chain(0..CORES);
        cores.find(|&core| self.linked[core].is_none())
    }

    /// The linked job with the latest effective deadline, and its core.
    #[inline]
    fn latest_linked(&self) -> Option<((Instant, TaskId), Core)> {
        let linked = (0..CORES).filter_map(|core| {
            let id = self.linked[core]?;
            let deadline = self.job(id).map_or(Instant::NEVER, |job| job.effective);
            Some(((deadline, id), core))
        });
        linked.max()
    }
}

/// Where tests put in faults, as negative controls (`faults.rs`).
#[cfg(not(test))]
impl<const CORES: usize, const TASKS: usize> Cluster<CORES, TASKS> {
    fn first_ready(&self) -> Option<(Instant, TaskId)> {
        self.ready.first()
    }

    fn displaces(&self, first: (Instant, TaskId), latest: (Instant, TaskId)) -> bool {
        first.0 < latest.0
    }

    fn forgets_links(&self) -> bool {
        false
    }
}

//! Which job is linked to which core, and what follows for what the cores run.

use super::{Action, Cluster, Core, Place, Running};
use crate::task::TaskId;
use crate::time::{Duration, Instant};

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
            self.link(first, core);
        }
    }

    /// A job is released. If all cores have links, and it displaces a job, it needs no place in the ready queue.
    #[inline]
    pub(super) fn link_or_wait(&mut self, id: TaskId, deadline: Instant) {
        let job = (deadline, id);
        let all_linked = self.cores.iter().all(|place| place.linked.is_some());
        let core = if all_linked {
            self.displace_latest(job)
        } else {
            None
        };
        match core {
            Some(core) => self.link(job, core),
            None => self.ready.set(id, deadline),
        }
    }

    /// Returns the linked job with the latest deadline to the ready queue if this one displaces it; returns its core, whose
    /// link does not count any more.
    #[inline]
    fn displace_latest(&mut self, first: (Instant, TaskId)) -> Option<Core> {
        let linked = self.cores.iter().zip(0..);
        let linked = linked.filter_map(|(place, core)| Some((place.linked?, core)));
        let (latest, core) = linked.max()?;
        if !self.displaces(first, latest) {
            return None;
        }
        let (deadline, id) = latest;
        self.ready.set(id, deadline);
        Some(core)
    }

    /// One action for each core whose link differs from what it runs; the scheduler's own core comes last,
    /// since its dispatch may end the scheduler's turn.
    #[inline]
    pub(super) fn apply_links(&mut self, act: &mut impl FnMut(Action)) {
        for core in (0..CORES).rev() {
            let place = self.cores[core];
            if let Running::Job(id) = place.scheduled {
                if place.is_linked(id) {
                    continue;
                }
                if let Ok(job) = self.job_mut(id) {
                    if job.non_preemptible {
                        continue;
                    }
                    job.remaining = place.remaining;
                }
            }
            let mut next = Place {
                linked: place.linked,
                ..Place::FREE
            };
            let action = match place.linked {
                Some((_, id)) => {
                    next.scheduled = Running::Job(id);
                    if let Ok(entry) = self.entry_mut(id)
                        && let Some(job) = &entry.job
                    {
                        next.remaining = job.remaining;
                        entry.last = core;
                    }
                    Action::Dispatch { core, task: id }
                }
                None if place.scheduled == Running::Nothing => continue,
                None => Action::Idle { core },
            };
            self.cores[core] = next;
            act(action);
        }
    }

    /// Takes the task's job from the ready queue or its core, which then runs `left`.
    #[inline]
    pub(super) fn withdraw(&mut self, id: TaskId, left: Running) {
        self.ready.remove(id);
        for core in 0..CORES {
            if self.cores[core].is_linked(id) && !self.forgets_links() {
                self.cores[core].linked = None;
            }
            if self.cores[core].runs(id) {
                let remaining = self.cores[core].remaining;
                if let Ok(job) = self.job_mut(id) {
                    job.remaining = remaining;
                }
                self.cores[core].scheduled = left;
                self.cores[core].remaining = Duration::UNLIMITED;
            }
        }
    }

    /// The effective deadline of the task's job has changed.
    pub(super) fn reorder(&mut self, id: TaskId, deadline: Instant) {
        if self.ready.contains(id) {
            self.ready.set(id, deadline);
        }
        if let Some(place) = self.cores.iter_mut().find(|place| place.is_linked(id)) {
            place.linked = Some((deadline, id));
        }
    }

    /// Links a job that is not in the ready queue to a core without a link that counts. A job that runs stays where it runs:
    /// then that core's link moves to `core` in exchange, and no job migrates.
    #[inline]
    fn link(&mut self, job: (Instant, TaskId), core: Core) {
        let runs_on = self.cores.iter().position(|place| place.runs(job.1));
        let target = runs_on.unwrap_or(core);
        let exchanged = self.cores[target].linked.replace(job);
        if target != core {
            self.cores[core].linked = exchanged;
        }
    }

    /// The core for a job if one has no link: the scheduler's own if no core has one, else the one where the
    /// task ran last.
    #[inline]
    fn core_without_link(&self, id: TaskId) -> Option<Core> {
        let mut linked = self.cores.iter().map(|place| place.linked.is_some());
        if linked.clone().all(|linked| linked) {
            return None;
        }
        if !linked.any(|linked| linked) {
            return Some(0);
        }
        let last = self.entry(id).map_or(0, |entry| entry.last);
        let mut cores = [last].into_iter().chain(0..CORES);
        cores.find(|&core| self.cores[core].linked.is_none())
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

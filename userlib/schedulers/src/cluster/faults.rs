//! The faults of negative controls; see `crate::tests::Fault`.

use super::Cluster;
use crate::task::TaskId;
use crate::tests::Fault;
use crate::time::{Duration, Instant};

impl<const CORES: usize, const TASKS: usize> Cluster<CORES, TASKS> {
    pub(super) fn first_ready(&self) -> Option<(Instant, TaskId)> {
        match self.fault {
            Fault::WrongHead => self.ready.iter().min_by_key(|(_, id)| *id),
            _ => self.ready.first(),
        }
    }

    pub(super) fn displaces(&self, first: (Instant, TaskId), latest: (Instant, TaskId)) -> bool {
        let ties = self.fault == Fault::TiesDisplace && first.0 == latest.0;
        first.0 < latest.0 || (ties && first.1 > latest.1)
    }

    pub(super) fn forgets_links(&self) -> bool {
        self.fault == Fault::ForgottenLink
    }

    /// Checks what holds after each decision.
    pub(crate) fn check(&self) {
        let mut latest_linked = Instant(0);
        for id in self.ids() {
            let linked = self.cores.iter().position(|place| place.is_linked(id));
            let Ok(job) = self.job(id) else {
                assert!(!self.ready.contains(id));
                assert!(linked.is_none());
                continue;
            };
            assert!(!self.releases.contains(id));
            let states = [job.blocked, self.ready.contains(id), linked.is_some()];
            assert_eq!(states.iter().filter(|it| **it).count(), 1, "{job:?}");
            if let Some(core) = linked {
                assert_eq!(self.cores[core].linked, Some((job.effective, id)));
                latest_linked = latest_linked.max(job.effective);
            }
            let runs_on: Vec<_> = (0..CORES)
                .filter(|&core| self.cores[core].runs(id))
                .collect();
            assert!(runs_on.len() <= 1, "{job:?}");
            let scheduled = runs_on.first().copied();
            let keeps = linked == scheduled || job.non_preemptible;
            assert!(scheduled.is_none() || keeps, "{job:?}");
        }
        let linked = self.cores.iter().filter_map(|place| place.linked);
        for (_, id) in linked {
            let places = self.cores.iter().filter(|place| place.is_linked(id));
            assert_eq!(places.count(), 1);
            assert!(self.job(id).is_ok());
        }
        for place in &self.cores {
            let runs = matches!(place.scheduled, super::Running::Job(_));
            assert!(runs || place.remaining == Duration::UNLIMITED);
        }
        if let Some((first, _)) = self.ready.first() {
            assert!(self.cores.iter().all(|place| place.linked.is_some()));
            assert!(latest_linked <= first);
        }
    }
}

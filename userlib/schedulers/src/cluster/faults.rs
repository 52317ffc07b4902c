//! The faults of negative controls; see `crate::tests::Fault`.

use super::Cluster;
use crate::task::TaskId;
use crate::tests::Fault;
use crate::time::Instant;

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
            let Ok(job) = self.job(id) else {
                assert!(!self.ready.contains(id));
                assert!(!self.linked.contains(&Some(id)));
                continue;
            };
            assert!(!self.releases.contains(id));
            let states = [job.blocked, self.ready.contains(id), job.linked.is_some()];
            assert_eq!(states.iter().filter(|it| **it).count(), 1, "{job:?}");
            if let Some(core) = job.linked {
                assert_eq!(self.linked[core], Some(id));
                latest_linked = latest_linked.max(job.effective);
            }
            let runs_on =
                (0..CORES).filter(|&core| self.scheduled[core] == super::Running::Job(id));
            assert!(runs_on.eq(job.scheduled), "{job:?}");
            let keeps = job.linked == job.scheduled || job.non_preemptible;
            assert!(job.scheduled.is_none() || keeps, "{job:?}");
        }
        assert_eq!(
            self.linked.iter().flatten().count(),
            self.ids()
                .filter(|id| self.job(*id).is_ok_and(|job| job.linked.is_some()))
                .count()
        );
        if let Some((first, _)) = self.ready.first() {
            assert!(self.linked.iter().all(Option::is_some));
            assert!(latest_linked <= first);
        }
    }
}

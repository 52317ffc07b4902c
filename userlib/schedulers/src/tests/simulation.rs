//! A machine that carries out the actions of a cluster and reports completions.

use crate::{Action, Cluster, Core, Duration, Instant, Mode, TaskId};

/// A cluster with what its cores run.
pub(super) struct Simulation<const CORES: usize, const TASKS: usize> {
    pub(super) cluster: Cluster<CORES, TASKS>,
    pub(super) now: u64,
    running: [Option<TaskId>; CORES],
    /// The rest of each task's present job; none before its first dispatch.
    left: [Option<u64>; TASKS],
    /// The intervals in which each task ran; intervals that touch are joined.
    pub(super) intervals: Vec<Vec<(u64, u64)>>,
    /// The jobs completed after their deadlines.
    pub(super) late: Vec<(TaskId, u64)>,
    /// Completed jobs of each task.
    pub(super) completed: [u64; TASKS],
    /// All actions, with their times.
    pub(super) actions: Vec<(u64, Action)>,
    pub(super) switched_to_high: bool,
}

impl<const CORES: usize, const TASKS: usize> Simulation<CORES, TASKS> {
    pub(super) fn new(cluster: Cluster<CORES, TASKS>) -> Self {
        Self {
            cluster,
            now: 0,
            running: [None; CORES],
            left: [None; TASKS],
            intervals: vec![Vec::new(); TASKS],
            late: Vec::new(),
            completed: [0; TASKS],
            actions: Vec::new(),
            switched_to_high: false,
        }
    }

    /// Runs until `end`. A job of a task executes for as long as `execution` says at its first dispatch.
    pub(super) fn run(&mut self, end: u64, mut execution: impl FnMut(TaskId) -> u64) {
        loop {
            let next = self.decide(&mut execution);
            let completions = self.running.iter().flatten();
            let completions = completions.map(|id| self.now + self.left[id.index()].unwrap());
            let until = completions.fold(next.0, u64::min).min(end);
            self.advance(until);
            if until == end {
                return;
            }
        }
    }

    fn decide(&mut self, execution: &mut impl FnMut(TaskId) -> u64) -> Instant {
        let mut actions = Vec::new();
        let next = self
            .cluster
            .decide(Instant(self.now), &mut |action| actions.push(action));
        self.cluster.check();
        for action in actions {
            self.actions.push((self.now, action));
            match action {
                Action::Dispatch { core, task } => {
                    assert!(!self.running.contains(&Some(task)), "{task:?} runs already");
                    self.running[core] = Some(task);
                    self.left[task.index()].get_or_insert_with(|| execution(task));
                }
                Action::Idle { core } => self.running[core] = None,
                Action::Aborted { task } => {
                    self.left[task.index()] = None;
                    let runs = self.running.iter_mut().filter(|it| **it == Some(task));
                    runs.for_each(|it| *it = None);
                }
                Action::Switched(mode) => self.switched_to_high |= mode == Mode::High,
                Action::Overrun { .. } => {}
            }
        }
        next
    }

    /// Lets time pass, and completes the jobs that end then.
    fn advance(&mut self, until: u64) {
        let passed = until - self.now;
        for core in 0..CORES {
            let Some(id) = self.running[core] else {
                continue;
            };
            self.cluster.charge(core as Core, Duration(passed));
            *self.left[id.index()].as_mut().unwrap() -= passed;
            let intervals = &mut self.intervals[id.index()];
            match intervals.last_mut() {
                Some(last) if last.1 == self.now => last.1 = until,
                _ if passed > 0 => intervals.push((self.now, until)),
                _ => {}
            }
        }
        self.now = until;
        for core in 0..CORES {
            if let Some(id) = self.running[core]
                && self.left[id.index()] == Some(0)
            {
                let completion = self.cluster.complete(id, Instant(until)).unwrap();
                if completion.late > Duration(0) {
                    self.late.push((id, completion.late.0));
                }
                self.completed[id.index()] += 1;
                self.left[id.index()] = None;
                self.running[core] = None;
            }
        }
    }
}

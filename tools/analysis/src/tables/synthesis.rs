//! Tables for time-driven tasks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{TimeTable, frame};
use crate::model::{Task, utilisation};
use crate::{Error, Finding, Method, Result, Time};

/// [`synthesise`] and its sources.
pub const SYNTHESIS: Method = Method {
    name: "synthesis of a time table",
    source: "Horn, 1974: EDF finds an order of preemptible jobs if there is one; own: turns go on",
    assumptions: &[
        "jobs can be preempted at each multiple of the grid",
        "each job is released and due within its period of the frame",
        "a switch takes its time from the turn that begins; if switches take nothing, a table is found whenever there is \
         one",
    ],
};

/// What a table must keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Turns are multiples of this.
    pub grid: Time,
    /// What a switch takes from the turn that begins.
    pub lost: Time,
    /// The most turns, free ones included.
    pub turns: usize,
}

/// The most jobs of a frame.
const MOST_JOBS: i128 = 1 << 10;

/// A job, in steps of the grid.
#[derive(Clone, Copy)]
struct Job {
    task: usize,
    release: i128,
    due: i128,
    cost: i128,
}

/// A table in the making, in steps of the grid.
#[derive(Clone)]
struct State {
    now: i128,
    /// What is left of each job.
    left: Vec<i128>,
    /// The jobs that are released, in order of their releases.
    released: usize,
    /// The task that runs.
    running: Option<usize>,
    /// What is left of its switch.
    switch: i128,
}

/// All jobs of a frame, by their releases.
struct Jobs {
    all: Vec<Job>,
    lost: i128,
}

/// A table in which every task has its cost in each of its periods, in time.
///
/// At each release and each end, the running task continues if EDF can still do all other jobs in time, and else the job
/// runs that is due first; so there are no more switches than deadlines need.
///
/// # Errors
/// If there are no tasks, a parameter or the frame does not fit, jobs cannot be in time in any table, or none is found
/// with the time of switches or within the number of turns.
pub fn synthesise(tasks: &[Task], limits: &Limits) -> Result<Finding<TimeTable>> {
    let complain = |why: String| Err(Error::impossible("time table", why));
    if tasks.is_empty() {
        return complain("there are no tasks; name at least one".into());
    }
    if limits.grid <= Time::ZERO || limits.lost < Time::ZERO || limits.lost > Time::LONGEST {
        return complain("the grid must be positive, and the time of a switch not negative".into());
    }
    if utilisation(tasks) > num_traits::One::one() {
        return complain(
            "the tasks need more than the processor; reduce costs or lengthen periods".into(),
        );
    }
    let frame = frame(tasks.iter().map(Task::period))?;
    let jobs = Jobs::of(tasks, limits, frame)?;
    let start = jobs.start();
    let free = Jobs {
        all: jobs.all.clone(),
        lost: 0,
    };
    if let Some(late) = free.late(&start) {
        let job = &jobs.all[late];
        return complain(format!(
            "no table has the job of task `{}` that is released at {} done by {}; reduce the costs of jobs that are due \
             up to then, or allow later deadlines",
            tasks[job.task].name(),
            limits.grid * job.release,
            limits.grid * job.due
        ));
    }
    let Some(table) = jobs.table(start, limits.grid, frame) else {
        return Err(Error::NotApplicable {
            method: SYNTHESIS.name,
            why: format!(
                "the jobs are in time if switches take nothing, but no order was found in which each takes {}; reduce \
                 costs or allow later deadlines",
                limits.lost
            ),
        });
    };
    if table.turns.len() > limits.turns {
        return complain(format!(
            "{} turns were needed, and there are {}; choose periods with a smaller common multiple",
            table.turns.len(),
            limits.turns
        ));
    }
    Ok(SYNTHESIS.finds(table))
}

impl Jobs {
    fn of(tasks: &[Task], limits: &Limits, frame: Time) -> Result<Self> {
        let mut all = Vec::new();
        let count: i128 = tasks.iter().map(|task| frame.whole(task.period())).sum();
        if count > MOST_JOBS {
            let why = format!(
                "{frame}, the common multiple of the periods, has {count} jobs, above {MOST_JOBS}; choose periods that \
                 divide each other"
            );
            return Err(Error::impossible("time table", why));
        }
        for (place, task) in tasks.iter().enumerate() {
            let (period, offset) = (task.period(), task.parameters().offset);
            let complain =
                |why: String| Err(Error::impossible(format!("task `{}`", task.name()), why));
            if task.jitter() > Time::ZERO || !task.parameters().bursts.is_empty() {
                return complain(
                    "a time-driven task has neither jitter nor bursts; remove them".into(),
                );
            }
            if offset + task.deadline() > period {
                return complain(format!(
                    "its jobs are due {} after the start of their period of {period}; shorten the offset or the deadline",
                    offset + task.deadline()
                ));
            }
            if period.nanos() % limits.grid.nanos() != 0 {
                return complain(format!(
                    "its period of {period} is no multiple of the grid of {}",
                    limits.grid
                ));
            }
            let cost = task.cost().covered_by(limits.grid);
            for job in 0..frame.whole(period) {
                let release = period * job + offset;
                all.push(Job {
                    task: place,
                    release: release.covered_by(limits.grid),
                    due: (release + task.deadline()).whole(limits.grid),
                    cost,
                });
            }
        }
        all.sort_by_key(|job| (job.release, job.due));
        let lost = limits.lost.covered_by(limits.grid);
        Ok(Self { all, lost })
    }

    fn start(&self) -> State {
        State {
            now: 0,
            left: self.all.iter().map(|job| job.cost).collect(),
            released: 0,
            running: None,
            switch: 0,
        }
    }

    /// The jobs that become ready now.
    fn release(&self, state: &mut State) -> std::ops::Range<usize> {
        let before = state.released;
        let rest = &self.all[before..];
        state.released += rest.partition_point(|job| job.release <= state.now);
        before..state.released
    }

    /// Runs a job up to its end or the next release.
    fn run(&self, state: &mut State, job: usize) {
        let task = Some(self.all[job].task);
        if state.running != task {
            state.running = task;
            state.switch = self.lost;
        }
        let end = state.now + state.switch + state.left[job];
        let next = self.all.get(state.released);
        let until = next.map_or(end, |next| next.release.min(end));
        let passed = until - state.now;
        state.left[job] -= (passed - state.switch).max(0);
        state.switch = (state.switch - passed).max(0);
        state.now = until;
    }

    /// Nothing is ready: up to the next release, if there is one.
    fn idle(&self, state: &mut State) -> bool {
        state.running = None;
        let next = self.all.get(state.released);
        state.now = next.map_or(state.now, |next| next.release);
        next.is_some()
    }

    /// The first job that EDF does not do in time from a state on.
    fn late(&self, from: &State) -> Option<usize> {
        let mut state = from.clone();
        let due = |job: usize| Reverse((self.all[job].due, job));
        let open = (0..state.released).filter(|job| state.left[*job] > 0);
        let mut ready: BinaryHeap<_> = open.map(due).collect();
        loop {
            ready.extend(self.release(&mut state).map(due));
            let Some(Reverse((until, job))) = ready.peek().copied() else {
                if self.idle(&mut state) {
                    continue;
                }
                return None;
            };
            self.run(&mut state, job);
            // What is due before it ends does not wait for its end.
            if state.now + state.left[job] > until {
                return Some(job);
            }
            if state.left[job] == 0 {
                ready.pop();
            }
        }
    }

    /// A table from a state on, or none if a job would be late.
    fn table(&self, mut state: State, grid: Time, frame: Time) -> Option<TimeTable> {
        let mut table = TimeTable::default();
        loop {
            self.release(&mut state);
            let before = state.now;
            let mut open: Vec<_> = (0..state.released)
                .filter(|job| state.left[*job] > 0)
                .collect();
            if open.is_empty() {
                if !self.idle(&mut state) {
                    table.add(None, frame - grid * state.now);
                    return Some(table);
                }
                table.add(None, grid * (state.now - before));
                continue;
            }
            let order = |job: &usize| {
                let job = &self.all[*job];
                (Some(job.task) != state.running, job.due)
            };
            open.sort_by_key(order);
            let next = open.into_iter().find_map(|job| {
                let mut next = state.clone();
                self.run(&mut next, job);
                let is_late = next.now > self.all[job].due;
                (!is_late && self.late(&next).is_none()).then_some(next)
            })?;
            state = next;
            table.add(state.running, grid * (state.now - before));
        }
    }
}

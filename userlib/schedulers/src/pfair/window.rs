//! The windows of subtasks.

/// The share of a core that a task gets, in quanta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    /// The quanta of a job.
    pub budget: u32,
    /// The quanta from one release to the next, which are those to its deadline, too.
    pub period: u32,
}

/// The window of a subtask, from the release of its job.
pub(crate) struct Window {
    pub(crate) release: u64,
    pub(crate) deadline: u64,
    /// The b-bit.
    pub(crate) overlaps: bool,
    /// When the cascade of overlapping windows of two quanta ends that begins here if this subtask runs in its last quantum. 0 for
    /// weights below 1/2, whose windows are longer, and for 1, whose windows do not overlap.
    pub(crate) group: u64,
}

impl Weight {
    /// All are in the period, as jobs of the task start again with it.
    pub(crate) fn window(self, subtask: u32) -> Window {
        let [budget, period, subtask] = [self.budget, self.period, subtask].map(u64::from);
        let deadline = (subtask * period).div_ceil(budget);
        let rest = period - budget;
        let group = match 2 * budget >= period && rest > 0 {
            true => ((deadline * rest).div_ceil(period) * period).div_ceil(rest),
            false => 0,
        };
        Window {
            release: (subtask - 1) * period / budget,
            deadline,
            overlaps: !(subtask * period).is_multiple_of(budget),
            group,
        }
    }
}

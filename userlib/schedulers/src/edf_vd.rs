//! EDF with virtual deadlines (S. Baruah et al., ECRTS 2012): two criticality levels on one core, deadlines
//! equal to periods.

use crate::admission::Admission;
use crate::fraction::Fraction;
use crate::task::{Criticality, Task};
use crate::time::Duration;

/// The sufficient test of EDF-VD for the virtual deadlines that the tasks have.
///
/// With x the largest ratio of virtual deadline and period: in low mode the utilisation, with virtual
/// deadlines as periods of the high tasks, must not exceed 1; and neither may x times the utilisation of the
/// low tasks, plus that of the high tasks in high mode.
///
/// Or the low tasks, and the high ones with the budgets of high mode, need no virtual deadlines.
#[derive(Clone, Copy, Debug)]
pub struct EdfVd;

/// Why a set is refused by [`EdfVd`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAccepted {
    /// The test is for one core.
    ManyCores,
    /// A deadline differs from its task's period.
    Deadline,
    /// The tasks exceed the core in low mode.
    LowMode,
    /// The high tasks, with what low tasks may leave behind, exceed the core in high mode.
    HighMode,
}

/// The utilisations that the test needs.
#[derive(Clone, Copy)]
pub(crate) struct Shares {
    /// Of the low tasks.
    low: Fraction,
    /// Of the high tasks in low mode.
    high_in_low: Fraction,
    /// The same, with their virtual deadlines as periods.
    high_by_virtual: Fraction,
    /// Of the high tasks in high mode.
    high: Fraction,
    /// The largest ratio of virtual deadline and period.
    x: Fraction,
}

impl Shares {
    pub(crate) fn of(tasks: impl Iterator<Item = Task>) -> Self {
        let none = Fraction::ZERO;
        let mut shares = Self {
            low: none,
            high_in_low: none,
            high_by_virtual: none,
            high: none,
            x: none,
        };
        for task in tasks {
            let share = Fraction::of(task.budget, task.period);
            match task.criticality {
                Criticality::Low => shares.low = shares.low.plus(share),
                Criticality::High {
                    budget,
                    virtual_deadline,
                } => {
                    let by_virtual = Fraction::of(task.budget, virtual_deadline);
                    shares.high_in_low = shares.high_in_low.plus(share);
                    shares.high_by_virtual = shares.high_by_virtual.plus(by_virtual);
                    shares.high = shares.high.plus(Fraction::of(budget, task.period));
                    let ratio = Fraction::of(virtual_deadline, task.period);
                    shares.x = shares.x.max(ratio);
                }
            }
        }
        shares
    }

    /// Sets the virtual deadlines of tasks that have these shares when their deadlines are shorter by the latency.
    pub(crate) fn set_virtual_deadlines(
        self,
        tasks: &mut [Task],
        latency: Duration,
    ) -> Result<(), NotAccepted> {
        let plain = self.low.plus(self.high).is_at_most_one();
        for task in tasks {
            let Criticality::High {
                budget,
                virtual_deadline,
            } = &mut task.criticality
            else {
                continue;
            };
            if plain {
                *virtual_deadline = task.deadline;
                task.budget = *budget;
            } else {
                let period = task.period - latency;
                let scaled = self.high_in_low.scale(self.low, period);
                *virtual_deadline = scaled.ok_or(NotAccepted::LowMode)? + latency;
            }
        }
        Ok(())
    }
}

impl EdfVd {
    /// Sets the virtual deadlines of the high tasks: x times their periods, with the least x that keeps all
    /// deadlines in low mode, rounded up. If no virtual ones are needed, the deadlines stay, and so that the
    /// mode never switches the high tasks get their budgets of high mode in both.
    ///
    /// The least x leaves no time for a scheduler: [`Charged`](crate::Charged) has the same function with overheads.
    pub fn set_virtual_deadlines(self, tasks: &mut [Task]) -> Result<(), NotAccepted> {
        let shares = Shares::of(tasks.iter().copied());
        shares.set_virtual_deadlines(tasks, Duration(0))?;
        self.test(1, tasks.iter().copied())
    }
}

impl Admission for EdfVd {
    type Reason = NotAccepted;

    fn test(
        &self,
        cores: usize,
        tasks: impl Iterator<Item = Task> + Clone,
    ) -> Result<(), NotAccepted> {
        if cores != 1 {
            return Err(NotAccepted::ManyCores);
        }
        if tasks.clone().any(|task| task.deadline != task.period) {
            return Err(NotAccepted::Deadline);
        }
        let shares = Shares::of(tasks.clone());
        if !shares.low.plus(shares.high_by_virtual).is_at_most_one() {
            return Err(NotAccepted::LowMode);
        }
        if shares.low.plus(shares.high).is_at_most_one() {
            return Ok(());
        }
        let high = shares.x.times(shares.low).plus(shares.high);
        if high.is_at_most_one() {
            Ok(())
        } else {
            Err(NotAccepted::HighMode)
        }
    }
}

//! EDF with virtual deadlines, for two levels of criticality.

use num_traits::{One, Zero};

use crate::fault::{self, Fault};
use crate::model::{Parameters, Task};
use crate::supply::Processor;
use crate::{Error, Finding, Method, Ratio, Result, Time};

use super::demand::schedulable;

/// [`virtual_deadlines`] and its source.
pub const EDF_VD: Method = Method {
    name: "EDF with virtual deadlines (EDF-VD)",
    source: "Baruah, Bonifaci, D'Angelo, Li, Marchetti-Spaccamela, van der Ster and Stougie, ECRTS 2012",
    assumptions: &[
        "one processor, two levels: criticality 0 is low, all above are high",
        "deadlines equal periods, without jitter",
        "when a high job uses more than its low cost, low jobs are dropped or run in the time left over, and high jobs \
         have their own deadlines again",
    ],
};

/// How to schedule a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualDeadlines {
    /// The factor `x`; 1 if EDF with the tasks' own deadlines suffices.
    pub factor: Ratio,
    /// The relative deadline of each task while no job has used more than its low cost: `x` times the period for high
    /// tasks, rounded down.
    pub deadlines: Vec<Time>,
}

/// The virtual deadlines with which a set is schedulable in both modes, or none if the test does not find any.
///
/// Deadlines are whole nanoseconds. Rounding down is safe for the high mode, and the low mode is tested with the
/// rounded ones.
///
/// # Errors
/// If deadlines are not the periods, a task has jitter or more than two costs, or the search does not end.
pub fn virtual_deadlines(tasks: &[Task]) -> Result<Finding<Option<VirtualDeadlines>>> {
    let is_high = |task: &Task| task.parameters().criticality > 0;
    for task in tasks {
        let Parameters { costs, jitter, .. } = task.parameters();
        if task.deadline() != task.period() || *jitter > Time::ZERO || costs.len() > 2 {
            return Err(Error::NotApplicable {
                method: EDF_VD.name,
                why: format!(
                    "task `{}` has a deadline other than its period, jitter, or more than two costs",
                    task.name()
                ),
            });
        }
    }
    let sum = |high: bool, level: usize| {
        let of = tasks.iter().filter(|task| is_high(task) == high);
        of.map(|task| task.cost_at(level).over(task.period()))
            .fold(Ratio::zero(), |sum, rate| sum + rate)
    };
    let (low, high_low, high) = (sum(false, 0), sum(true, 0), sum(true, 1));
    let periods = || tasks.iter().map(Task::period).collect();
    if &low + &high <= Ratio::one() {
        let factor = Ratio::one();
        let deadlines = periods();
        return Ok(EDF_VD.finds(Some(VirtualDeadlines { factor, deadlines })));
    }
    if low >= Ratio::one() || low.is_zero() {
        return Ok(EDF_VD.finds(None));
    }
    let least = high_low / (Ratio::one() - &low);
    let most = (Ratio::one() - high) / low;
    if least > most {
        return Ok(EDF_VD.finds(None));
    }
    // The least factor is the paper's; the largest one leaves room for rounding.
    for factor in [least, most.min(Ratio::one())] {
        let shorten = |task: &Task| match is_high(task) {
            true if !fault::is(Fault::VirtualDeadlines) => {
                Time::floor(&(task.period().ratio() * &factor))
            }
            _ => task.period(),
        };
        let deadlines: Vec<_> = tasks.iter().map(shorten).collect();
        let in_low_mode = tasks.iter().zip(&deadlines).map(|(task, deadline)| {
            Task::new(Parameters {
                costs: vec![task.cost_at(0)],
                deadline: *deadline,
                ..task.parameters().clone()
            })
        });
        let Ok(in_low_mode) = in_low_mode.collect::<Result<Vec<_>>>() else {
            continue;
        };
        if schedulable(&in_low_mode, &[], &Processor)?.value.holds() {
            return Ok(EDF_VD.finds(Some(VirtualDeadlines { factor, deadlines })));
        }
    }
    Ok(EDF_VD.finds(None))
}

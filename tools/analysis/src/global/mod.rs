//! Global EDF: on several cores, the jobs with the earliest deadlines run, wherever they ran before.
//!
//! None of the tests dominates the others, and all are sufficient only: [`any`] asks one after the other.

mod bertogna;
mod density;
mod forced;
mod interval;
mod load;
mod tardiness;

use num_traits::One;

use crate::fault::{self, Fault};
use crate::model::{Task, utilisation};
use crate::{Error, Finding, Method, Ratio, Result, Time, Verdict};

pub use bertogna::{BCL, BCL_ITERATIVE, RESPONSE_TIME, bcl, bcl_iterative, response_times, rta};
pub use density::{BAK, GFB, bak, gfb};
pub use forced::{FF_DBF, ff_dbf};
pub use interval::{BAR, bar};
pub use load::{LOAD, load};
pub use tardiness::{TARDINESS, tardiness};

/// A set and its number of cores, for which the tests are valid.
struct Set<'a> {
    tasks: &'a [Task],
    cores: i128,
    /// The whole number of cores, as a fraction.
    capacity: Ratio,
}

impl<'a> Set<'a> {
    /// Of constrained deadlines, without jitter.
    fn new(method: &'static Method, tasks: &'a [Task], cores: usize) -> Result<Self> {
        let refuse = |why: String| {
            let method = method.name;
            Err(Error::NotApplicable { method, why })
        };
        if cores == 0 || cores > crate::model::MOST {
            return refuse(format!("there are {cores} cores"));
        }
        for task in tasks {
            if task.jitter() > Time::ZERO {
                return refuse(format!("task `{}` has jitter", task.name()));
            }
            if task.deadline() > task.period() {
                return refuse(format!(
                    "the deadline of task `{}` is above its period",
                    task.name()
                ));
            }
        }
        let cores = cores as i128;
        let capacity = Ratio::from_integer(cores.into());
        Ok(Self {
            tasks,
            cores,
            capacity,
        })
    }

    fn densest(&self) -> Ratio {
        let densities = self.tasks.iter().map(Task::density);
        densities
            .max()
            .unwrap_or_else(|| Ratio::from_integer(0.into()))
    }

    /// `m - (m - 1) density`: what the other tasks may use beside a task of this density.
    fn beside(&self, density: &Ratio) -> Ratio {
        let others = &self.capacity - Ratio::one();
        &self.capacity - fault::unless(Fault::LargestDensity, others) * density
    }

    fn utilisation(&self) -> Ratio {
        utilisation(self.tasks)
    }

    /// The sum of (T - D) C / T: by how much the demand of a window can be above the utilisation.
    fn early(&self) -> Ratio {
        let of = |task: &Task| (task.period() - task.deadline()).ratio() * task.utilisation();
        let zero = Ratio::from_integer(0.into());
        self.tasks.iter().map(of).fold(zero, |sum, each| sum + each)
    }
}

/// A test of this module.
pub type Test = fn(&[Task], usize) -> Result<Finding<Verdict>>;

/// All tests, the fastest first.
pub const TESTS: [Test; 8] = [gfb, bak, bcl, bcl_iterative, rta, load, bar, ff_dbf];

/// The first test that shows that all deadlines hold, or the last one if none does.
///
/// # Errors
/// If no test applies. A test that only gave up its search is passed over.
pub fn any(tasks: &[Task], cores: usize) -> Result<Finding<Verdict>> {
    let mut last = Ok(GFB.finds(Verdict::Unknown));
    for test in TESTS {
        match test(tasks, cores) {
            Ok(found) if found.value.holds() => return Ok(found),
            Err(Error::NotFound { .. }) => {}
            other => last = other,
        }
    }
    last
}

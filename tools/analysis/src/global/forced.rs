//! The test by demand that is forced forward.

use num_integer::Integer;
use num_traits::{One, Zero};

use crate::fault::{self, Fault};
use crate::model::Task;
use crate::search::Search;
use crate::{Error, Finding, Method, Ratio, Result, Time, Verdict};

use super::Set;
use super::density::ASSUMPTIONS;

/// [`ff_dbf`] and its source.
pub const FF_DBF: Method = Method {
    name: "G-EDF forced-forward demand test (FF-DBF)",
    source: "Baruah, Bonifaci, Marchetti-Spaccamela and Stiller, RTS 2010",
    assumptions: ASSUMPTIONS,
};

/// There is a speed, of at least the largest density and at most 1, such that all windows hold the demand that is
/// forced forward by jobs of that speed: `demand <= (m - (m - 1) speed) window`.
///
/// Both sides of that are straight or convex in the speed. So the speeds that are possible for a window are an interval,
/// and so are those that are possible for all. The search begins at the least speed; a window that does not hold its
/// demand moves it up to where the tangent of the difference is zero (Newton's method), which no possible speed is below.
///
/// # Errors
/// If the set has jitter or deadlines above periods, or the search does not end.
pub fn ff_dbf(tasks: &[Task], cores: usize) -> Result<Finding<Verdict>> {
    let set = Set::new(&FF_DBF, tasks, cores)?;
    let mut search = Search::of("the task set");
    let mut speed = set.densest();
    while speed <= Ratio::one() {
        speed = match advance(&set, &speed, &mut search)? {
            Next::Suffices => return Ok(FF_DBF.finds(Verdict::Holds)),
            Next::AtLeast(faster) => faster,
            Next::None => break,
        };
    }
    Ok(FF_DBF.finds(Verdict::Unknown))
}

/// What the windows say of a speed.
enum Next {
    /// All hold their demand.
    Suffices,
    /// No speed below this one suffices.
    AtLeast(Ratio),
    /// No higher speed suffices either.
    None,
}

fn advance(set: &Set<'_>, speed: &Ratio, search: &mut Search<'_>) -> Result<Next> {
    let left = set.beside(speed) - set.utilisation();
    if left < Ratio::zero() {
        return Ok(Next::None);
    }
    let last = last_window(set, &left)?;
    // Between deadlines the demand grows faster and faster, so it is checked at deadlines.
    for task in set.tasks {
        for job in 0.. {
            let window = task.deadline() + task.period() * job;
            if window > last {
                break;
            }
            search.step(window)?;
            let line = Line::at(set, speed, window);
            if line.is_above_zero(speed) {
                return Ok(line.zero().map_or(Next::None, Next::AtLeast));
            }
        }
    }
    Ok(Next::Suffices)
}

/// The last window in which the demand can be too large. The demand of a task is at most that of its utilisation, and
/// (T - D) C / T more, at its deadlines.
fn last_window(set: &Set<'_>, left: &Ratio) -> Result<Time> {
    let early = set.early();
    if early.is_zero() {
        return Ok(Time::ZERO);
    }
    if !left.is_zero() {
        return Ok(Time::floor(&(early / left)));
    }
    // Then the difference repeats with all periods.
    let mut all = Time::of(1);
    for task in set.tasks {
        all = Time::of(all.nanos().lcm(&task.period().nanos()));
        if all > Time::HORIZON {
            return Err(Error::NotFound {
                what: "the task set".into(),
                reached: Time::HORIZON,
            });
        }
    }
    Ok(all)
}

/// The demand of a window less what it holds, as a line in the speed: `at_rest - slope * speed`. It is the tangent at one
/// speed.
struct Line {
    at_rest: i128,
    slope: i128,
}

impl Line {
    fn at(set: &Set<'_>, speed: &Ratio, window: Time) -> Self {
        let mut line = Self {
            at_rest: -set.cores * window.nanos(),
            slope: -(set.cores - 1) * window.nanos(),
        };
        for task in set.tasks {
            let jobs = window.whole(task.period());
            let rest = window - task.period() * jobs;
            let missing = (task.deadline() - rest).nanos().max(0);
            line.at_rest += task.cost().nanos() * jobs;
            if missing > 0 && fault::is(Fault::ForcedForward) {
                continue;
            }
            // A job that can wait does not count.
            if speed.denom() * task.cost().nanos() > speed.numer() * missing {
                line.at_rest += task.cost().nanos();
                line.slope += missing;
            }
        }
        line
    }

    fn is_above_zero(&self, speed: &Ratio) -> bool {
        speed.denom() * self.at_rest > speed.numer() * self.slope
    }

    /// The speed at which a line that falls is zero.
    fn zero(&self) -> Option<Ratio> {
        (self.slope > 0).then(|| Ratio::new(self.at_rest.into(), self.slope.into()))
    }
}

//! How often jobs arrive.

use crate::fault::{self, Fault};
use crate::{Error, Ratio, Result, Time};

/// An arrival curve: the shortest windows in which two, three, and more jobs arrive. After the last, arrivals repeat: no
/// window of its length has more jobs than the curve has windows.
///
/// A sporadic task has one window, its period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrivals(Vec<Time>);

impl Arrivals {
    /// With these shortest windows: between the arrivals of two jobs, of three, and so on.
    ///
    /// # Errors
    /// If there is none, they do not begin above zero, they become shorter, or one is above [`Time::LONGEST`].
    pub fn new(mut windows: Vec<Time>) -> Result<Self> {
        let complain = |why: &str| Err(Error::impossible("arrivals", why));
        if !windows.is_sorted() {
            return complain("more jobs do not arrive in a shorter window; order the windows");
        }
        // Several jobs take no less time than any two parts of them.
        for more in 1..windows.len() {
            let parts = (0..more).map(|one| windows[one] + windows[more - 1 - one]);
            windows[more] = parts.fold(windows[more], Time::max);
        }
        match (windows.first(), windows.last()) {
            (Some(first), Some(last)) if *first > Time::ZERO && *last <= Time::LONGEST => {
                Ok(Self(windows))
            }
            _ => complain("state at least one window, longer than zero and not above 2^50 ns"),
        }
    }

    /// The shortest window of two jobs.
    pub fn shortest(&self) -> Time {
        self.0[0]
    }

    fn last(&self) -> Time {
        self.0[self.0.len() - 1]
    }

    fn count(&self) -> i128 {
        self.0.len() as i128
    }

    /// The most jobs that arrive in a window of this length.
    pub fn most_in(&self, window: Time) -> i128 {
        if window <= Time::ZERO {
            return 0;
        }
        // Whole repetitions, and a rest that is not empty.
        let whole = window.covered_by(self.last()) - 1;
        let rest = window - self.last() * whole;
        let further = self.0.iter().take_while(|shortest| **shortest < rest);
        whole * self.count() + 1 + fault::unless(Fault::Bursts, further.count() as i128)
    }

    /// The shortest time from the arrival of one job to that of the job with this number after it.
    pub fn until(&self, job: i128) -> Time {
        let rest = job.rem_euclid(self.count()) as usize;
        let further = rest
            .checked_sub(1)
            .map_or(Time::ZERO, |place| self.0[place]);
        self.last() * job.div_euclid(self.count()) + further
    }

    /// The share of the processor that jobs of a cost need in the long run.
    pub fn rate(&self, cost: Time) -> Ratio {
        (cost * self.count()).over(self.last())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(windows: &[i128]) -> Arrivals {
        Arrivals::new(windows.iter().map(|window| Time::of(*window)).collect()).unwrap()
    }

    /// Three jobs at once, nearly, then a pause.
    #[test]
    fn bursts_repeat() {
        let bursts = arrivals(&[1, 2, 20]);
        let most =
            [0, 1, 2, 3, 20, 21, 22, 23, 40, 41].map(|window| bursts.most_in(Time::of(window)));
        assert_eq!(most, [0, 1, 2, 3, 3, 4, 5, 6, 6, 7]);
        let until = [0, 1, 2, 3, 4, 5, 6].map(|job| bursts.until(job).nanos());
        assert_eq!(until, [0, 1, 2, 20, 21, 22, 40]);
        assert_eq!(bursts.rate(Time::of(2)), Time::of(6).over(Time::of(20)));
    }

    /// A job arrives in all windows that are longer than the time until it, and in no shorter one.
    #[test]
    fn both_forms_agree() {
        for windows in [&[5][..], &[3, 3], &[1, 6, 7, 7, 30], &[4, 8, 30]] {
            let arrivals = arrivals(windows);
            for job in 0..40 {
                let until = arrivals.until(job);
                assert!(arrivals.most_in(until) <= job, "{windows:?} {job}");
                assert!(
                    arrivals.most_in(until + Time::of(1)) > job,
                    "{windows:?} {job}"
                );
            }
        }
    }

    #[test]
    fn shorter_windows_make_longer_ones_longer() {
        assert_eq!(arrivals(&[104, 110]), arrivals(&[104, 208]));
        assert_eq!(arrivals(&[1, 6, 7, 7]), arrivals(&[1, 6, 7, 12]));
    }

    #[test]
    fn impossible_windows_are_refused() {
        for windows in [&[][..], &[0], &[5, 4], &[1 << 51]] {
            let windows = windows.iter().map(|window| Time::of(*window)).collect();
            Arrivals::new(windows).unwrap_err();
        }
    }
}

//! What threads of higher priority leave.

use num_traits::One;

use super::response::Interference;
use crate::supply::{Supply, parts_per_million};
use crate::{Error, Method, Ratio, Result, Time};

/// [`Residual`] and its source.
pub const RESIDUAL: Method = Method {
    name: "supply that threads of higher priority leave",
    source: "Thiele, Chakraborty and Naedele, ISCAS 2000 (remaining service)",
    assumptions: &[
        "the window begins when all of them are released at once, and a section of the kernel begins",
    ],
};

/// The processor without the execution of threads of higher priority.
#[derive(Clone, Debug)]
pub struct Residual {
    others: Vec<Interference>,
    blocking: Time,
}

impl Residual {
    /// Without these threads, and without the longest section that can have begun before.
    ///
    /// # Errors
    /// If they can use all of the processor.
    pub fn new(others: Vec<Interference>, blocking: Time) -> Result<Self> {
        let rates = others.iter().map(Interference::rate);
        let used = rates.fold(Ratio::default(), |sum, rate| sum + rate);
        if used >= Ratio::one() {
            return Err(Error::Overload {
                what: "threads of higher priority".into(),
                needed: parts_per_million(&used).saturating_add(1),
                supplied: 1_000_000,
            });
        }
        Ok(Self { others, blocking })
    }
}

impl Supply for Residual {
    fn in_window(&self, window: Time) -> Time {
        // The most work that is done by then.
        let (mut low, mut high) = (Time::ZERO, window.max(Time::ZERO));
        while low < high {
            let middle = high - Time::of((high - low).nanos() / 2);
            if self.window_for(middle) <= window {
                low = middle;
            } else {
                high = middle - Time::of(1);
            }
        }
        low
    }

    fn window_for(&self, work: Time) -> Time {
        if work <= Time::ZERO {
            return Time::ZERO;
        }
        let mut window = self.blocking + work;
        loop {
            let used: Time = self.others.iter().map(|one| one.in_window(window)).sum();
            let next = self.blocking + work + used;
            // Threads that leave next to nothing are treated as if they left nothing.
            if next <= window || window > Time::HORIZON {
                return next.max(window);
            }
            window = next;
        }
    }

    fn rate(&self) -> Ratio {
        let rates = self.others.iter().map(Interference::rate);
        rates.fold(Ratio::one(), |left, rate| left - rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Task;

    #[test]
    fn what_is_left_is_what_a_simulation_leaves() {
        let others = [(2, 7), (3, 11)].map(|(cost, period)| {
            Interference::of(&Task::periodic("o", Time::of(cost), Time::of(period)).unwrap())
        });
        let supply = Residual::new(others.to_vec(), Time::of(1)).unwrap();
        // All are released at 0, after a section of 1.
        let (mut left, mut waiting) = (0, 1);
        for now in 0..400 {
            assert_eq!(supply.in_window(Time::of(now)), Time::of(left), "at {now}");
            if left > 0 {
                let begins = supply.window_for(Time::of(left));
                assert!(begins <= Time::of(now));
            }
            for (cost, period) in [(2, 7), (3, 11)] {
                waiting += if now % period == 0 { cost } else { 0 };
            }
            match waiting {
                0 => left += 1,
                _ => waiting -= 1,
            }
        }
    }

    #[test]
    fn threads_that_use_everything_leave_nothing() {
        let all = Task::periodic("all", Time::of(5), Time::of(5)).unwrap();
        Residual::new(vec![Interference::of(&all)], Time::ZERO).unwrap_err();
    }
}

//! The supply that threads of higher priority leave.

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

/// A supply without the execution of threads of higher priority.
#[derive(Clone, Debug)]
pub struct Residual<'a> {
    of: &'a dyn Supply,
    others: Vec<Interference>,
    blocking: Time,
}

impl<'a> Residual<'a> {
    /// What is left of a supply without these threads, and without the longest section that can have begun before.
    ///
    /// # Errors
    /// If they can use all of it.
    pub fn new(of: &'a dyn Supply, others: Vec<Interference>, blocking: Time) -> Result<Self> {
        let rates = others.iter().map(Interference::rate);
        let used = rates.fold(Ratio::default(), |sum, rate| sum + rate);
        if used >= of.rate() {
            return Err(Error::Overload {
                what: "threads of higher priority".into(),
                needed: parts_per_million(&used).saturating_add(1),
                supplied: parts_per_million(&of.rate()),
            });
        }
        Ok(Self {
            of,
            others,
            blocking,
        })
    }
}

impl Supply for Residual<'_> {
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
        let mut window = self.of.window_for(self.blocking + work);
        loop {
            let used: Time = self.others.iter().map(|one| one.in_window(window)).sum();
            let next = self.of.window_for(self.blocking + work + used);
            // Threads that leave next to nothing are treated as if they left nothing.
            if next <= window || window > Time::HORIZON {
                return next.max(window);
            }
            window = next;
        }
    }

    fn rate(&self) -> Ratio {
        let rates = self.others.iter().map(Interference::rate);
        rates.fold(self.of.rate(), |left, rate| left - rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Task;
    use crate::supply::{Processor, Table};

    /// All are released at 0, after a section of 1, when the supply is absent for longest.
    fn matches(of: &dyn Supply, is_there: impl Fn(i128) -> bool, periods: [i128; 2]) {
        let others = [(2, periods[0]), (3, periods[1])].map(|(cost, period)| {
            Interference::of(&Task::periodic("o", Time::of(cost), Time::of(period)).unwrap())
        });
        let supply = Residual::new(of, others.to_vec(), Time::of(1)).unwrap();
        let (mut left, mut waiting) = (0, 1);
        for now in 0..400 {
            assert_eq!(supply.in_window(Time::of(now)), Time::of(left), "at {now}");
            if left > 0 {
                let begins = supply.window_for(Time::of(left));
                assert!(begins <= Time::of(now));
            }
            for (cost, period) in [(2, periods[0]), (3, periods[1])] {
                waiting += if now % period == 0 { cost } else { 0 };
            }
            match waiting {
                _ if !is_there(now) => {}
                0 => left += 1,
                _ => waiting -= 1,
            }
        }
    }

    #[test]
    fn what_is_left_is_what_a_simulation_leaves() {
        matches(&Processor, |_| true, [7, 11]);
    }

    #[test]
    fn of_a_table_only_its_turns_are_left() {
        let turns = [(Time::of(5), false), (Time::of(8), true)];
        let table = Table::new(&turns, Time::ZERO).unwrap();
        matches(&table, |now| now % 13 >= 5, [17, 23]);
    }

    #[test]
    fn threads_that_use_everything_leave_nothing() {
        let all = Task::periodic("all", Time::of(5), Time::of(5)).unwrap();
        let others = vec![Interference::of(&all)];
        Residual::new(&Processor, others, Time::ZERO).unwrap_err();
    }
}

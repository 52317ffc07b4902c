//! A guest as one task.

use num_bigint::BigInt;
use num_traits::{One, ToPrimitive, Zero};

use crate::model::{Task, utilisation};
use crate::supply::Recurring;
use crate::{Error, Finding, Method, Ratio, Result, Time};

/// [`proxy`] and its sources.
pub const PROXY: Method = Method {
    name: "proxy of a rate-monotonic guest",
    source: "Kaiser, OSPERT 2008; Liu and Layland, JACM 1973",
    assumptions: &[
        "the guest schedules its tasks rate-monotonically; deadlines equal periods, without jitter and blocking",
        "all proxies are admitted by one rate-monotonic or EDF test",
        "fixed slots: the guest runs at the same place of every period of the proxy",
        "sliding budgets: the proxy's period is at most a quarter of the shortest of the tasks, which random tests \
         support, but no proof; `edf::schedulable` or `fixed::response_time` on the returned supply decides",
    ],
};

/// Where in its period a guest's budget is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slots {
    /// Always at the same place, as in a time table.
    Fixed,
    /// Anywhere, as with a scheduling context below others.
    Sliding,
}

/// A task that stands for a guest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proxy {
    /// Its budget, rounded up.
    pub budget: Time,
    /// Its period.
    pub period: Time,
    /// Which formula was used.
    pub slots: Slots,
    /// Its share of the processor over that of its tasks.
    pub price: f64,
}

/// The proxy of a guest with these tasks, or none if the formula asks for more than the whole processor.
///
/// The time that the guest does not have is seen as a task of highest priority beside its own, and the bound of Liu and
/// Layland is solved for it: `2 p (1 - 1 / (U / n + 1)^n)`, where `p` is the shortest period.
///
/// # Errors
/// If there are no tasks, or deadlines are not periods.
pub fn proxy(tasks: &[Task], slots: Slots) -> Result<Finding<Option<Proxy>>> {
    let refuse = |why: String| {
        let method = PROXY.name;
        Err(Error::NotApplicable { method, why })
    };
    let Some(shortest) = tasks.iter().map(Task::period).min() else {
        return refuse("the guest has no tasks".into());
    };
    let implicit = |task: &&Task| task.deadline() != task.period() || task.jitter() > Time::ZERO;
    if let Some(task) = tasks.iter().find(implicit) {
        let name = task.name();
        return refuse(format!(
            "the deadline of task `{name}` is not its period, or it has jitter"
        ));
    }
    let period = match slots {
        Slots::Fixed => shortest,
        Slots::Sliding => Time::of(shortest.nanos() / 4),
    };
    let used = utilisation(tasks);
    let budget = Time::ceil(&(share_for(&used, tasks.len()) * period.ratio()));
    let fits = budget > Time::ZERO && budget <= period;
    let price = match fits {
        true => budget.over(period) / used,
        false => Ratio::zero(),
    };
    let price = price.to_f64().unwrap_or(f64::INFINITY);
    Ok(PROXY.finds(fits.then_some(Proxy {
        budget,
        period,
        slots,
        price,
    })))
}

impl Proxy {
    /// What the guest surely gets.
    ///
    /// # Errors
    /// Never for a proxy that [`proxy`] made.
    pub fn supply(&self) -> Result<Recurring> {
        match self.slots {
            Slots::Fixed => Recurring::fixed_slot(self.budget, self.period),
            Slots::Sliding => Recurring::sliding(self.budget, self.period),
        }
    }
}

/// Whether tasks of utilisation `used` fit into a guest whose proxy has this budget in this period: the condition of
/// [`proxy`], read in the other direction, without roots.
///
/// # Errors
/// If there are no tasks, or 0 < `budget` <= `period` does not hold.
pub fn fits_beside(
    used: &Ratio,
    count: usize,
    budget: Time,
    period: Time,
) -> Result<Finding<bool>> {
    if count == 0 || budget <= Time::ZERO || budget > period {
        let why = format!(
            "{count} tasks on a budget of {budget} in {period} are impossible; there must be a task, and the budget \
             must be positive and fit into the period"
        );
        return Err(Error::impossible("proxy", why));
    }
    Ok(PROXY.finds(share_for(used, count) <= budget.over(period)))
}

/// Bits behind the point of powers. They are rounded down, so that shares are rounded up, by less than 2^-100.
const BITS: u32 = 128;

/// The share of the processor that `count` tasks of utilisation `used` need.
fn share_for(used: &Ratio, count: usize) -> Ratio {
    let count_of = Ratio::from_integer(count.into());
    let left = power(&(&count_of / (used + &count_of)), count);
    (Ratio::one() - left) * Ratio::from_integer(2.into())
}

/// A power of a number from 0 to 1, rounded down.
fn power(base: &Ratio, exponent: usize) -> Ratio {
    let scale = BigInt::from(2).pow(BITS);
    let mut base = (base * &scale).floor().to_integer();
    let (mut result, mut exponent) = (scale.clone(), exponent);
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = result * &base / &scale;
        }
        base = &base * &base / &scale;
        exponent /= 2;
    }
    Ratio::new(result, scale)
}

/// The other direction as a number: the utilisation that `count` tasks may have in a guest whose proxy has this share of
/// the processor. For very many tasks it is close to `ln(2 / (2 - share))`. It has a root, so it is for people;
/// [`fits_beside`] decides.
pub fn bound_beside(share: f64, count: usize) -> f64 {
    let missing = 1.0 - share;
    let count = count as f64;
    count * ((2.0 / (missing + 1.0)).powf(1.0 / count) - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(parts: u32) -> Ratio {
        Ratio::new(parts.into(), 100.into())
    }

    fn share(parts: u32, count: usize) -> f64 {
        share_for(&percent(parts), count).to_f64().unwrap()
    }

    #[test]
    fn the_formulas_invert_each_other() {
        for count in 1..=100 {
            for used in [10, 30, 50, 65] {
                let back = bound_beside(share(used, count), count);
                let expected = f64::from(used) / 100.0;
                assert!((back - expected).abs() < 1e-9, "{used} {count} {back}");
            }
        }
    }

    #[test]
    fn shares_cost_what_is_published() {
        let price = |used, count| share(used, count) / f64::from(used) * 100.0;
        let near = |value: f64, expected: f64| (value - expected).abs() < 0.006;
        assert!(near(price(30, 1), 1.54) && near(price(30, 60_000), 1.73));
        assert!(near(price(50, 1), 1.33) && near(price(50, 60_000), 1.57));
        let limit = 2.0 * (1.0 - (-0.5f64).exp());
        assert!((share(50, 60_000) - limit).abs() < 1e-5);
        // Without a hole, it is the bound of Liu and Layland.
        assert!(near(bound_beside(1.0, 2), 0.828) && near(bound_beside(1.0, 1_000_000), 0.693));
    }

    /// For one and two tasks the powers are short fractions; for more they are compared without rounding.
    #[test]
    fn shares_are_exact_or_rounded_up_by_next_to_nothing() {
        for count in 1..=12 {
            for used in 1..=99 {
                let used = percent(used);
                let whole = Ratio::from_integer(count.into());
                let base = &whole / (&used + &whole);
                let mut left = Ratio::one();
                (0..count).for_each(|_| left = &left * &base);
                let exact = (Ratio::one() - left) * Ratio::from_integer(2.into());
                let over = share_for(&used, count) - &exact;
                let least = Ratio::new(1.into(), BigInt::from(2).pow(100));
                assert!(over >= Ratio::zero() && over < least, "{used} {count}");
            }
        }
    }

    #[test]
    fn the_budget_of_a_proxy_is_the_least_that_fits_beside() {
        let tasks = [(2, 20), (4, 40), (5, 50)].map(|(cost, period)| {
            Task::periodic("task", Time::from_millis(cost), Time::from_millis(period)).unwrap()
        });
        let found = proxy(&tasks, Slots::Fixed).unwrap().value.unwrap();
        let fits = |budget| {
            fits_beside(&percent(30), 3, budget, found.period)
                .unwrap()
                .value
        };
        assert!(fits(found.budget) && !fits(found.budget - Time::from_nanos(1)));
        fits_beside(&percent(30), 0, found.budget, found.period).unwrap_err();
        fits_beside(&percent(30), 3, found.period + found.budget, found.period).unwrap_err();
    }
}

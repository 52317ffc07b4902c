//! A guest as one task.

use num_traits::ToPrimitive;

use crate::model::{Task, utilisation};
use crate::supply::Recurring;
use crate::{Error, Finding, Method, Result, Time};

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
    let used = utilisation(tasks).to_f64().unwrap_or(f64::INFINITY);
    let share = share_for(used, tasks.len());
    let budget = Time::of((share * period.nanos() as f64).ceil() as i128 + 1);
    let fits = budget <= period;
    let price = budget.nanos() as f64 / period.nanos() as f64 / used;
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

/// The share of the processor that `count` tasks of utilisation `used` need.
fn share_for(used: f64, count: usize) -> f64 {
    let count = count as f64;
    2.0 * (1.0 - (used / count + 1.0).powf(-count))
}

/// The other direction: the utilisation that `count` tasks may have in a guest whose proxy has this share of the
/// processor. For very many tasks it is close to `ln(2 / (2 - share))`.
pub fn bound_beside(share: f64, count: usize) -> f64 {
    let missing = 1.0 - share;
    let count = count as f64;
    count * ((2.0 / (missing + 1.0)).powf(1.0 / count) - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formulas_invert_each_other() {
        for count in 1..=100 {
            for used in [0.1, 0.3, 0.5, 0.65] {
                let back = bound_beside(share_for(used, count), count);
                assert!((back - used).abs() < 1e-9, "{used} {count} {back}");
            }
        }
    }

    #[test]
    fn shares_cost_what_is_published() {
        let price = |used, count| share_for(used, count) / used;
        let near = |value: f64, expected: f64| (value - expected).abs() < 0.006;
        assert!(near(price(0.3, 1), 1.54) && near(price(0.3, 100_000), 1.73));
        assert!(near(price(0.5, 1), 1.33) && near(price(0.5, 100_000), 1.57));
        let limit = 2.0 * (1.0 - (-0.5f64).exp());
        assert!((share_for(0.5, 1_000_000) - limit).abs() < 1e-6);
        // Without a hole, it is the bound of Liu and Layland.
        assert!(near(bound_beside(1.0, 2), 0.828) && near(bound_beside(1.0, 1_000_000), 0.693));
    }
}

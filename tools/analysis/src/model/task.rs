//! Sporadic tasks.

use num_traits::Zero;

use super::Arrivals;
use crate::{Error, Ratio, Result, Time};

/// The parameters of a task, before they are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Its name, for messages.
    pub name: String,
    /// The longest execution of a job, for each level of assurance from the lowest on, up to the task's own. A
    /// level above is assumed to cost as much as the last.
    pub costs: Vec<Time>,
    /// The shortest time between two arrivals.
    pub period: Time,
    /// The shortest windows of more arrivals, if they are not multiples of the period: of three jobs, of four, and so on
    /// ([`Arrivals`]). Analyses of fixed priorities use them; all others only the period, which is safe.
    pub bursts: Vec<Time>,
    /// By when a job must be done, counted from its arrival.
    pub deadline: Time,
    /// The longest time from a job's arrival to its release.
    pub jitter: Time,
    /// The first arrival. Analyses assume that it may be any; simulations use it.
    pub offset: Time,
    /// The level of assurance, which is the kernel's criticality.
    pub criticality: u8,
}

impl Parameters {
    /// An implicit deadline, no jitter, one cost.
    pub fn new(name: impl Into<String>, cost: Time, period: Time) -> Self {
        Self {
            name: name.into(),
            costs: vec![cost],
            period,
            bursts: Vec::new(),
            deadline: period,
            jitter: Time::ZERO,
            offset: Time::ZERO,
            criticality: 0,
        }
    }
}

/// A sporadic task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    parameters: Parameters,
    arrivals: Arrivals,
}

impl Task {
    /// The task with these parameters.
    ///
    /// # Errors
    /// If arrivals are impossible, there is no cost, a cost or the period is not positive, a cost is above the deadline less the jitter, costs
    /// fall with the level, or a time is negative or above [`Time::LONGEST`].
    pub fn new(parameters: Parameters) -> Result<Self> {
        let Parameters {
            name,
            costs,
            period,
            deadline,
            jitter,
            offset,
            ..
        } = &parameters;
        let complain = |why: String| Err(Error::impossible(format!("task `{name}`"), why));
        let times = [period, deadline, jitter, offset];
        if let Some(time) = times
            .into_iter()
            .chain(costs)
            .find(|time| **time > Time::LONGEST)
        {
            return complain(format!(
                "{time} is above {}, the longest time",
                Time::LONGEST
            ));
        }
        if *period <= Time::ZERO || *jitter < Time::ZERO || *offset < Time::ZERO {
            return complain("the period must be positive, jitter and offset not negative".into());
        }
        let Some((least, most)) = costs.first().zip(costs.last()) else {
            return complain("it has no cost; state at least one".into());
        };
        if *least <= Time::ZERO {
            return complain(format!("a cost of {least} is not positive"));
        }
        if let Some(pair) = costs.windows(2).find(|pair| pair[1] < pair[0]) {
            let [low, high] = [pair[0], pair[1]];
            return complain(format!(
                "its cost falls from {low} to {high} at the next level; a higher level is more careful, so its costs \
                 are not below"
            ));
        }
        if *most > *deadline - *jitter {
            return complain(format!(
                "a job of {most} that is released {jitter} late cannot meet a deadline of {deadline}; shorten the job \
                 or lengthen the deadline"
            ));
        }
        let windows = [std::slice::from_ref(period), &parameters.bursts].concat();
        match Arrivals::new(windows) {
            Ok(arrivals) => Ok(Self {
                parameters,
                arrivals,
            }),
            Err(error) => complain(error.to_string()),
        }
    }

    /// An implicit deadline, no jitter, one cost.
    ///
    /// # Errors
    /// As for [`Task::new`].
    pub fn periodic(name: impl Into<String>, cost: Time, period: Time) -> Result<Self> {
        Self::new(Parameters::new(name, cost, period))
    }

    /// The same with another cost on its own level. Lower levels cost no more than that.
    ///
    /// # Errors
    /// As for [`Task::new`].
    pub fn with_cost(&self, cost: Time) -> Result<Self> {
        let mut parameters = self.parameters.clone();
        for level in &mut parameters.costs {
            *level = cost.min(*level);
        }
        if let Some(own) = parameters.costs.last_mut() {
            *own = cost;
        }
        Self::new(parameters)
    }

    /// All parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// How often its jobs arrive.
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.parameters.name
    }

    /// The longest execution of a job, at the task's own level.
    pub fn cost(&self) -> Time {
        self.cost_at(usize::MAX)
    }

    /// The longest execution of a job as assumed at a level.
    pub fn cost_at(&self, level: usize) -> Time {
        self.parameters.costs[level.min(self.parameters.costs.len() - 1)]
    }

    /// The shortest time between two arrivals.
    pub fn period(&self) -> Time {
        self.parameters.period
    }

    /// By when a job must be done, counted from its arrival.
    pub fn deadline(&self) -> Time {
        self.parameters.deadline
    }

    /// The longest time from arrival to release.
    pub fn jitter(&self) -> Time {
        self.parameters.jitter
    }

    /// Cost over period.
    pub fn utilisation(&self) -> Ratio {
        self.cost().over(self.period())
    }

    /// Cost over the shorter of period and deadline.
    pub fn density(&self) -> Ratio {
        self.cost().over(self.deadline().min(self.period()))
    }
}

/// The sum of utilisations.
pub(crate) fn utilisation<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Ratio {
    let rates = tasks.into_iter().map(Task::utilisation);
    rates.fold(Ratio::zero(), |sum, rate| sum + rate)
}

//! The scheduler's overheads, charged to tasks.

use num_traits::{One, Zero};

use crate::fault::{self, Fault};
use crate::{Error, Finding, Method, Ratio, Result, Time};

use super::{Parameters, Task};

/// [`charge`] and its source.
pub const OVERHEADS: Method = Method {
    name: "preemption-centric accounting of interrupts and scheduling overheads",
    source: "Brandenburg, Scheduling and Locking in Multiprocessor Real-Time Operating Systems, 2011, chapter 3",
    assumptions: &[
        "each overhead is the longest that occurs",
        "a job is preempted at most once for each arrival of another job",
        "priorities of jobs are fixed (fixed priorities or EDF)",
    ],
};

/// [`charge`] for a scheduler that is a thread.
pub const PASSES: Method = Method {
    name: "accounting of the passes of a scheduler that is a thread",
    source: "ours, after Brandenburg 2011, chapter 3",
    assumptions: &[
        "each overhead is the longest that occurs",
        "a job is preempted at most once for each arrival of another job",
        "the scheduler takes the core for each arrival, for the end of a job, and once just before it",
        "priorities of jobs are fixed (fixed priorities or EDF)",
    ],
};

/// What handles the releases of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Releases {
    /// A handler on the job's core.
    Handler,
    /// A handler on a core of its own.
    OwnCore,
    /// A scheduler that is a thread: for each event it takes its core for a pass, with a decision and a switch, whether it
    /// preempts a job or not; on several cores also for what it does to another one. And it looks at a budget just before that
    /// can end.
    Thread,
}

/// The overheads of a scheduler on a platform.
///
/// There is no default and no value to start from, so a caller states all of it. [`Overheads::from_names`] is
/// as strict with names that come from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overheads {
    /// From one timer tick to the next.
    pub tick_period: Time,
    /// The handler of a timer tick; zero for a kernel without ticks.
    pub tick: Time,
    /// The handler of a release; or to wake the scheduler, and what the release adds to its decision.
    pub release: Time,
    /// From the arrival of an interrupt to the start of its handler.
    pub release_latency: Time,
    /// A scheduling decision.
    pub schedule: Time,
    /// A context switch.
    pub context_switch: Time,
    /// From an interrupt to another core to its effect there.
    pub remote_reschedule: Time,
    /// What handles releases.
    pub releases: Releases,
}

/// The names of the times in [`Overheads::from_names`].
const NAMES: [&str; 7] = [
    "tick_period",
    "tick",
    "release",
    "release_latency",
    "schedule",
    "context_switch",
    "remote_reschedule",
];

impl Overheads {
    /// From names and values: each of its times once, by the name of the field.
    ///
    /// # Errors
    /// If a name is unknown, missing or given twice, or a value impossible.
    pub fn from_names<'a>(
        values: impl IntoIterator<Item = (&'a str, Time)>,
        releases: Releases,
    ) -> Result<Self> {
        let complain = |why: String| Err(Error::impossible("overheads", why));
        let mut times = [None; NAMES.len()];
        for (name, value) in values {
            let Some(place) = NAMES.iter().position(|known| *known == name) else {
                return complain(format!(
                    "`{name}` is not an overhead; they are {}",
                    NAMES.join(", ")
                ));
            };
            if times[place].replace(value).is_some() {
                return complain(format!("`{name}` is stated twice"));
            }
        }
        if let Some(missing) = times.iter().position(Option::is_none) {
            return complain(format!(
                "`{}` is missing; state 0 if there is none",
                NAMES[missing]
            ));
        }
        let [
            tick_period,
            tick,
            release,
            release_latency,
            schedule,
            context_switch,
            remote_reschedule,
        ] = times.map(Option::unwrap_or_default);
        let overheads = Self {
            tick_period,
            tick,
            release,
            release_latency,
            schedule,
            context_switch,
            remote_reschedule,
            releases,
        };
        overheads.check()?;
        Ok(overheads)
    }

    fn check(&self) -> Result<()> {
        let times = [
            self.tick,
            self.release,
            self.release_latency,
            self.schedule,
            self.context_switch,
            self.remote_reschedule,
        ];
        let possible = |time: &Time| (Time::ZERO..=Time::LONGEST).contains(time);
        if times.iter().all(possible) && possible(&self.tick_period) && self.tick_period > self.tick
        {
            return Ok(());
        }
        let why = format!(
            "times must be between 0 and {}, and a tick shorter than the time between two",
            Time::LONGEST
        );
        Err(Error::impossible("overheads", why))
    }
}

/// The tasks with the overheads charged to them: longer costs, shorter periods and deadlines.
///
/// `reload` is, for each task, what it costs to load its working set into the caches again after a preemption.
///
/// # Errors
/// [`Error::Infeasible`] if interrupts alone use up the processor, or a job is longer than its deadline with its overheads;
/// others if a time is impossible.
pub fn charge(
    tasks: &[Task],
    reload: &[Time],
    overheads: &Overheads,
    cores: usize,
) -> Result<Finding<Vec<Task>>> {
    overheads.check()?;
    let possible = |time: &Time| (Time::ZERO..=Time::LONGEST).contains(time);
    if reload.len() != tasks.len() || !reload.iter().all(possible) {
        let why = "each task needs a possible time to load its caches again";
        return Err(Error::impossible("overheads", why));
    }
    let o = overheads;
    let decision = o.schedule + fault::unless(Fault::Switches, o.context_switch);
    let remote = match cores {
        0 | 1 => Time::ZERO,
        _ => o.remote_reschedule,
    };
    // What a release takes of the job's core.
    let release = match o.releases {
        Releases::Handler => o.release,
        Releases::OwnCore => Time::ZERO,
        Releases::Thread => o.release + fault::unless(Fault::Passes, decision + remote),
    };
    let of_tick = o.tick.over(o.tick_period);
    let shares = tasks.iter().map(|task| release.over(task.period()));
    let of_releases = shares.fold(Ratio::zero(), |sum, share| sum + share);
    let left = Ratio::one() - &of_tick - &of_releases;
    if left <= Ratio::zero() {
        let first = tasks.first().map_or("", Task::name);
        return Err(Error::Infeasible {
            what: format!("task `{first}`"),
            why: "handlers of interrupts, or the scheduler, use up the processor; lengthen the periods"
                .into(),
        });
    }
    let latency = match o.releases {
        // Its pass for an event just before the release comes first.
        Releases::Thread => o.release_latency + release,
        _ => o.release_latency,
    };
    let later = fault::unless(Fault::Latency, latency);
    // The job's own passes; and, so many times, all handlers at once and those that were late.
    let (own, late, times) = match o.releases {
        // Just before its end, and at the end. On several cores it may be preempted, and wait for the scheduler again
        // before it continues.
        Releases::Thread => (release * 2, latency.ratio(), if cores > 1 { 2 } else { 1 }),
        // When it preempts and at the end.
        _ => (decision * 2, latency.ratio() * (of_tick + of_releases), 2),
    };
    let handlers = (o.tick + release * tasks.len() as i128).ratio() + late;
    let handlers = handlers * Time::of(times).ratio();
    let elsewhere = match o.releases {
        Releases::OwnCore => o.remote_reschedule + o.release,
        Releases::Thread => remote * 2,
        Releases::Handler => remote,
    };
    let charged = tasks.iter().enumerate().map(|(place, task)| {
        let others = reload
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != place);
        let reload = others.map(|(_, time)| *time).max().unwrap_or_default();
        let inflate = |cost: &Time| {
            let all = (*cost + own + reload).ratio() + &handlers;
            Time::ceil(&(all / &left + elsewhere.ratio()))
        };
        let parameters = task.parameters();
        let charged = Task::new(Parameters {
            costs: parameters.costs.iter().map(inflate).collect(),
            period: parameters.period - later,
            bursts: (parameters.bursts.iter())
                .map(|window| *window - latency)
                .collect(),
            deadline: parameters.deadline - later,
            ..parameters.clone()
        });
        charged.map_err(|error| match error {
            Error::Impossible { what, why } => Error::Infeasible { what, why },
            other => other,
        })
    });
    let method = match o.releases {
        Releases::Thread => &PASSES,
        _ => &OVERHEADS,
    };
    Ok(method.finds(charged.collect::<Result<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ns(time: u64) -> Time {
        Time::from_nanos(time)
    }

    fn named() -> Vec<(&'static str, Time)> {
        let values = [1_000_000, 5_000, 2_000, 1_000, 3_000, 4_000, 6_000].map(ns);
        NAMES.into_iter().zip(values).collect()
    }

    fn tasks() -> Vec<Task> {
        let task = |name, cost, period| Task::periodic(name, ns(cost), ns(period)).unwrap();
        vec![
            task("a", 1_000_000, 10_000_000),
            task("b", 3_000_000, 20_000_000),
        ]
    }

    /// By hand, in nanoseconds: u = 1 - 0.005 - 0.0002 - 0.0001 = 0.9947, and a preemption costs
    /// (5000 + 1000 * 0.005 + 2 * 2000 + 1000 * 0.0003) / u = 9005.3 / u.
    #[test]
    fn costs_grow_as_the_formula_says() {
        let overheads = Overheads::from_names(named(), Releases::Handler).unwrap();
        let reload = [ns(10_000), ns(20_000)];
        let charged = charge(&tasks(), &reload, &overheads, 1).unwrap().value;
        let cost = |cost: f64, reload: f64| {
            ((cost + 2.0 * 7_000.0 + reload) / 0.9947 + 2.0 * 9_005.3 / 0.9947).ceil() as u64
        };
        assert_eq!(charged[0].cost(), ns(cost(1e6, 20_000.0)));
        assert_eq!(charged[1].cost(), ns(cost(3e6, 10_000.0)));
        assert_eq!(charged[0].period(), ns(9_999_000));
        assert_eq!(charged[1].deadline(), ns(19_999_000));
        let on_two = charge(&tasks(), &reload, &overheads, 2).unwrap().value;
        assert_eq!(on_two[0].cost(), charged[0].cost() + ns(6_000));
    }

    /// By hand, in nanoseconds: a pass takes 2000 + 3000 + 4000 = 9000, u = 1 - 0.005 - 0.0009 - 0.00045 = 0.99365, and a
    /// release is seen after 1000 + 9000 at most.
    #[test]
    fn a_thread_takes_a_pass_for_each_event() {
        let overheads = Overheads::from_names(named(), Releases::Thread).unwrap();
        let reload = [ns(10_000), ns(20_000)];
        let handlers = 5_000.0 + 10_000.0 + 2.0 * 9_000.0;
        let cost = |cost: f64, reload: f64| {
            ((cost + 2.0 * 9_000.0 + reload + handlers) / 0.99365).ceil() as u64
        };
        let charged = charge(&tasks(), &reload, &overheads, 1).unwrap();
        assert_eq!(charged.method.name, PASSES.name);
        let charged = charged.value;
        assert_eq!(charged[0].cost(), ns(cost(1e6, 20_000.0)));
        assert_eq!(charged[1].cost(), ns(cost(3e6, 10_000.0)));
        assert_eq!(charged[0].period(), ns(9_990_000));
        assert_eq!(charged[1].deadline(), ns(19_990_000));
        let on_two = charge(&tasks(), &reload, &overheads, 2).unwrap().value;
        // A pass takes 6000 more for the other core, so that u = 1 - 0.005 - 0.0015 - 0.00075 = 0.99275.
        let handlers = 5_000.0 + 16_000.0 + 2.0 * 15_000.0;
        let cost: f64 = (1e6 + 2.0 * 15_000.0 + 20_000.0 + 2.0 * handlers) / 0.99275;
        assert_eq!(on_two[0].cost(), ns(cost.ceil() as u64 + 2 * 6_000));
        assert_eq!(on_two[1].deadline(), ns(19_984_000));
    }

    /// Every single overhead makes some cost larger or some deadline shorter.
    #[test]
    fn no_overhead_is_ignored() {
        let reload = [ns(10_000), ns(20_000)];
        for releases in [Releases::Handler, Releases::OwnCore, Releases::Thread] {
            let of = |values: Vec<(&str, Time)>| {
                let overheads = Overheads::from_names(values, releases).unwrap();
                charge(&tasks(), &reload, &overheads, 2).unwrap().value
            };
            let before = of(named());
            for place in 1..NAMES.len() {
                let mut values = named();
                values[place].1 += ns(500);
                let after = of(values);
                let worse = |(new, old): (&Task, &Task)| {
                    new.cost() > old.cost() || new.deadline() < old.deadline()
                };
                assert!(after.iter().zip(&before).any(worse), "{}", NAMES[place]);
            }
        }
    }

    #[test]
    fn misspelt_missing_and_repeated_names_are_refused() {
        let error = |values: Vec<(&str, Time)>| {
            Overheads::from_names(values, Releases::Handler)
                .unwrap_err()
                .to_string()
        };
        let mut misspelt = named();
        misspelt[5].0 = "ctx_switch";
        assert!(error(misspelt).contains("`ctx_switch` is not an overhead"));
        let mut missing = named();
        missing.remove(5);
        assert!(error(missing).contains("`context_switch` is missing"));
        let twice = [named(), vec![("tick", ns(1))]].concat();
        assert!(error(twice).contains("`tick` is stated twice"));
    }
}

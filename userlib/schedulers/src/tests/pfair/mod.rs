//! Random sets whose weights fill the cores, and how much of its share each task has had.

mod late;
mod quanta;
mod windows;

use oorandom::Rand64;

use super::PfairFault;
use crate::{Arrivals, Duration, Overload, Pfair, Refusal, TaskId, Weight};

/// From the next quantum on.
const PERIODIC: Arrivals = Arrivals::Periodic {
    offset: Duration(0),
};

/// Periods are 1 to 10, whose least common multiple this is, or a divisor of it.
const HYPERPERIOD: u64 = 2520;
const TASKS: usize = 64;

/// Weights whose sum is `cores`, often heavy ones.
fn random_set(random: &mut Rand64, cores: u64) -> Vec<Weight> {
    let mut left = cores * HYPERPERIOD;
    let mut weights = Vec::new();
    while left > 0 {
        let period = random.rand_range(1..11);
        let smallest = [1, period.div_ceil(2)][random.rand_range(0..2) as usize];
        let budget = random.rand_range(smallest..period + 1);
        let share = budget * HYPERPERIOD / period;
        if share <= left && weights.len() < TASKS / 2 {
            weights.push(weight(budget, period));
            left -= share;
        } else if left <= HYPERPERIOD {
            weights.push(weight(left, HYPERPERIOD));
            left = 0;
        } else if weights.len() >= TASKS / 2 {
            weights.push(weight(1, 1));
            left -= HYPERPERIOD;
        }
    }
    weights
}

fn weight(budget: u64, period: u64) -> Weight {
    Weight {
        budget: budget as u32,
        period: period as u32,
    }
}

/// A task as the test knows it.
#[derive(Clone, Copy)]
struct Share {
    weight: Weight,
    since: u64,
    had: u64,
}

impl Share {
    /// Whether the task has had its share up to less than one quantum: the lag is in (-1, 1).
    fn is_fair(&self, now: u64) -> bool {
        let Weight { budget, period } = self.weight;
        let due = u64::from(budget) * (now - self.since);
        due.abs_diff(self.had * u64::from(period)) < period.into()
    }
}

/// Cores that do what they are told.
struct Machine<const CORES: usize> {
    pfair: Pfair<CORES, TASKS>,
    shares: [Option<Share>; TASKS],
    ran: [Option<TaskId>; CORES],
    last: [Option<usize>; TASKS],
}

impl<const CORES: usize> Machine<CORES> {
    fn new(fault: PfairFault) -> Self {
        let mut pfair = Pfair::default();
        pfair.fault = fault;
        Self {
            pfair,
            shares: [None; TASKS],
            ran: [None; CORES],
            last: [None; TASKS],
        }
    }

    fn add(&mut self, weight: Weight) -> Result<TaskId, Refusal<Overload>> {
        let id = self.pfair.add(weight, PERIODIC)?;
        self.shares[id.index()] = Some(Share {
            weight,
            since: self.pfair.now(),
            had: 0,
        });
        self.last[id.index()] = None;
        Ok(id)
    }

    /// The first quantum after which a task does not have its share.
    fn run(&mut self, quanta: u64) -> Option<u64> {
        for _ in 0..quanta {
            let runs = self.pfair.quantum();
            self.check_cores(&runs);
            for id in runs.into_iter().flatten() {
                if let Some(share) = &mut self.shares[id.index()] {
                    share.had += 1;
                }
            }
            let now = self.pfair.now();
            if !self.shares.iter().flatten().all(|it| it.is_fair(now)) {
                return Some(now);
            }
        }
        None
    }

    /// No task is on two cores; one that continues stays, one elsewhere found its last core taken with the same right.
    fn check_cores(&mut self, runs: &[Option<TaskId>; CORES]) {
        for (core, id) in runs.iter().enumerate() {
            let Some(id) = id else { continue };
            assert_eq!(runs.iter().filter(|it| **it == Some(*id)).count(), 1);
            if let Some(last) = self.last[id.index()].filter(|last| *last != core) {
                assert_ne!(self.ran[last], Some(*id), "it goes on");
                let other = runs[last].expect("its last core is taken");
                assert_eq!(self.last[other.index()], Some(last));
            }
        }
        for (core, id) in runs.iter().enumerate() {
            id.inspect(|id| self.last[id.index()] = Some(core));
        }
        self.ran = *runs;
    }
}

/// The first quantum after which a task of the set does not have its share, in the hyperperiod. The set fills the cores.
fn unfair<const CORES: usize>(set: &[Weight], fault: PfairFault) -> Option<u64> {
    let mut machine = Machine::<CORES>::new(fault);
    for &weight in set {
        machine.add(weight).unwrap();
    }
    let more = machine.add(weight(1, 1 << 20));
    assert_eq!(more, Err(Refusal::Admission(Overload)));
    machine.run(HYPERPERIOD)
}

fn random_sets_are_fair<const CORES: usize>() {
    let mut random = Rand64::new(CORES as u128);
    for _ in 0..60 {
        let set = random_set(&mut random, CORES as u64);
        assert_eq!(unfair::<CORES>(&set, PfairFault::None), None, "{set:?}");
    }
}

#[test]
fn tasks_that_fill_the_cores_always_have_their_shares() {
    random_sets_are_fair::<1>();
    random_sets_are_fair::<2>();
    random_sets_are_fair::<3>();
    random_sets_are_fair::<4>();
    random_sets_are_fair::<5>();
    random_sets_are_fair::<6>();
    random_sets_are_fair::<7>();
    random_sets_are_fair::<8>();
}

/// In `docs/src/concepts/scheduler-library.md`.
#[test]
fn the_example_of_the_book_is_fair() {
    let set = [weight(2, 3); 3];
    assert_eq!(unfair::<2>(&set, PfairFault::None), None);
}

/// Negative controls, on sets found by a random search.
#[test]
fn ties_must_be_broken() {
    let weights = |set: &[(u64, u64)]| -> Vec<_> {
        let weights = set.iter().map(|&(budget, period)| weight(budget, period));
        weights.collect()
    };
    let set = weights(&[(1, 2), (1, 2), (1, 2), (3, 5), (9, 10)]);
    assert_eq!(unfair::<3>(&set, PfairFault::NoBit), Some(10));
    assert_eq!(unfair::<3>(&set, PfairFault::None), None);
    let heavy = [
        (4, 5),
        (2, 3),
        (4, 5),
        (3, 5),
        (2, 3),
        (3, 4),
        (4, 5),
        (1, 1),
        (11, 12),
    ];
    let set = weights(&heavy);
    assert_eq!(unfair::<7>(&set, PfairFault::NoGroup), Some(60));
    assert_eq!(unfair::<7>(&set, PfairFault::None), None);
}

#[test]
fn tasks_come_and_go_and_complete_their_jobs_early() {
    let mut random = Rand64::new(9);
    let (mut machine, mut left) = (Machine::<4>::new(PfairFault::None), 0);
    for _ in 0..20_000 {
        let period = random.rand_range(1..13);
        let id = TaskId(random.rand_range(0..TASKS as u64) as u16);
        match random.rand_range(0..8) {
            0 => left += u32::from(machine.pfair.remove(id).is_ok()),
            // From then on it has less.
            1 if machine.pfair.complete(id).is_ok() => {}
            2..=4 => {
                let budget = random.rand_range(1..period + 1);
                let _refused_if_full = machine.add(weight(budget, period));
                continue;
            }
            _ => {
                assert_eq!(machine.run(random.rand_range(1..20)), None);
                continue;
            }
        }
        machine.shares[id.index()] = None;
    }
    assert!(left > 500, "{left}");
}

#[test]
fn a_weight_is_free_when_the_share_is_used() {
    let mut pfair = Pfair::<1, 2>::default();
    let id = pfair.add(weight(1, 4), PERIODIC).unwrap();
    assert_eq!(pfair.quantum(), [Some(id)]);
    assert_eq!(pfair.remove(id), Ok(4));
    assert!(pfair.remove(id).is_err() && pfair.complete(id).is_err());
    assert_eq!(
        pfair.add(weight(1, 1), PERIODIC),
        Err(Refusal::Admission(Overload))
    );
    for _ in 1..4 {
        assert_eq!(pfair.quantum(), [None]);
    }
    assert!(pfair.add(weight(1, 1), PERIODIC).is_ok());
    assert!(matches!(
        pfair.add(weight(2, 1), PERIODIC),
        Err(Refusal::Parameters(_))
    ));
    assert!(matches!(
        pfair.add(weight(0, 1), PERIODIC),
        Err(Refusal::Parameters(_))
    ));
}

/// The group deadline, for half of a core or more; else the end of the window, and one quantum more if that overlaps the next.
#[test]
fn a_weight_is_free_as_its_windows_say() {
    for (weight, free) in [(weight(8, 11), 4), (weight(2, 5), 4), (weight(1, 3), 3)] {
        let mut pfair = Pfair::<1, 1>::default();
        let id = pfair.add(weight, PERIODIC).unwrap();
        pfair.quantum();
        assert_eq!(pfair.remove(id), Ok(free));
    }
}

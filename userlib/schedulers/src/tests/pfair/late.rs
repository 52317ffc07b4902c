//! Sporadic tasks, and subtasks that come late: each has its quantum in its own window, in sets that fill the cores.

use oorandom::Rand64;

use super::{PERIODIC, TASKS, random_set, weight};
use crate::tests::PfairFault;
use crate::{Arrivals, Duration, Error, Pfair, TaskId, Weight};

/// A task as the test knows it: where its next window is.
struct Model {
    weight: Weight,
    is_sporadic: bool,
    /// The release of its job, the earliest possible one before it arrives, and the next subtask.
    release: u64,
    subtask: u64,
    has_job: bool,
    waits: bool,
    /// What it has had.
    had: u64,
}

impl Model {
    fn window(&self) -> (u64, u64) {
        let Weight { budget, period } = self.weight;
        let [budget, period] = [budget, period].map(u64::from);
        let release = self.release + (self.subtask - 1) * period / budget;
        (
            release,
            self.release + (self.subtask * period).div_ceil(budget),
        )
    }

    /// It has a quantum; whether that is in its window.
    fn run(&mut self, quantum: u64) -> bool {
        let (release, deadline) = self.window();
        assert!(self.has_job && !self.waits);
        self.had += 1;
        self.subtask += 1;
        if self.subtask > self.weight.budget.into() {
            self.subtask = 1;
            self.release += u64::from(self.weight.period);
            self.has_job = !self.is_sporadic;
        }
        (release..deadline).contains(&quantum)
    }
}

/// Random arrivals and waits. Returns how many subtasks had their quanta in their windows, and how many not.
fn run<const CORES: usize>(seed: u128, fault: PfairFault) -> (u64, u64) {
    let mut random = Rand64::new(seed);
    let mut pfair = Pfair::<CORES, TASKS>::default();
    pfair.fault = fault;
    let mut models: Vec<Model> = Vec::new();
    for weight in random_set(&mut random, CORES as u64) {
        let is_sporadic = random.rand_range(0..2) == 0;
        let offset = random.rand_range(0..10);
        let arrivals = match is_sporadic {
            true => Arrivals::Sporadic,
            false => Arrivals::Periodic {
                offset: Duration(offset),
            },
        };
        pfair.add(weight, arrivals).unwrap();
        models.push(Model {
            weight,
            is_sporadic,
            release: if is_sporadic { 0 } else { offset },
            subtask: 1,
            has_job: !is_sporadic,
            waits: false,
            had: 0,
        });
    }
    let (mut good, mut late) = (0, 0);
    for now in 0..600 {
        for (number, model) in models.iter_mut().enumerate() {
            let id = TaskId(number as u16);
            if model.is_sporadic && random.rand_range(0..3) == 0 {
                let arrived = pfair.arrive(id);
                let expected = if model.has_job {
                    Err(Error::HasJob)
                } else {
                    Ok(())
                };
                assert_eq!(arrived, expected);
                if !model.has_job {
                    model.has_job = true;
                    model.release = model.release.max(now);
                }
            }
            match random.rand_range(0..40) {
                0 => {
                    pfair.block(id).unwrap();
                    model.waits = true;
                }
                1..15 if model.waits => {
                    pfair.unblock(id).unwrap();
                    model.waits = false;
                    if model.has_job {
                        model.release += now.saturating_sub(model.window().0);
                    }
                }
                _ => {}
            }
        }
        for id in pfair.quantum().into_iter().flatten() {
            match models[id.index()].run(now) {
                true => good += 1,
                false => late += 1,
            }
        }
        let waiting = models.iter().filter(|it| it.has_job && !it.waits);
        late += waiting.filter(|it| it.window().1 == now + 1).count() as u64;
        if fault == PfairFault::None {
            assert_eq!(late, 0, "seed {seed}, quantum {now}");
        }
        if late > 0 {
            break;
        }
    }
    assert!(models.iter().all(|it| it.had > 0) || late > 0);
    (good, late)
}

fn each_subtask_is_in_its_window<const CORES: usize>() {
    let mut all = 0;
    for seed in 0..60 {
        all += run::<CORES>(seed, PfairFault::None).0;
    }
    assert!(all > 60 * 600 * CORES as u64 / 4, "{all}");
}

#[test]
fn late_subtasks_are_in_their_own_windows() {
    each_subtask_is_in_its_window::<1>();
    each_subtask_is_in_its_window::<2>();
    each_subtask_is_in_its_window::<4>();
    each_subtask_is_in_its_window::<8>();
}

/// A negative control: what has waited wants its old windows.
#[test]
fn windows_must_be_later_after_a_wait() {
    let late = (0..20).filter(|seed| run::<2>(*seed, PfairFault::NoShift).1 > 0);
    assert!(late.count() > 10);
}

/// In `docs/src/concepts/scheduler-library.md`.
#[test]
fn a_late_job_has_later_windows() {
    let mut pfair = Pfair::<1, 2>::default();
    let id = pfair.add(weight(2, 4), Arrivals::Sporadic).unwrap();
    let ran = |pfair: &mut Pfair<1, 2>| pfair.quantum()[0] == Some(id);
    assert!(!ran(&mut pfair));
    // It arrives in quantum 0, and its windows are 1 to 3 and 3 to 5.
    pfair.arrive(id).unwrap();
    assert_eq!(pfair.arrive(id), Err(Error::HasJob));
    let quanta: Vec<_> = (1..5).filter(|_| ran(&mut pfair)).collect();
    assert_eq!(quanta, [1, 3]);
    // The next may come in 5 at the earliest, and arrives now; the second half waits for two quanta.
    pfair.arrive(id).unwrap();
    assert!(ran(&mut pfair));
    pfair.block(id).unwrap();
    for _ in 6..9 {
        assert!(!ran(&mut pfair));
    }
    pfair.unblock(id).unwrap();
    assert!(ran(&mut pfair));
    // Its window was 7 to 9, and is 9 to 11 since: so the next job may come in 11.
    pfair.arrive(id).unwrap();
    let quanta: Vec<_> = (10..15).filter(|_| ran(&mut pfair)).collect();
    assert_eq!(quanta, [11, 13]);
}

#[test]
fn offsets_and_what_is_refused() {
    let mut pfair = Pfair::<1, 2>::default();
    let offset = Duration(3);
    let id = pfair.add(weight(1, 2), Arrivals::Periodic { offset });
    let id = id.unwrap();
    let never = Duration(u64::MAX);
    let other = pfair.add(weight(1, 2), Arrivals::Periodic { offset: never });
    let other = other.unwrap();
    pfair.block(other).unwrap();
    pfair.unblock(other).unwrap();
    let quanta: Vec<_> = (0..8).map(|_| pfair.quantum()[0].is_some()).collect();
    let expected = [false, false, false, true, false, true, false, true];
    assert_eq!(quanta, expected);
    assert_eq!(pfair.arrive(id), Err(Error::IsPeriodic));
    assert_eq!(pfair.arrive(TaskId(2)), Err(Error::NoTask));
    pfair.remove(id).unwrap();
    assert_eq!(pfair.block(id), Err(Error::NoTask));
    assert_eq!(pfair.unblock(id), Err(Error::NoTask));
    assert!(pfair.add(weight(1, 2), PERIODIC).is_err());
}

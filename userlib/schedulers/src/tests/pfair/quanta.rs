//! Quanta as actions: what a machine does that carries them out.

use oorandom::Rand64;

use super::{HYPERPERIOD, PERIODIC, TASKS, random_set, weight};
use crate::{
    Action, Arrivals, Duration, Error, Instant, Overrun, Pfair, Policy, Quanta, Refusal, TaskId,
};

/// The length of a quantum, and when the first begins.
const LENGTH: u64 = 100;
const START: u64 = 12_345;

/// Cores that do what they are told.
struct Machine<const CORES: usize> {
    quanta: Quanta<CORES, TASKS>,
    now: u64,
    running: [Option<TaskId>; CORES],
    overruns: Vec<TaskId>,
    aborted: Vec<TaskId>,
}

impl<const CORES: usize> Machine<CORES> {
    fn new() -> Self {
        Self {
            quanta: Quanta::new(Duration(LENGTH)),
            now: START,
            running: [None; CORES],
            overruns: Vec::new(),
            aborted: Vec::new(),
        }
    }

    fn add(&mut self, weight: crate::Weight, overrun: Overrun) -> TaskId {
        self.quanta.add(weight, PERIODIC, overrun).unwrap()
    }

    /// Decides at this time after the start. Returns what then runs.
    fn decide(&mut self, time: u64) -> [Option<TaskId>; CORES] {
        self.now = START + time;
        let Self {
            quanta,
            running,
            overruns,
            aborted,
            ..
        } = self;
        let next = quanta.decide(Instant(START + time), &mut |action| match action {
            Action::Dispatch { core, task } => {
                assert!(!running.contains(&Some(task)), "{task:?} runs already");
                assert_eq!(running[core].replace(task), None);
            }
            Action::Idle { core } => assert!(running[core].take().is_some()),
            Action::Overrun { task } => overruns.push(task),
            Action::Aborted { task } => {
                aborted.push(task);
                running
                    .iter_mut()
                    .filter(|it| **it == Some(task))
                    .for_each(|it| *it = None);
            }
            Action::Switched(_) => panic!("there are no modes"),
        });
        assert_eq!(next.0, START + (time / LENGTH + 1) * LENGTH);
        self.running
    }

    /// The running task reports that its job is completed; how late that is.
    fn complete(&mut self, id: TaskId) -> u64 {
        let runs = self.running.iter_mut().find(|it| **it == Some(id));
        *runs.expect("it runs") = None;
        let completion = self.quanta.complete(id, Instant(self.now)).unwrap();
        completion.late.0
    }
}

/// Whatever is decided in between, the tasks have the quanta that [`Pfair`] gives them, and nothing else.
#[test]
fn tasks_run_in_their_quanta() {
    let mut random = Rand64::new(5);
    let mut machine = Machine::<3>::new();
    let mut pfair = Pfair::<3, TASKS>::default();
    for weight in random_set(&mut random, 3) {
        machine.add(weight, Overrun::Count);
        pfair.add(weight, PERIODIC).unwrap();
    }
    for quantum in 0..HYPERPERIOD {
        let expected = pfair.quantum();
        for time in [0, random.rand_range(0..LENGTH)] {
            assert_eq!(machine.decide(quantum * LENGTH + time), expected);
        }
    }
    assert_eq!(
        (machine.quanta.missed(), machine.quanta.start()),
        (0, Some(Instant(START)))
    );
}

/// Jobs of random length, up to their budgets, at utilisations of all cores: none is late.
#[test]
fn no_job_is_late_nor_overruns() {
    for seed in 0..20 {
        let mut random = Rand64::new(seed);
        let mut machine = Machine::<4>::new();
        let set = random_set(&mut random, 4);
        for &weight in &set {
            machine.add(weight, Overrun::Abort);
        }
        let mut left = [None; TASKS];
        let mut completed = 0;
        for quantum in 0..1000 {
            machine.decide(quantum * LENGTH);
            for id in machine.running.into_iter().flatten() {
                let whole = u64::from(set[id.index()].budget) * LENGTH;
                let left = &mut left[id.index()];
                let rest = left.get_or_insert_with(|| random.rand_range(1..whole + 1));
                *rest = rest.saturating_sub(LENGTH);
                if *rest == 0 {
                    *left = None;
                    // Before the next quantum, in any order.
                    machine.now = START + (quantum + 1) * LENGTH;
                    assert_eq!(machine.complete(id), 0);
                    completed += 1;
                }
            }
        }
        assert_eq!(machine.overruns, []);
        assert!(completed > 100, "{completed}");
    }
}

#[test]
fn a_job_that_exceeds_its_quanta_is_aborted() {
    let mut machine = Machine::<1>::new();
    let bad = machine.add(weight(1, 2), Overrun::Abort);
    let good = machine.add(weight(1, 2), Overrun::Abort);
    for job in 0..3 {
        let first = machine.decide(2 * job * LENGTH);
        assert_eq!(first, [Some(bad)]);
        assert_eq!(machine.aborted.len() as u64, job);
        // Also a job that waits.
        if job == 1 {
            machine.running = [None];
            machine.quanta.block(bad).unwrap();
            assert_eq!(machine.decide(2 * job * LENGTH + 1), [None]);
        }
        assert_eq!(machine.decide((2 * job + 1) * LENGTH), [Some(good)]);
        machine.complete(good);
        assert_eq!(machine.decide((2 * job + 1) * LENGTH + 1), [None]);
    }
    assert_eq!(
        (machine.overruns, machine.aborted),
        (vec![bad; 3], vec![bad; 3])
    );
    assert_eq!(machine.quanta.overruns(bad), Ok(3));
    assert_eq!(machine.quanta.overruns(good), Ok(0));
}

/// The job continues in the next one's quanta, and that begins in what it leaves of them.
#[test]
fn a_job_that_is_only_counted_delays_the_next() {
    let mut machine = Machine::<1>::new();
    let id = machine.add(weight(2, 4), Overrun::Count);
    // It has quanta 0 and 2, and needs a half of 4 as well.
    for (time, runs) in [
        (0, true),
        (100, false),
        (200, true),
        (300, false),
        (400, true),
    ] {
        assert_eq!(machine.decide(time)[0].is_some(), runs, "{time}");
    }
    machine.now = START + 450;
    assert_eq!(machine.complete(id), 50);
    assert_eq!(machine.decide(450), [Some(id)], "the next one");
    assert_eq!(machine.decide(500), [None]);
    assert_eq!(machine.decide(600), [Some(id)]);
    machine.now = START + 650;
    assert_eq!(machine.complete(id), 0);
    assert_eq!(machine.decide(650), [None]);
    assert_eq!(machine.overruns, [id]);
    assert_eq!(machine.quanta.complete(id, Instant(0)), Err(Error::NoJob));
}

#[test]
fn a_thread_that_waits_goes_on_in_what_is_left_of_its_quantum() {
    let mut machine = Machine::<1>::new();
    let id = machine.add(weight(2, 4), Overrun::Count);
    machine.decide(0);
    machine.running = [None];
    machine.quanta.block(id).unwrap();
    assert_eq!(machine.decide(10), [None]);
    machine.quanta.unblock(id).unwrap();
    assert_eq!(machine.decide(20), [Some(id)]);
    machine.decide(100);
    machine.quanta.block(id).unwrap();
    assert_eq!(machine.decide(300), [None], "its second window has begun");
    machine.quanta.unblock(id).unwrap();
    assert_eq!(
        machine.decide(310),
        [None],
        "it begins with the next quantum"
    );
    assert_eq!(machine.decide(400), [Some(id)]);
}

/// Quanta without a decision are lost for their tasks, and the task that runs may have another core then.
#[test]
fn missed_quanta_are_counted() {
    let mut machine = Machine::<2>::new();
    for _ in 0..3 {
        machine.add(weight(2, 3), Overrun::Count);
    }
    machine.decide(0);
    for time in [1, 4, 7, 8, 100, 101] {
        machine.decide(time * LENGTH);
    }
    assert_eq!(machine.quanta.missed(), 95);
}

#[test]
fn a_sporadic_job_begins_with_a_quantum() {
    let mut machine = Machine::<1>::new();
    let added = machine
        .quanta
        .add(weight(1, 3), Arrivals::Sporadic, Overrun::Abort);
    let id = added.unwrap();
    assert_eq!(machine.decide(0), [None]);
    machine.quanta.arrive(id, Instant(START + 30)).unwrap();
    assert_eq!(machine.decide(30), [None]);
    assert_eq!(machine.decide(100), [Some(id)]);
    machine.quanta.arrive(id, Instant(START + 130)).unwrap();
    machine.now = START + 150;
    assert_eq!(machine.complete(id), 0);
    for (time, runs) in [(150, false), (200, false), (300, false), (400, true)] {
        assert_eq!(machine.decide(time)[0].is_some(), runs, "{time}");
    }
}

#[test]
fn what_quanta_do_not_do_is_refused() {
    let mut machine = Machine::<1>::new();
    for overrun in [Overrun::Lower, Overrun::Extend(Duration(1))] {
        let added = machine.quanta.add(weight(1, 2), PERIODIC, overrun);
        assert!(matches!(added, Err(Refusal::Parameters(_))));
    }
    let id = machine.add(weight(1, 1), Overrun::Abort);
    let quanta = &mut machine.quanta;
    assert_eq!(quanta.set_non_preemptible(id, true), Err(Error::NotHere));
    assert_eq!(quanta.set_deadline(id, Instant(0)), Err(Error::NotHere));
    machine.decide(0);
    machine.quanta.remove(id).unwrap();
    assert_eq!(machine.quanta.remove(id), Err(Error::NoTask));
    machine.running = [None];
    assert_eq!(machine.decide(1), [None]);
}

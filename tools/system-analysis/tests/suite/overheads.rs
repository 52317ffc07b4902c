//! What a user-level scheduler costs: the analyser charges it as the library's admission does.

use std::cell::RefCell;
use std::convert::Infallible;

use schedulability::model::{Task, charge};
use schedulers::{Admission, Charged, Duration};
use system_analysis::{Figures, Overhead, Scheduler, Time};

use crate::common::figures;

/// Costs and periods in nanoseconds.
const SET: [(u64, u64); 3] = [
    (1_000_000, 10_000_000),
    (3_000_000, 21_000_000),
    (9_000_000, 77_000_000),
];

/// A test of the library that notes what it is to test.
struct Note<'a>(&'a RefCell<Vec<schedulers::Task>>);

impl Admission for Note<'_> {
    type Reason = Infallible;

    fn test(
        &self,
        _: usize,
        tasks: impl Iterator<Item = schedulers::Task> + Clone,
    ) -> Result<(), Infallible> {
        self.0.borrow_mut().extend(tasks);
        Ok(())
    }
}

/// Costs and deadlines as the library's admission charges them.
fn by_library(overheads: schedulers::Overheads, cores: usize) -> Vec<(u64, u64)> {
    let noted = RefCell::default();
    let charged = Charged {
        overheads,
        test: Note(&noted),
    };
    let tasks =
        SET.map(|(cost, period)| schedulers::Task::periodic(Duration(period), Duration(cost)));
    charged.test(cores, tasks.into_iter()).unwrap();
    let noted = noted.take().into_iter();
    noted.map(|task| (task.budget.0, task.deadline.0)).collect()
}

/// The same as the analyser charges them, on a kernel whose sections take `section`.
fn by_analyser(
    overheads: schedulers::Overheads,
    cores: usize,
    section: system_description::Duration,
) -> Vec<(u64, u64)> {
    let measured = |time: Duration| {
        let time = system_description::Duration::from_nanos(time.0);
        Overhead {
            mean: time,
            worst: time,
        }
    };
    let figures = Figures {
        section,
        scheduler: Some(Scheduler {
            context_switch: measured(overheads.context_switch),
            schedule: measured(overheads.schedule),
            release: measured(overheads.release),
            release_latency: measured(overheads.release_latency),
            remote_reschedule: measured(overheads.remote_reschedule),
        }),
        ..figures("0 us")
    };
    let tasks: Vec<_> = SET
        .iter()
        .map(|(cost, period)| {
            Task::periodic("t", Time::from_nanos(*cost), Time::from_nanos(*period)).unwrap()
        })
        .collect();
    let overheads = system_analysis::overheads(Time::ZERO, &figures, cores);
    let charged = charge(&tasks, &[Time::ZERO; SET.len()], &overheads, cores);
    let nanos = |time: Time| u64::try_from(time.nanos()).unwrap();
    (charged.unwrap().value.iter())
        .map(|task| (nanos(task.cost()), nanos(task.deadline())))
        .collect()
}

#[test]
fn the_analyser_charges_what_the_library_charges() {
    let none = system_description::Duration::from_nanos(0);
    let section = system_description::Duration::from_micros(10);
    for cores in [1, 2, 4] {
        let costs = |release| schedulers::Overheads {
            release_latency: Duration(3_517),
            schedule: Duration(3_370),
            release: Duration(release),
            context_switch: Duration(5_164),
            remote_reschedule: Duration(16_567),
        };
        // Both round up.
        let library = by_library(costs(0), cores);
        for (one, other) in by_analyser(costs(0), cores, none).iter().zip(&library) {
            assert!(one.0.abs_diff(other.0) <= 1, "{one:?} {other:?}");
            assert_eq!(one.1, other.1);
        }
        // A job's own passes count as if they released others, and sections with interrupts disabled are latency, too.
        let library = by_library(costs(1_350), cores);
        for (one, other) in by_analyser(costs(1_350), cores, section)
            .iter()
            .zip(&library)
        {
            assert!(one.0 > other.0 && one.1 < other.1, "{one:?} {other:?}");
        }
    }
}

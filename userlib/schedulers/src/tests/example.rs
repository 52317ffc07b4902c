//! The example of the book, `docs/src/concepts/scheduler-library.md`.

use super::simulation::Simulation;
use crate::{Action, Cluster, Duration, Instant, LowTasks, OneCore, Task};

#[test]
fn the_example_of_the_book() {
    let mut cluster = Cluster::<1, 4>::new(LowTasks::Stop);
    let tasks = [(100, 25), (150, 40), (280, 75)].map(|(period, budget)| {
        let task = Task::periodic(Duration(period), Duration(budget));
        cluster.add(task, Instant(0), &OneCore).unwrap()
    });
    let mut simulation = Simulation::new(cluster);
    simulation.run(4200, |id| [25, 40, 75][id.index()]);
    assert_eq!(
        tasks.map(|id| simulation.completed[id.index()]),
        [42, 28, 15]
    );
    assert_eq!(simulation.late, []);
    let dispatches = |it: &&(u64, Action)| matches!(it.1, Action::Dispatch { .. });
    let dispatches = simulation.actions.iter().filter(dispatches);
    let first: Vec<_> = dispatches.clone().take(5).map(|it| it.0).collect();
    assert_eq!(first, [0, 25, 65, 100, 125]);
    assert_eq!(dispatches.count(), 108);
}

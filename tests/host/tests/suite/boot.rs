//! What the root task finds.

use host_tests::{Machine, Spec, State};

#[test]
fn the_root_task_runs() {
    let machine = Machine::new();
    assert_eq!(machine.running(), "root");
}

#[test]
fn tasks_run_while_the_root_task_rests() {
    let mut machine = Machine::new();
    let task = machine.spawn(Spec::new("task", 10).active());
    assert_eq!(machine.running(), "root");
    machine.rest();
    assert_eq!(machine.running(), "task");
    machine.suspend(task);
    assert_eq!(machine.state(task), State::Inactive);
    assert_eq!(machine.running(), "nobody");
}

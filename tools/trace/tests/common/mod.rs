//! Traces of the simulator.

#[allow(dead_code, reason = "not all tests need a reader that others wrote")]
pub mod readers;

use simulator::{Options, Setup, Simulation};
use trace::{File, Trace};

/// The trace of a scenario up to a time in microseconds, with room for so many events.
#[allow(dead_code, reason = "not all tests run scenarios in the same way")]
pub fn simulated(setup: fn(&mut Setup), time: u64, events: usize) -> File {
    let options = Options {
        trace: events,
        ..Options::default()
    };
    let mut simulation = Simulation::new(setup, options);
    simulation.run_until(time);
    simulation.trace().expect("it is traced")
}

/// The trace in a file that is not damaged.
#[allow(dead_code, reason = "not all tests read what they make")]
pub fn read(file: &File) -> Trace {
    let (trace, damage) = Trace::read(&file.to_bytes()).unwrap();
    assert_eq!(damage, [""; 0]);
    trace
}

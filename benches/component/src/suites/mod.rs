//! The suites.

use crate::Benchmark;

/// Declares the suites.
macro_rules! suites {
    ($($suite:ident),* $(,)?) => {
        $(mod $suite;)*

        /// The suites: name and benchmarks.
        pub const SUITES: &[(&str, &[Benchmark])] = &[
            $((stringify!($suite), $suite::BENCHMARKS)),*
        ];
    };
}

suites![
    defaults,
    kernel,
    timer,
    ipc,
    signal,
    schedule,
    fault,
    interrupt,
    memory,
    sync,
    monitor,
    thread,
    threshold,
    criticality,
    edf,
    mcipc,
    delay,
    switch,
    locks,
    smp
];

/// Declares a list of benchmarks: `name: variants`.
macro_rules! benchmarks {
    ($($name:ident: $variants:expr),* $(,)?) => {
        pub const BENCHMARKS: &[$crate::Benchmark] = &[
            $($crate::Benchmark { name: stringify!($name), variants: $variants, run: $name }),*
        ];
    };
}
use benchmarks;

/// Priorities of a peer, relative to that of the benchmark's first thread.
const PRIORITIES: [(&str, u8); 3] = [
    ("equal", crate::protocol::PRIORITY),
    ("higher", crate::protocol::PRIORITY + 10),
    ("lower", crate::protocol::PRIORITY - 10),
];

/// Both places.
const PLACES: [crate::partner::Place; 2] =
    [crate::partner::Place::Same, crate::partner::Place::Other];

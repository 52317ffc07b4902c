//! The kernel's access to the hardware clock and timer.

use super::benchmarks;
use crate::bench::Bench;
use crate::measure::repeated;
use userlib::{CPtr, Result, abi};

benchmarks![read: 1, set: 1];

/// A system call that reads the clock.
fn read(bench: &mut Bench, _: usize) -> Result {
    report(bench, "read", abi::Syscall::BenchmarkReadClock)
}

/// A system call that sets the timer.
fn set(bench: &mut Bench, _: usize) -> Result {
    report(bench, "set", abi::Syscall::BenchmarkSetTimer)
}

/// The cost of a system call beyond that of one without an effect.
fn report(bench: &mut Bench, operation: &str, call: abi::Syscall) -> Result {
    let counter = bench.counter();
    let samples = repeated(|| {
        let nothing = counter.call(abi::Syscall::BenchmarkNullSyscall, CPtr::NULL);
        Ok(counter.call(call, CPtr::NULL) - nothing)
    })?;
    bench.report(operation, &[], &samples);
    Ok(())
}

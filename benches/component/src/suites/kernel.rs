//! Kernel entry and exit.

use super::benchmarks;
use crate::bench::Bench;
use crate::measure::repeated;
use userlib::{CPtr, Result, abi};

benchmarks![null_call: 1];

/// A system call without an effect.
fn null_call(bench: &mut Bench, _: usize) -> Result {
    let counter = bench.counter();
    let samples = repeated(|| Ok(counter.call(abi::Syscall::BenchmarkNullSyscall, CPtr::NULL)))?;
    bench.report("null_call", &[], &samples);
    Ok(())
}

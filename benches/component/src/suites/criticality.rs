//! Changes of the scheduling order: by the criticality level, and by setting priorities.

use super::benchmarks;
use crate::bench::{Bench, TIME};
use crate::measure::repeated;
use userlib::cap::Tcb;
use userlib::{CPtr, Capability, Result, abi};

benchmarks![level: THREADS.len(), priorities: THREADS.len()];

/// Number of threads of each kind.
const THREADS: [usize; 5] = [1, 4, 16, 64, 256];

/// Priorities of the high-criticality threads, of the higher-priority ones, and of the high-criticality ones
/// when raised: all below that of the benchmark, so that none of these threads runs.
const IMPORTANT: u8 = 10;
const HIGH: u8 = 20;
const RAISED: u8 = 30;

/// Creates a thread that is ready but never runs.
fn ready(bench: &mut Bench, priority: u8, criticality: u8) -> Result<Tcb> {
    let tcb: Tcb = bench.allocator.create()?;
    let time = bench.create_sched_context(&TIME)?;
    tcb.set_sched_params(bench.tcb, 0, priority, time, CPtr::NULL)?;
    tcb.set_criticality(bench.tcb, criticality)?;
    tcb.resume()?;
    Ok(tcb)
}

/// Raises and lowers the criticality level.
fn level(bench: &mut Bench, variant: usize) -> Result {
    let threads = THREADS[variant];
    // At the highest criticality, the thread that changes the level continues to run.
    bench.tcb.set_criticality(bench.tcb, abi::MAX_CRITICALITY)?;
    for _ in 0..threads {
        ready(bench, HIGH, 0)?;
        ready(bench, IMPORTANT, 1)?;
    }
    let counter = bench.counter();
    let label = abi::Method::SchedControlSetCriticalityLevel.number();
    let control = bench.sched_control.cptr();
    let set = |level| counter.invoke(control, label, &[level], &[]);
    let raise = repeated(|| {
        set(0)?;
        set(1)
    })?;
    let lower = repeated(|| {
        set(1)?;
        set(0)
    })?;
    for (operation, samples) in [("raise", raise), ("lower", lower)] {
        bench.report(
            operation,
            &[("by", "level".into()), ("threads", threads.into())],
            &samples,
        );
    }
    Ok(())
}

/// Raises the priorities of the high-criticality threads above those of the others, and lowers them.
fn priorities(bench: &mut Bench, variant: usize) -> Result {
    let threads = THREADS[variant];
    let mut important = [CPtr::NULL; 256];
    for tcb in &mut important[..threads] {
        ready(bench, HIGH, 0)?;
        *tcb = ready(bench, IMPORTANT, 0)?.cptr();
    }
    let counter = bench.counter();
    let label = abi::Method::TcbSetPriority.number();
    let authority = [bench.tcb.cptr()];
    let set_all = |priority: u8| {
        let mut cost = 0;
        for tcb in &important[..threads] {
            cost += counter.invoke(*tcb, label, &[priority.into()], &authority)?;
        }
        Ok(cost)
    };
    let raise = repeated(|| {
        set_all(IMPORTANT)?;
        set_all(RAISED)
    })?;
    let lower = repeated(|| {
        set_all(RAISED)?;
        set_all(IMPORTANT)
    })?;
    for (operation, samples) in [("raise", raise), ("lower", lower)] {
        let parameters = [("by", "priorities".into()), ("threads", threads.into())];
        bench.report(operation, &parameters, &samples);
    }
    Ok(())
}

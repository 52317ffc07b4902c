//! Scheduling decisions.

use super::{PLACES, PRIORITIES, benchmarks};
use crate::bench::{Bench, Time};
use crate::measure::{EMPTY, Log, log_of, repeated, samples};
use crate::partner::Peer;
use userlib::{CPtr, Capability, Result, abi};

benchmarks![yield_to_equal: 2, yield_alone: 1, set_priority: 1];

/// Yield to a thread of the same priority.
fn yield_to_equal(bench: &mut Bench, variant: usize) -> Result {
    let place = PLACES[variant];
    let counter = bench.counter();
    bench.start(place, PRIORITIES[0].1, Time::Own, yield_back)?;
    bench.peer.notification.signal();
    let mut own: Log = EMPTY;
    for stamps in &mut own {
        *stamps = counter.timed(abi::Syscall::Yield, &mut Default::default());
    }
    let other = log_of(bench.shared());
    // The peer was preempted in its yield of the previous round.
    let samples = samples(|round| counter.net(own[round].before, other[round - 1].after));
    bench.report("yield", &[("to", "equal".into()), ("space", place.name().into())], &samples);
    Ok(())
}

/// Yields and logs the stamps.
fn yield_back(peer: &Peer) {
    peer.notification.wait();
    for round in 0.. {
        let stamps = peer.counter.timed(abi::Syscall::Yield, &mut Default::default());
        peer.shared.log(round, stamps);
    }
}

/// Yield while no other thread of this priority is ready.
fn yield_alone(bench: &mut Bench, _: usize) -> Result {
    let counter = bench.counter();
    let samples = repeated(|| Ok(counter.call(abi::Syscall::Yield, CPtr::NULL)))?;
    bench.report("yield", &[("to", "oneself".into())], &samples);
    Ok(())
}

/// A change of the thread's own priority without effect on the order of threads.
fn set_priority(bench: &mut Bench, _: usize) -> Result {
    let counter = bench.counter();
    let tcb = bench.tcb.cptr();
    let mut priority = PRIORITIES[0].1;
    let samples = repeated(|| {
        priority ^= 1;
        let label = abi::Method::TcbSetPriority.number();
        counter.invoke(tcb, label, &[priority.into()], &[tcb])
    })?;
    bench.report("set_priority", &[], &samples);
    Ok(())
}

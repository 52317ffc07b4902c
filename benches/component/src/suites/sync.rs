//! Synchronisation with notifications.

use super::{PLACES, PRIORITIES, benchmarks};
use crate::bench::{Bench, Time};
use crate::measure::repeated;
use crate::partner::{Peer, Place};
use userlib::Result;

benchmarks![producer_consumer: 4, broadcast: 2 * WAITERS.len()];

/// A producer passes items one by one to a consumer, through a buffer for one item and two binary semaphores;
/// the cost per item.
fn producer_consumer(bench: &mut Bench, variant: usize) -> Result {
    let place = PLACES[variant % 2];
    let (priority, priority_value) = PRIORITIES[variant / 2];
    bench.start(place, priority_value, Time::Own, consume)?;
    let counter = bench.counter();
    let (full, empty, shared) = (bench.peer.notification, bench.peer.back, bench.shared());
    let samples = repeated(|| {
        let from = counter.now();
        shared.set_argument(ITEM, from);
        full.signal();
        empty.wait();
        Ok(counter.between(from, counter.now()))
    })?;
    let parameters = [
        ("space", place.name().into()),
        ("consumer", priority.into()),
    ];
    bench.report("producer_consumer", &parameters, &samples);
    Ok(())
}

/// Argument of the role: the item.
const ITEM: usize = 0;

/// Consumes items.
fn consume(peer: &Peer) {
    loop {
        peer.notification.wait();
        core::hint::black_box(peer.shared.argument(ITEM));
        peer.back.signal();
    }
}

/// Numbers of threads that wait for a broadcast.
const WAITERS: [usize; 3] = [1, 10, 50];

/// One thread wakes all threads that wait for a condition: from its first signal until it continues after the
/// last. Higher-priority ones run immediately and wait again.
fn broadcast(bench: &mut Bench, variant: usize) -> Result {
    let waiters = WAITERS[variant % WAITERS.len()];
    let (priority, priority_value) = PRIORITIES[1 + variant / WAITERS.len()];
    for _ in 0..waiters {
        bench.start(Place::Same, priority_value, Time::Own, wait_repeatedly)?;
    }
    let (counter, condition) = (bench.counter(), bench.peer.notification);
    let samples = repeated(|| {
        let from = counter.now();
        for _ in 0..waiters {
            condition.signal();
        }
        let cost = counter.between(from, counter.now());
        bench.let_others_run()?;
        Ok(cost)
    })?;
    let parameters = [("waiters", waiters.into()), ("priority", priority.into())];
    bench.report("broadcast", &parameters, &samples);
    Ok(())
}

/// Waits for a condition repeatedly.
fn wait_repeatedly(peer: &Peer) {
    loop {
        peer.notification.wait();
    }
}

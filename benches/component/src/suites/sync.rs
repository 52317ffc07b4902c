//! Synchronisation made of notifications.

use super::{PLACES, PRIORITIES, benchmarks};
use crate::bench::{Bench, Time};
use crate::measure::repeated;
use crate::partner::Peer;
use userlib::Result;

benchmarks![producer_consumer: 4];

/// A producer hands one item after the other to a consumer, through a place for one item and two
/// binary semaphores; the cost of an item.
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
    let parameters = [("space", place.name().into()), ("consumer", priority.into())];
    bench.report("producer_consumer", &parameters, &samples);
    Ok(())
}

/// Argument of the role: the item.
const ITEM: usize = 0;

/// Takes items.
fn consume(peer: &Peer) {
    loop {
        peer.notification.wait();
        core::hint::black_box(peer.shared.argument(ITEM));
        peer.back.signal();
    }
}

//! Notifications.

use super::{PLACES, PRIORITIES, benchmarks};
use crate::bench::{Bench, Time};
use crate::measure::{EMPTY, Log, ROUNDS, filled, log_of, repeated, samples, sending};
use crate::partner::Peer;
use userlib::{Capability, Result, abi};

benchmarks![signal: 4, wait: 2, wait_signalled: 1, signal_without_waiter: 1];

/// Signal to a waiting thread: until the higher-priority thread of the two continues.
pub(super) fn signal(bench: &mut Bench, variant: usize) -> Result {
    let (priority, priority_value) = PRIORITIES[1 + variant % 2];
    let place = PLACES[variant / 2];
    let (counter, shared) = (bench.counter(), bench.shared());
    bench.start(place, priority_value, Time::Own, wait_for_signals)?;
    let mut sender: Log = EMPTY;
    for stamps in sender.iter_mut().take(ROUNDS) {
        let mut registers = sending(bench.peer.notification.cptr(), filled(0));
        *stamps = counter.timed(abi::Syscall::Send, &mut registers);
        bench.let_others_run()?;
    }
    let receiver = log_of(shared);
    let samples = samples(|round| {
        let end = if priority == "higher" {
            receiver[round].after
        } else {
            sender[round].after
        };
        counter.net(sender[round].before, end)
    });
    let parameters = [
        ("space", place.name().into()),
        ("priority", priority.into()),
    ];
    bench.report("signal", &parameters, &samples);
    Ok(())
}

/// Waits for signals and logs the stamps.
fn wait_for_signals(peer: &Peer) {
    for round in 0.. {
        let mut registers = sending(peer.notification.cptr(), filled(0));
        let stamps = peer.counter.timed(abi::Syscall::Wait, &mut registers);
        peer.shared.log(round, stamps);
    }
}

/// Wait without a signal: until a lower-priority thread continues.
pub(super) fn wait(bench: &mut Bench, variant: usize) -> Result {
    let place = PLACES[variant];
    let (counter, shared) = (bench.counter(), bench.shared());
    bench.start(place, PRIORITIES[2].1, Time::Own, signal_back)?;
    bench.peer.notification.signal();
    let mut waiter: Log = EMPTY;
    for stamps in &mut waiter {
        let mut registers = sending(bench.peer.back.cptr(), filled(0));
        *stamps = counter.timed(abi::Syscall::Wait, &mut registers);
    }
    // The peer was preempted in its signal of the previous round.
    let signaller = log_of(shared);
    let samples = samples(|round| counter.net(waiter[round].before, signaller[round - 1].after));
    bench.report("wait", &[("space", place.name().into())], &samples);
    Ok(())
}

/// Signals and logs the stamps.
fn signal_back(peer: &Peer) {
    peer.notification.wait();
    for round in 0.. {
        let mut registers = sending(peer.back.cptr(), filled(0));
        let stamps = peer.counter.timed(abi::Syscall::Send, &mut registers);
        peer.shared.log(round, stamps);
    }
}

/// Wait with a pending signal.
fn wait_signalled(bench: &mut Bench, _: usize) -> Result {
    let counter = bench.counter();
    let notification = bench.peer.notification;
    let samples = repeated(|| {
        notification.signal();
        Ok(counter.call(abi::Syscall::Wait, notification.cptr()))
    })?;
    bench.report("wait_signalled", &[], &samples);
    Ok(())
}

/// Signal while no thread waits.
fn signal_without_waiter(bench: &mut Bench, _: usize) -> Result {
    let counter = bench.counter();
    let notification = bench.peer.notification.cptr();
    let samples = repeated(|| Ok(counter.call(abi::Syscall::Send, notification)))?;
    bench.report("signal_without_waiter", &[], &samples);
    Ok(())
}

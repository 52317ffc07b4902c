//! Interrupts, delivered as signals.

use super::{PLACES, PRIORITIES, benchmarks};
use crate::bench::{Bench, Time};
use crate::measure::{Counter, repeated, sending};
use crate::partner::{Peer, Place};
use userlib::cap::Notification;
use userlib::{CPtr, Capability, MessageInfo, Microseconds, Result, abi};

benchmarks![interrupt_to_thread: 2, interrupt_to_lower_priority: 1];

/// Delay of a requested interrupt.
const SOON: Microseconds = Microseconds(100);

/// From the interrupted thread to the higher-priority one that waits for the interrupt.
fn interrupt_to_thread(bench: &mut Bench, variant: usize) -> Result {
    let place = PLACES[variant];
    let counter = bench.counter();
    bench.shared().set_argument(STAMP, 0);
    let spinner = bench.start(place, PRIORITIES[2].1, Time::Own, spin)?;
    bench.peer.notification.signal();
    // A pending interrupt could preempt the peer before it reaches its loop, so repeat until it has.
    while bench.shared().argument(STAMP) == 0 {
        bench.interrupt_in(SOON);
        bench.interrupt.wait();
        bench.acknowledge();
    }
    let samples = repeated(|| {
        bench.interrupt_in(SOON);
        let mut registers = sending(bench.interrupt.cptr(), MessageInfo(0));
        let stamps = counter.timed(abi::Syscall::Wait, &mut registers);
        bench.acknowledge();
        let mut registers = spinner.read_registers(false)?;
        let end = counter.interrupted(bench.shared().argument(STAMP), &registers);
        *registers.pc() = counter.spin_again();
        spinner.write_registers(true, &registers)?;
        Ok(counter.between(end, stamps.after))
    })?;
    bench.report(
        "interrupt_to_thread",
        &[("space", place.name().into())],
        &samples,
    );
    Ok(())
}

/// Argument of the role: location of the stamp of [`spin`].
pub(super) const STAMP: usize = 0;

/// Runs forever.
pub(super) fn spin(peer: &Peer) {
    peer.notification.wait();
    peer.counter.spin(peer.shared.argument_place(STAMP))
}

/// Time that an interrupt takes from a thread with a higher priority than the one that waits for it.
fn interrupt_to_lower_priority(bench: &mut Bench, _: usize) -> Result {
    let counter = bench.counter();
    let interrupt = bench.interrupt.cptr().0;
    bench.shared().set_argument(INTERRUPT, interrupt);
    bench.start(Place::Same, PRIORITIES[2].1, Time::Own, wait)?;
    let quiet = work(counter);
    let samples = repeated(|| {
        bench.let_others_run()?;
        bench.interrupt_in(SOON);
        let disturbed = work(counter);
        bench.acknowledge();
        Ok(disturbed - quiet)
    })?;
    bench.report("interrupt_to_lower_priority", &[], &samples);
    Ok(())
}

/// The cost of a computation that lasts until after the interrupt.
#[inline(never)]
fn work(counter: Counter) -> usize {
    let from = counter.now();
    for turn in 0..100_000 {
        core::hint::black_box(turn);
    }
    counter.between(from, counter.now())
}

/// Argument of the role: the notification of the interrupt.
const INTERRUPT: usize = 0;

/// Waits for interrupts.
fn wait(peer: &Peer) {
    let interrupt = Notification(CPtr(peer.shared.argument(INTERRUPT)));
    loop {
        interrupt.wait();
    }
}

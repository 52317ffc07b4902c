//! The cost of endpoints with thresholds and limits, and of deferrals.
//!
//! *Fast* are messages for which there are fast paths if the endpoint has no threshold; *slow* ones carry
//! two capabilities, for which no fast path is eligible. The receiver sets no receive slot, so nothing is
//! transferred.
//!
//! The tool also runs this suite on a kernel without thresholds, and names its results `absent`.

use super::{PRIORITIES, benchmarks};
use crate::bench::{Bench, Time};
use crate::measure::{EMPTY, Log, ROUNDS, Stamps, filled, log_of, samples, sending};
use crate::partner::{Peer, Place};
use userlib::abi::endpoint_flags::LIMIT;
use userlib::abi::{MessageInfo, Syscall};
use userlib::arch::Registers;
use userlib::cap::{Endpoint, SchedParameters};
use userlib::{Capability, Error, Microseconds, Result, ipc_buffer};

benchmarks![call: 2 * THRESHOLDS.len(), defer: 2 * REFILLS.len()];

/// Variants of the endpoint's threshold and limit.
const THRESHOLDS: [&str; 3] = ["off", "on", "limit"];
/// How many replenishments are merged when a caller is deferred, besides the first.
const REFILLS: [usize; 9] = [0, 1, 2, 5, 10, 20, 30, 40, 50];

/// The threshold.
const THRESHOLD: Microseconds = Microseconds::from_millis(10);
/// The budget of the deferred client, and a period longer than any round.
const BUDGET: Microseconds = Microseconds::from_millis(10);
const PERIOD: Microseconds = Microseconds::from_millis(10_000);
/// The budget that the kernel needs in addition to a threshold.
const KERNEL: Microseconds = Microseconds(20);

/// Arguments of the roles.
const SLOW: usize = 0;
const PIECES: usize = 1;

const PATHS: [&str; 2] = ["fast", "slow"];

/// Replaces the given endpoint by a new one, of which this component can set the threshold. Returns false if
/// the kernel has no thresholds.
fn endpoint(bench: &mut Bench, threshold: Microseconds, flags: usize) -> Result<bool> {
    let endpoint: Endpoint = bench.allocator.create()?;
    bench.peer.endpoint = endpoint;
    if threshold == Microseconds(0) {
        return Ok(true);
    }
    match bench.allocator.slot(endpoint).set_endpoint_threshold(threshold, flags) {
        Err(Error::IllegalOperation) => Ok(false),
        other => other.map(|()| true),
    }
}

/// The registers of a message without words.
fn message(peer: &Peer) -> Registers {
    let slow = peer.shared.argument(SLOW) != 0;
    if slow {
        ipc_buffer::set_capability(0, peer.notification.cptr());
        ipc_buffer::set_capability(1, peer.notification.cptr());
    }
    let info = if slow { MessageInfo::new(0, 2, 0) } else { filled(0) };
    Registers { reply: peer.reply.cptr().0, ..sending(peer.endpoint.cptr(), info) }
}

/// Call and ReplyRecv.
fn call(bench: &mut Bench, variant: usize) -> Result {
    let (path, threshold) = (variant % 2, variant / 2);
    let (time, flags) = [(Microseconds(0), 0), (THRESHOLD, 0), (THRESHOLD, LIMIT)][threshold];
    if !endpoint(bench, time, flags)? {
        return Ok(());
    }
    let (counter, shared) = (bench.counter(), bench.shared());
    shared.set_argument(SLOW, path);
    bench.start(Place::Same, PRIORITIES[0].1, Time::Callers, serve)?;
    let mut client: Log = EMPTY;
    for stamps in &mut client {
        *stamps = counter.timed(Syscall::Call, &mut message(&bench.peer));
    }
    let server = log_of(shared);
    let parameters = [
        ("threshold", THRESHOLDS[threshold].into()),
        ("refills", 0.into()),
        ("path", PATHS[path].into()),
    ];
    let calls = samples(|round| counter.net(client[round].before, server[round].after));
    let replies = samples(|round| counter.net(server[round + 1].before, client[round].after));
    bench.report("call", &parameters, &calls);
    bench.report("replyrecv", &parameters, &replies);
    Ok(())
}

/// Replies to calls and logs the stamps.
fn serve(peer: &Peer) {
    let mut call = Syscall::Recv;
    for round in 0.. {
        let stamps = peer.counter.timed(call, &mut message(peer));
        peer.shared.log(round, stamps);
        call = Syscall::ReplyRecv;
    }
}

/// A call with too little budget left, which the kernel defers: from the call to the next thread.
fn defer(bench: &mut Bench, variant: usize) -> Result {
    let (path, refills) = (variant % 2, REFILLS[variant / 2]);
    // The threshold requires all replenishments.
    if !endpoint(bench, BUDGET - KERNEL, 0)? {
        return Ok(());
    }
    let (counter, shared) = (bench.counter(), bench.shared());
    shared.set_argument(SLOW, path);
    shared.set_argument(PIECES, refills);
    let priority = PRIORITIES[1].1;
    bench.start(Place::Same, priority + 1, Time::Callers, answer)?;
    let parameters = SchedParameters::new(BUDGET, PERIOD).with_extra_refills(62).sporadic();
    let time = bench.create_sched_context(&parameters)?;
    let client = bench.start(Place::Same, priority, Time::Callers, be_deferred)?;
    time.bind(client)?;
    let notification = bench.peer.notification.cptr();
    let mut after = [Stamps::default(); ROUNDS];
    for stamps in &mut after {
        // Each signal makes the client use a replenishment; after the last it calls, and this thread
        // continues.
        for _ in 0..=refills {
            *stamps = counter.timed(Syscall::Send, &mut sending(notification, filled(0)));
        }
        // With a whole budget, the call is accepted.
        client.suspend()?;
        bench.sched_control.configure(time, &parameters)?;
        client.resume()?;
    }
    let calls = log_of(shared);
    let samples = samples(|round| counter.net(calls[round].before, after[round].after));
    let parameters = [
        ("threshold", "on".into()),
        ("refills", refills.into()),
        ("path", PATHS[path].into()),
    ];
    bench.report("defer", &parameters, &samples);
    Ok(())
}

/// Replies to calls.
fn answer(peer: &Peer) {
    let mut call = Syscall::Recv;
    loop {
        peer.counter.timed(call, &mut message(peer));
        call = Syscall::ReplyRecv;
    }
}

/// Wakes up so many times, to create as many replenishments, then calls and logs the stamps.
fn be_deferred(peer: &Peer) {
    let pieces = peer.shared.argument(PIECES);
    for round in 0.. {
        for _ in 0..=pieces {
            peer.notification.wait();
        }
        // The first stamp is that of the first attempt.
        let stamps = peer.counter.timed(Syscall::Call, &mut message(peer));
        peer.shared.log(round, stamps);
    }
}

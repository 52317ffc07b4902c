//! What endpoints with thresholds and limits cost, and what a deferral does.
//!
//! *Fast* are messages for which there are fast paths, where the endpoint has no threshold; *slow* ones
//! bring a capability, which no fast path takes. Nobody takes the capability, so nothing is transferred.
//!
//! The tool runs this suite also with a kernel that has no thresholds, and calls its results `absent`.

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

/// What an endpoint asks for.
const THRESHOLDS: [&str; 3] = ["off", "on", "limit"];
/// How many replenishments are merged when a caller is deferred, beside the first.
const REFILLS: [usize; 9] = [0, 1, 2, 5, 10, 20, 30, 40, 50];

/// The threshold.
const THRESHOLD: Microseconds = Microseconds::from_millis(10);
/// The budget of the client that is deferred, and a period that no round sees end.
const BUDGET: Microseconds = Microseconds::from_millis(10);
const PERIOD: Microseconds = Microseconds::from_millis(10_000);
/// What the kernel asks for beside a threshold.
const KERNEL: Microseconds = Microseconds(20);

/// Arguments of the roles.
const SLOW: usize = 0;
const PIECES: usize = 1;

const PATHS: [&str; 2] = ["fast", "slow"];

/// An endpoint whose threshold this component may set, in place of the one that it got. Without it, if the
/// kernel has no thresholds.
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
    }
    let info = if slow { MessageInfo::new(0, 1, 0) } else { filled(0) };
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

/// Answers calls; notes when it received and replied.
fn serve(peer: &Peer) {
    let mut call = Syscall::Recv;
    for round in 0.. {
        let stamps = peer.counter.timed(call, &mut message(peer));
        peer.shared.log(round, stamps);
        call = Syscall::ReplyRecv;
    }
}

/// A call with too little time at hand, which the kernel lets wait: from there to the next thread.
fn defer(bench: &mut Bench, variant: usize) -> Result {
    let (path, refills) = (variant % 2, REFILLS[variant / 2]);
    // All replenishments are needed.
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
        // Each time it uses a piece; after the last it calls, and this one goes on.
        for _ in 0..=refills {
            *stamps = counter.timed(Syscall::Send, &mut sending(notification, filled(0)));
        }
        // With a whole budget, the call is let in.
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

/// Answers calls.
fn answer(peer: &Peer) {
    let mut call = Syscall::Recv;
    loop {
        peer.counter.timed(call, &mut message(peer));
        call = Syscall::ReplyRecv;
    }
}

/// Wakes so many times, so that there are as many replenishments, and calls; notes when.
fn be_deferred(peer: &Peer) {
    let pieces = peer.shared.argument(PIECES);
    for round in 0.. {
        for _ in 0..=pieces {
            peer.notification.wait();
        }
        // The first stamp is that of the first try.
        let stamps = peer.counter.timed(Syscall::Call, &mut message(peer));
        peer.shared.log(round, stamps);
    }
}

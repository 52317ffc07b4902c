//! Messages: calls and their replies, and messages without a reply.

use super::{PLACES, PRIORITIES, benchmarks};
use crate::bench::{Bench, Time};
use crate::measure::{EMPTY, Log, ROUNDS, filled, log_of, samples, sending, use_fpu};
use crate::partner::{Peer, Place};
use userlib::arch::Registers;
use userlib::cap::{CNode, Notification, Slot};
use userlib::{CPtr, Capability, Result, abi, ipc_buffer};

benchmarks![call: 24, call_with_fpu: 2, call_with_capability: 1, send: 8, reply_and_recv: 2];

/// Arguments of the roles.
const WORDS: usize = 0;
const FPU: usize = 1;
const STEP: usize = 0;
const RECEIVE_ROOT: usize = 0;
const RECEIVE_INDEX: usize = 1;

/// Call and ReplyRecv in all combinations.
fn call(bench: &mut Bench, variant: usize) -> Result {
    let (priority, priority_value) = PRIORITIES[variant % 3];
    let place = PLACES[variant / 3 % 2];
    let words = [0, 10][variant / 6 % 2];
    let (server, time) = [("passive", Time::Callers), ("active", Time::Own)][variant / 12];
    let (calls, replies) = measure(bench, place, priority_value, time, words, false)?;
    let parameters = [
        ("words", words.into()),
        ("space", place.name().into()),
        ("server", server.into()),
        ("priority", priority.into()),
    ];
    bench.report("call", &parameters, &calls);
    bench.report("replyrecv", &parameters, &replies);
    Ok(())
}

/// Call and ReplyRecv with a passive server of the same priority.
pub(super) fn call_between(
    bench: &mut Bench,
    place: Place,
    words: usize,
    parameter: (&'static str, &'static str),
) -> Result {
    let (calls, replies) = measure(bench, place, PRIORITIES[0].1, Time::Callers, words, false)?;
    let (name, value) = parameter;
    let parameters = [("words", words.into()), (name, value.into())];
    bench.report("call", &parameters, &calls);
    bench.report("replyrecv", &parameters, &replies);
    Ok(())
}

/// Call and ReplyRecv between threads that both use floating-point registers.
fn call_with_fpu(bench: &mut Bench, variant: usize) -> Result {
    let place = PLACES[variant];
    let (calls, replies) = measure(bench, place, PRIORITIES[0].1, Time::Callers, 0, true)?;
    let parameters = [("words", 0.into()), ("space", place.name().into())];
    bench.report("call_with_fpu", &parameters, &calls);
    bench.report("replyrecv_with_fpu", &parameters, &replies);
    Ok(())
}

type Samples = [usize; crate::measure::SAMPLES];

/// The costs of calls and replies.
fn measure(
    bench: &mut Bench,
    place: Place,
    priority: u8,
    time: Time,
    words: usize,
    fpu: bool,
) -> Result<(Samples, Samples)> {
    let (counter, shared) = (bench.counter(), bench.shared());
    shared.set_argument(WORDS, words);
    shared.set_argument(FPU, fpu.into());
    bench.start(place, priority, time, serve)?;
    let endpoint = bench.peer.endpoint.cptr();
    let mut client: Log = EMPTY;
    // One round more, because a server logs its reply only after the next call.
    for (round, stamps) in client.iter_mut().enumerate() {
        let mut registers = sending(endpoint, filled(words));
        if fpu {
            use_fpu(round);
        }
        *stamps = counter.timed(abi::Syscall::Call, &mut registers);
    }
    let server = log_of(shared);
    Ok((
        samples(|round| counter.net(client[round].before, server[round].after)),
        samples(|round| counter.net(server[round + 1].before, client[round].after)),
    ))
}

/// Replies to calls and logs the stamps.
pub(super) fn serve(peer: &Peer) {
    let endpoint = peer.endpoint.cptr();
    let (words, fpu) = (peer.shared.argument(WORDS), peer.shared.argument(FPU) != 0);
    let mut call = abi::Syscall::Recv;
    for round in 0.. {
        let mut registers = Registers {
            reply: peer.reply.cptr().0,
            ..sending(endpoint, filled(words))
        };
        if fpu {
            use_fpu(round);
        }
        let stamps = peer.counter.timed(call, &mut registers);
        peer.shared.log(round, stamps);
        call = abi::Syscall::ReplyRecv;
    }
}

/// Call and ReplyRecv with a passive server of the same priority, each with a capability that is copied into an empty
/// slot of the receiver, which has the same capability space.
fn call_with_capability(bench: &mut Bench, _: usize) -> Result {
    let (counter, shared) = (bench.counter(), bench.shared());
    let own = bench.allocator.allocate_slot()?;
    let servers = bench.allocator.allocate_slot()?;
    shared.set_argument(RECEIVE_ROOT, servers.root.cptr().0);
    shared.set_argument(RECEIVE_INDEX, servers.index);
    bench.start(
        Place::Same,
        PRIORITIES[0].1,
        Time::Callers,
        exchange_capabilities,
    )?;
    ipc_buffer::set_receive_slot(own);
    let mut client: Log = EMPTY;
    for stamps in &mut client {
        let mut registers = with_notification(&bench.peer);
        *stamps = counter.timed(abi::Syscall::Call, &mut registers);
        // An empty slot would be an error: both have received a capability.
        Notification(CPtr(own.index)).signal();
        own.delete()?;
        servers.delete()?;
    }
    let server = log_of(shared);
    let calls = samples(|round| counter.net(client[round].before, server[round].after));
    let replies = samples(|round| counter.net(server[round + 1].before, client[round].after));
    let parameters = [("words", 0.into()), ("space", Place::Same.name().into())];
    bench.report("call_with_capability", &parameters, &calls);
    bench.report("replyrecv_with_capability", &parameters, &replies);
    Ok(())
}

/// The registers of a message with one capability and no words.
fn with_notification(peer: &Peer) -> Registers {
    ipc_buffer::set_capability(0, peer.notification.cptr());
    Registers {
        reply: peer.reply.cptr().0,
        ..sending(peer.endpoint.cptr(), abi::MessageInfo::new(0, 1, 0))
    }
}

/// Replies to calls, with capabilities in both directions, and logs the stamps.
fn exchange_capabilities(peer: &Peer) {
    ipc_buffer::set_receive_slot(Slot {
        root: CNode(CPtr(peer.shared.argument(RECEIVE_ROOT))),
        index: peer.shared.argument(RECEIVE_INDEX),
        depth: abi::WORD_BITS,
    });
    let mut call = abi::Syscall::Recv;
    for round in 0.. {
        let stamps = peer.counter.timed(call, &mut with_notification(peer));
        peer.shared.log(round, stamps);
        call = abi::Syscall::ReplyRecv;
    }
}

/// Send to a waiting receiver of higher or lower priority.
pub(super) fn send(bench: &mut Bench, variant: usize) -> Result {
    let (priority, priority_value) = PRIORITIES[1 + variant % 2];
    let place = PLACES[variant / 2 % 2];
    let words = [0, 10][variant / 4];
    let (counter, shared) = (bench.counter(), bench.shared());
    bench.start(place, priority_value, Time::Own, receive)?;
    let endpoint = bench.peer.endpoint.cptr();
    let mut sender: Log = EMPTY;
    for stamps in sender.iter_mut().take(ROUNDS) {
        let mut registers = sending(endpoint, filled(words));
        *stamps = counter.timed(abi::Syscall::Send, &mut registers);
        bench.let_others_run()?;
    }
    let receiver = log_of(shared);
    // The operation ends when the higher-priority thread of the two continues.
    let samples = samples(|round| {
        let end = if priority == "higher" {
            receiver[round].after
        } else {
            sender[round].after
        };
        counter.net(sender[round].before, end)
    });
    let parameters = [
        ("words", words.into()),
        ("space", place.name().into()),
        ("priority", priority.into()),
    ];
    bench.report("send", &parameters, &samples);
    Ok(())
}

/// The two steps of a server with its own time, of higher priority than its client: a reply by Send, after which it
/// continues, and Recv, after which the client does.
fn reply_and_recv(bench: &mut Bench, step: usize) -> Result {
    let (counter, shared) = (bench.counter(), bench.shared());
    shared.set_argument(STEP, step);
    bench.start(Place::Other, PRIORITIES[1].1, Time::Own, serve_in_steps)?;
    let endpoint = bench.peer.endpoint.cptr();
    let mut client: Log = EMPTY;
    for stamps in &mut client {
        *stamps = counter.timed(abi::Syscall::Call, &mut sending(endpoint, filled(0)));
    }
    let server = log_of(shared);
    let parameters = [("words", 0.into()), ("space", Place::Other.name().into())];
    let (name, samples) = match step {
        0 => {
            let of = |round: usize| counter.net(server[round].before, server[round].after);
            ("reply_by_send", samples(of))
        }
        _ => {
            let of = |round: usize| counter.net(server[round + 1].before, client[round].after);
            ("recv", samples(of))
        }
    };
    bench.report(name, &parameters, &samples);
    Ok(())
}

/// Receives, replies by Send, and logs the stamps of one of the two.
fn serve_in_steps(peer: &Peer) {
    let (endpoint, reply) = (peer.endpoint.cptr(), peer.reply.cptr());
    let step = peer.shared.argument(STEP);
    for round in 0.. {
        let mut registers = Registers {
            reply: reply.0,
            ..sending(endpoint, filled(0))
        };
        let recv = peer.counter.timed(abi::Syscall::Recv, &mut registers);
        let send = peer
            .counter
            .timed(abi::Syscall::Send, &mut sending(reply, filled(0)));
        peer.shared.log(round, [send, recv][step]);
    }
}

/// Receives and logs the stamps.
fn receive(peer: &Peer) {
    for round in 0.. {
        let mut registers = sending(peer.endpoint.cptr(), filled(0));
        let stamps = peer.counter.timed(abi::Syscall::Wait, &mut registers);
        peer.shared.log(round, stamps);
    }
}

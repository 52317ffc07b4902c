//! Faults and their handlers.

use super::{PRIORITIES, benchmarks};
use crate::bench::{Bench, Time};
use crate::measure::{EMPTY, Log, UNDEFINED_BYTES, log_of, repeated, samples, sending};
use crate::partner::{Peer, Place};
use userlib::arch::Registers;
use userlib::cap::{SchedParameters, Tcb};
use userlib::{Capability, MessageInfo, Microseconds, Result, abi};

benchmarks![undefined_instruction: 2, timeout: 1];

/// An undefined instruction; its handler continues the thread after it.
fn undefined_instruction(bench: &mut Bench, variant: usize) -> Result {
    // The handler is the benchmark's first thread.
    let (priority, peer_priority) = [PRIORITIES[0], ("higher", PRIORITIES[2].1)][variant];
    let (counter, shared) = (bench.counter(), bench.shared());
    let (endpoint, reply) = (bench.peer.endpoint.cptr(), bench.peer.reply.cptr());
    let faulter = bench.start(Place::Same, peer_priority, Time::Own, fault)?;
    set_handler(bench, faulter)?;
    bench.peer.notification.signal();

    let mut handler: Log = EMPTY;
    let mut call = abi::Syscall::Recv;
    let mut registers = Registers { reply: reply.0, ..sending(endpoint, MessageInfo(0)) };
    for stamps in &mut handler {
        *stamps = counter.timed(call, &mut registers);
        // The first word of the fault message and of the reply is the program counter.
        let pc = registers.words[0] + UNDEFINED_BYTES;
        registers = Registers { reply: reply.0, ..sending(endpoint, MessageInfo::new(0, 0, 1)) };
        registers.words[0] = pc;
        call = abi::Syscall::ReplyRecv;
    }
    let faulter = log_of(shared);
    let to = samples(|round| counter.net(faulter[round].before, handler[round].after));
    // The reply to a fault is sent in the next round.
    let back = samples(|round| counter.net(handler[round].before, faulter[round - 1].after));
    let both = core::array::from_fn::<_, { crate::measure::SAMPLES }, _>(|i| to[i] + back[i]);
    let parameters = [("handler", priority.into())];
    bench.report("fault_to_handler", &parameters, &to);
    bench.report("fault_back", &parameters, &back);
    bench.report("fault_both", &parameters, &both);
    Ok(())
}

/// Makes the shared endpoint the handler of a thread's faults and timeouts.
fn set_handler(bench: &Bench, thread: Tcb) -> Result {
    let endpoint = bench.peer.endpoint;
    thread.set_space(endpoint, bench.allocator.cnode(), 0, bench.vspace)?;
    thread.set_timeout_endpoint(endpoint)
}

/// Raises faults and logs their stamps.
fn fault(peer: &Peer) {
    peer.notification.wait();
    for round in 0.. {
        let stamps = peer.counter.fault();
        peer.shared.log(round, stamps);
    }
}

/// From the end of a budget until the timeout handler runs.
fn timeout(bench: &mut Bench, _: usize) -> Result {
    let budget = SchedParameters::new(Microseconds(200), Microseconds(400));
    let counter = bench.counter();
    let (endpoint, reply) = (bench.peer.endpoint.cptr(), bench.peer.reply.cptr());
    let spinner = bench.start(Place::Same, PRIORITIES[2].1, Time::Callers, spin)?;
    set_handler(bench, spinner)?;
    bench.create_sched_context(&budget)?.bind(spinner)?;
    bench.peer.notification.signal();

    let mut call = abi::Syscall::Recv;
    let mut registers = Registers { reply: reply.0, ..sending(endpoint, MessageInfo(0)) };
    let samples = repeated(|| {
        let stamps = counter.timed(call, &mut registers);
        let mut at_end = spinner.read_registers(false)?;
        let end = counter.interrupted(bench.shared().argument(STAMP), &at_end);
        *at_end.pc() = counter.spin_again();
        let answer = at_end.timeout_reply();
        registers = Registers { reply: reply.0, ..sending(endpoint, answer.info) };
        registers.words = answer.registers;
        call = abi::Syscall::ReplyRecv;
        Ok(counter.between(end, stamps.after))
    })?;
    bench.report("timeout_to_handler", &[], &samples);
    Ok(())
}

/// Argument of the role: location of the stamp of [`spin`].
const STAMP: usize = 0;

/// Runs until its budget is used up.
fn spin(peer: &Peer) {
    peer.notification.wait();
    peer.counter.spin(peer.shared.argument_place(STAMP))
}

//! Several cores in the kernel at the same time: each with a client and a server of its own, or one with the
//! client and another with the server.

use super::{benchmarks, ipc};
use crate::bench::Bench;
use crate::crew::Crew;
use crate::measure::{EMPTY, Log, filled, log_of, samples, sending};
use crate::partner::Peer;
use core::sync::atomic::{AtomicUsize, Ordering};
use userlib::cap::{Endpoint, Reply};
use userlib::{Capability, Message, Result, abi, syscall};

mod lines;

use lines::lines;

benchmarks![
    pairs: PAUSES.len(),
    payload: PAYLOADS.len(),
    latency: 2 * CORES.len(),
    lines: lines::OPERATIONS.len()
];

/// The most calls of a client in a round.
const CALLS: usize = 2000;
/// The longest pauses between two calls, in iterations of an empty loop.
const PAUSES: [usize; 6] = [0, 250, 500, 1000, 2000, 4000];
/// Bytes that a client passes to its server.
const PAYLOADS: [usize; 5] = [0, 500, 1000, 1500, 2000];
/// The core of the peer; the benchmark's first thread is on the first core.
const CORES: [&str; 2] = ["same", "other"];

/// A client and a passive server on each core: calls without words, and pauses of random length.
fn pairs(bench: &mut Bench, variant: usize) -> Result {
    let pause = PAUSES[variant];
    let crew = Crew::gather(bench, CALLS, |bench, core| {
        let endpoint = serve(bench, core, || {})?;
        let mut random = Random(core + 1);
        Ok(move || {
            endpoint.call(Message::empty(0));
            idle(random.below(pause + 1));
        })
    })?;
    crew.measure(|cores, pace| {
        let parameters = [("pause", pause.into()), ("cores", cores.into())];
        bench.report_as("pairs", &parameters, "1/s", &pace.rate);
    });
    Ok(())
}

/// The same without pauses, and with work: the client writes a request into a shared page, the server replies
/// there, word by word, and the client reads the reply.
fn payload(bench: &mut Bench, variant: usize) -> Result {
    let bytes = PAYLOADS[variant];
    let crew = Crew::gather(bench, CALLS, |bench, core| {
        let page = bench.create_shared_page()?.words;
        let payload = &page[..bytes / size_of::<usize>()];
        let endpoint = serve(bench, core, move || each(payload, |word| word + 1))?;
        let mut request = 0_usize;
        Ok(move || {
            request = request.wrapping_add(1);
            each(payload, |_| request);
            endpoint.call(Message::empty(0));
            each(payload, core::hint::black_box);
        })
    })?;
    crew.measure(|cores, pace| {
        let parameters = [("bytes", bytes.into()), ("cores", cores.into())];
        bench.report_as("payload", &parameters, "1/s", &pace.rate);
    });
    Ok(())
}

/// Applies `change` to each word.
fn each(words: &[AtomicUsize], change: impl Fn(usize) -> usize) {
    for word in words {
        word.store(change(word.load(Ordering::Relaxed)), Ordering::Relaxed);
    }
}

/// Starts a passive server on a core, which does `work` for each call.
fn serve(
    bench: &mut Bench,
    core: usize,
    mut work: impl FnMut() + Send + 'static,
) -> Result<Endpoint> {
    /// Enough for both objects, without a cache line shared with another core's objects.
    const MEMORY_BITS: usize = 9;
    let mut own = bench.allocator.split(MEMORY_BITS, 2)?.allocator;
    let (endpoint, reply): (Endpoint, Reply) = (own.create()?, own.create()?);
    let ready = bench.peer.notification;
    let (server, time) = bench.run_on(core, move || {
        let (nothing, answer) = (Message::empty(0), Message::empty(0));
        syscall::nb_send_recv(ready.cptr(), nothing, endpoint.cptr(), reply.cptr());
        loop {
            work();
            endpoint.reply_recv(answer, reply);
        }
    })?;
    // It is ready when it has blocked; from now on it runs on its client's scheduling context.
    ready.wait();
    time.unbind_object(server)?;
    Ok(endpoint)
}

/// Runs an empty loop.
fn idle(turns: usize) {
    for turn in 0..turns {
        core::hint::black_box(turn);
    }
}

/// A pseudo-random sequence (Marsaglia, *Xorshift RNGs*, Journal of Statistical Software 8(14), 2003), the
/// same in each run.
struct Random(usize);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 % end
    }
}

/// From a thread on the first core to another on the same or the next core. The stamps are of both cores.
fn latency(bench: &mut Bench, variant: usize) -> Result {
    let core = variant % CORES.len();
    if core >= bench.cores || core > 0 && !bench.counter().is_common() {
        return Ok(());
    }
    [call, signal][variant / CORES.len()](bench, core)
}

/// Call and ReplyRecv between a client on the first core and an active server.
fn call(bench: &mut Bench, core: usize) -> Result {
    let peer = bench.peer;
    bench.run_on(core, move || ipc::serve(&peer))?;
    let mut client: Log = EMPTY;
    for stamps in &mut client {
        let mut registers = sending(peer.endpoint.cptr(), filled(0));
        *stamps = peer.counter.timed(abi::Syscall::Call, &mut registers);
    }
    let server = log_of(peer.shared);
    report(bench, "call", core, |round| (client[round].before, server[round].after));
    report(bench, "replyrecv", core, |round| (server[round + 1].before, client[round].after));
    Ok(())
}

/// A signal from a thread on the first core, which then waits for a signal back, to a waiting thread.
fn signal(bench: &mut Bench, core: usize) -> Result {
    let peer = bench.peer;
    bench.run_on(core, move || signal_back(&peer))?;
    let mut signaller: Log = EMPTY;
    for stamps in &mut signaller {
        let mut registers = sending(peer.notification.cptr(), filled(0));
        *stamps = peer.counter.timed(abi::Syscall::Send, &mut registers);
        peer.back.wait();
    }
    let waiter = log_of(peer.shared);
    report(bench, "signal", core, |round| (signaller[round].before, waiter[round].after));
    Ok(())
}

/// Waits for signals, logs the stamps, and signals back.
fn signal_back(peer: &Peer) {
    for round in 0.. {
        let mut registers = sending(peer.notification.cptr(), filled(0));
        let stamps = peer.counter.timed(abi::Syscall::Wait, &mut registers);
        peer.shared.log(round, stamps);
        peer.back.signal();
    }
}

/// Reports the difference of two stamps: instructions of all cores if they are counted, else time.
fn report(
    bench: &Bench,
    operation: &str,
    core: usize,
    stamps: impl Fn(usize) -> (usize, usize),
) {
    let parameters = [("core", CORES[core].into())];
    let counter = bench.counter();
    let between = samples(|round| {
        let (from, to) = stamps(round);
        counter.between(from, to)
    });
    let counts = between.map(|count| count.saturating_sub(counter.cost()));
    bench.report(operation, &parameters, &counts);
    let times = between.map(|ticks| (ticks as u64 * 1_000_000 / bench.megahertz as u64) as usize);
    bench.report_as(operation, &parameters, "ps", &times);
}

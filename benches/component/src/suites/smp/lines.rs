//! Which cache lines the kernel accesses while each core performs core-local operations.
//!
//! All cores do the same, each with objects of its own, between two marks. The emulator's plugin records
//! which lines the kernel reads and writes meanwhile on each core. The time does not matter: a line that one
//! core writes and another accesses costs both of them, whenever the accesses meet.

use super::serve;
use crate::bench::Bench;
use crate::locks::spin_loop;
use crate::mark::{LINES, TOUCH, TOUCHED, mark};
use crate::measure::{UNDEFINED_BYTES, filled, sending};
use crate::protocol::PRIORITY;
use core::sync::atomic::{AtomicUsize, Ordering};
use userlib::allocator::ArenaAllocator;
use userlib::arch::Registers;
use userlib::cap::{Endpoint, Notification, Reply, SchedParameters};
use userlib::{Capability, Message, MessageInfo, Microseconds, Result, abi, syscall};

/// An operation that is core-local.
type Operation = fn(&mut Bench, &'static str) -> Result;

/// The operations.
pub const OPERATIONS: [(&str, Operation); 6] = [
    ("call", call),
    ("long call", long_call),
    ("signal", signal),
    ("yield", yield_now),
    ("fault", fault),
    ("end of a budget", budget),
];

/// Turns that are not counted: they create lazily created structures.
const WARM_UP: usize = 4;
/// Measured turns.
const TURNS: usize = 30;

/// How often a core has reached the barrier.
static COME: AtomicUsize = AtomicUsize::new(0);

/// Performs an operation on all cores.
pub fn lines(bench: &mut Bench, variant: usize) -> Result {
    let (name, operation) = OPERATIONS[variant];
    operation(bench, name)
}

/// Runs the operation that `member` returns in a thread on each core, repeatedly.
fn watch<F: FnMut() + Send + 'static>(
    bench: &mut Bench,
    name: &'static str,
    mut member: impl FnMut(&mut Bench, usize) -> Result<F>,
) -> Result {
    let [ended, for_ever]: [Notification; 2] =
        [bench.allocator.create()?, bench.allocator.create()?];
    let cores = bench.cores;
    // All of them wait for the last one, so no thread may preempt this one before it has created all.
    bench.tcb.set_priority(bench.tcb, PRIORITY + 2)?;
    for core in 0..cores {
        let mut turn = member(bench, core)?;
        bench.run_on(core, move || {
            (0..WARM_UP).for_each(|_| turn());
            meet(cores);
            mark::<TOUCH>();
            (0..TURNS).for_each(|_| turn());
            mark::<TOUCHED>();
            // The operations below are not core-local.
            meet(cores);
            ended.signal();
            for_ever.wait();
        })?;
    }
    // One thread's signal suffices, because before it all have reached the barrier at the end.
    ended.wait();
    mark::<LINES>();
    bench.report("lines", &[("operation", name.into())], &[cores]);
    Ok(())
}

/// A barrier for all cores, without system calls.
fn meet(cores: usize) {
    let before = COME.fetch_add(1, Ordering::AcqRel);
    let all = (before / cores + 1) * cores;
    while COME.load(Ordering::Acquire) < all {
        spin_loop();
    }
}

/// Memory without a cache line shared with another core.
fn own(bench: &mut Bench) -> Result<ArenaAllocator> {
    const BITS: usize = 10;
    const SLOTS: usize = 4;
    Ok(bench.allocator.split(BITS, SLOTS)?.allocator)
}

/// Call and ReplyRecv without words, to a passive server.
fn call(bench: &mut Bench, name: &'static str) -> Result {
    watch(bench, name, |bench, core| {
        let endpoint = serve(bench, core, || {})?;
        Ok(move || {
            endpoint.call(Message::empty(0));
        })
    })
}

/// The same with ten words.
fn long_call(bench: &mut Bench, name: &'static str) -> Result {
    const WORDS: usize = 10;
    let counter = bench.counter();
    watch(bench, name, |bench, core| {
        let endpoint = serve(bench, core, || {})?;
        Ok(move || {
            let mut registers = sending(endpoint.cptr(), filled(WORDS));
            counter.timed(abi::Syscall::Call, &mut registers);
        })
    })
}

/// A signal to a waiting thread, and one back.
fn signal(bench: &mut Bench, name: &'static str) -> Result {
    watch(bench, name, |bench, core| {
        let mut own = own(bench)?;
        let (there, back): (Notification, Notification) = (own.create()?, own.create()?);
        bench.run_on(core, move || {
            loop {
                there.wait();
                back.signal();
            }
        })?;
        Ok(move || {
            there.signal();
            back.wait();
        })
    })
}

/// Two threads that yield to each other.
fn yield_now(bench: &mut Bench, name: &'static str) -> Result {
    watch(bench, name, |bench, core| {
        let start: Notification = own(bench)?.create()?;
        bench.run_on(core, move || {
            // Starts and ends with the other thread. Without it, each yield would select this thread again.
            start.wait();
            (0..WARM_UP + TURNS).for_each(|_| syscall::yield_now());
            start.wait();
        })?;
        let mut has_begun = false;
        Ok(move || {
            if !core::mem::replace(&mut has_begun, true) {
                start.signal();
            }
            syscall::yield_now();
        })
    })
}

/// A fault and the handler's reply.
fn fault(bench: &mut Bench, name: &'static str) -> Result {
    let counter = bench.counter();
    watch(bench, name, |bench, core| {
        let mut own = own(bench)?;
        let (endpoint, reply): (Endpoint, Reply) = (own.create()?, own.create()?);
        let start: Notification = own.create()?;
        let (faulter, _) = bench.run_on(core, move || {
            start.wait();
            loop {
                counter.fault();
            }
        })?;
        faulter.set_space(endpoint, bench.allocator.cnode(), 0, bench.vspace)?;
        start.signal();
        let receiving = move |info| Registers {
            reply: reply.cptr().0,
            ..sending(endpoint.cptr(), info)
        };
        let mut call = abi::Syscall::Recv;
        let mut registers = receiving(MessageInfo(0));
        Ok(move || {
            counter.timed(call, &mut registers);
            let program_counter = registers.words[0] + UNDEFINED_BYTES;
            registers = receiving(MessageInfo::new(0, 0, 1));
            registers.words[0] = program_counter;
            call = abi::Syscall::ReplyRecv;
        })
    })
}

/// A higher-priority thread that runs whenever it has budget, which is half of the time.
fn budget(bench: &mut Bench, name: &'static str) -> Result {
    const TIME: SchedParameters = SchedParameters::new(Microseconds(50), Microseconds(100));
    /// Length of a turn in instructions: longer than a period on all boards.
    const INSTRUCTIONS: usize = 20_000;
    watch(bench, name, |bench, core| {
        let (spinner, context) = bench.run_on(core, || {
            loop {
                core::hint::black_box(0);
            }
        })?;
        bench.sched_control_of(core).configure(context, &TIME)?;
        spinner.set_priority(bench.tcb, PRIORITY + 1)?;
        Ok(|| super::idle(INSTRUCTIONS))
    })
}

//! Which cache lines the kernel touches while each core is busy with what belongs to it alone.
//!
//! All cores do the same, each with objects of its own, between two marks. The emulator's plugin notes which
//! lines the kernel reads and writes meanwhile on each core. How long that takes does not matter: a line that
//! one core writes and another touches costs both, whenever they meet.

use super::serve;
use crate::bench::Bench;
use crate::mark::{LINES, TOUCH, TOUCHED, mark};
use crate::measure::{UNDEFINED_BYTES, filled, sending};
use crate::protocol::PRIORITY;
use crate::sync::spin_loop;
use core::sync::atomic::{AtomicUsize, Ordering};
use userlib::allocator::Allocator;
use userlib::arch::Registers;
use userlib::cap::{Endpoint, Notification, Reply, SchedParameters};
use userlib::{Capability, Message, MessageInfo, Microseconds, Result, abi, syscall};

/// What a core can do without others.
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

/// Turns in which lazily built things are built.
const WARM_UP: usize = 4;
/// Turns that count.
const TURNS: usize = 30;

/// How often a core has come to where all meet.
static COME: AtomicUsize = AtomicUsize::new(0);

/// Lets all cores do the same.
pub fn lines(bench: &mut Bench, variant: usize) -> Result {
    let (name, operation) = OPERATIONS[variant];
    operation(bench, name)
}

/// Lets a thread of each core do what `member` says, in turns.
fn watch<F: FnMut() + Send + 'static>(
    bench: &mut Bench,
    name: &'static str,
    mut member: impl FnMut(&mut Bench, usize) -> Result<F>,
) -> Result {
    let [ended, for_ever]: [Notification; 2] =
        [bench.allocator.create()?, bench.allocator.create()?];
    let cores = bench.cores;
    // All of them wait for the last, and nothing must keep this thread from making it.
    bench.tcb.set_priority(bench.tcb, PRIORITY + 2)?;
    for core in 0..cores {
        let mut turn = member(bench, core)?;
        bench.run_on(core, move || {
            (0..WARM_UP).for_each(|_| turn());
            meet(cores);
            mark::<TOUCH>();
            (0..TURNS).for_each(|_| turn());
            mark::<TOUCHED>();
            // What follows concerns all cores.
            meet(cores);
            ended.signal();
            for_ever.wait();
        })?;
    }
    // If one is through, all have come to the end.
    ended.wait();
    mark::<LINES>();
    bench.report("lines", &[("operation", name.into())], &[cores]);
    Ok(())
}

/// Waits, without the kernel, until all cores have come.
fn meet(cores: usize) {
    let before = COME.fetch_add(1, Ordering::AcqRel);
    let all = (before / cores + 1) * cores;
    while COME.load(Ordering::Acquire) < all {
        spin_loop();
    }
}

/// Memory of which no cache line is another core's.
fn own(bench: &mut Bench) -> Result<Allocator<1>> {
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

/// A signal to a thread that waits, and one back.
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

/// Two threads that make way for each other.
fn yield_now(bench: &mut Bench, name: &'static str) -> Result {
    watch(bench, name, |bench, core| {
        let start: Notification = own(bench)?.create()?;
        bench.run_on(core, move || {
            // Before and afterwards it would make way for nobody, at length.
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

/// A fault and the answer of its handler.
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

/// A more urgent thread that runs whenever it has time, which is half of the time.
fn budget(bench: &mut Bench, name: &'static str) -> Result {
    const TIME: SchedParameters = SchedParameters::new(Microseconds(50), Microseconds(100));
    /// A turn: some instructions more than a period has on any board.
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

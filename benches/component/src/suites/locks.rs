//! Locks in a user program: cores enter an empty critical section by turns.

use super::benchmarks;
use crate::bench::{Bench, MAX_CORES};
use crate::crew::Crew;
use crate::locks::{Clh, CoreToken, Guarded, Lock, Mcs, Ticket};
use crate::measure::repeated;
use userlib::Result;

benchmarks![transaction: 3, contention: 3];

/// Number of transactions.
const TURNS: usize = 10_000;

/// A lock and its (empty) data, in cache lines of their own.
#[repr(align(64))]
struct Place<L>(Guarded<(), L>);

static TICKET: Place<Ticket> = Place(Guarded::new(Ticket::new(), ()));
static MCS: Place<Mcs<MAX_CORES>> = Place(Guarded::new(Mcs::new(), ()));
static CLH: Place<Clh<MAX_CORES>> = Place(Guarded::new(Clh::new(), ()));

/// The cost of a transaction without contention.
fn transaction(bench: &mut Bench, variant: usize) -> Result {
    match variant {
        0 => alone(bench, "ticket", &TICKET),
        1 => alone(bench, "MCS", &MCS),
        _ => alone(bench, "CLH", &CLH),
    }
}

/// The time of a transaction when one core, two or more acquire the lock continuously.
fn contention(bench: &mut Bench, variant: usize) -> Result {
    match variant {
        0 => together(bench, "ticket", &TICKET),
        1 => together(bench, "MCS", &MCS),
        _ => together(bench, "CLH", &CLH),
    }
}

/// Acquires and releases the lock.
fn transact(lock: &Place<impl Lock>, core: usize) {
    // SAFETY: each core has only one thread that creates a token.
    let mut token = unsafe { CoreToken::new(core) };
    lock.0.with(&mut token, |()| ());
}

fn alone(bench: &mut Bench, name: &'static str, lock: &'static Place<impl Lock>) -> Result {
    let counter = bench.counter();
    let samples = repeated(|| {
        let from = counter.now();
        for _ in 0..TURNS {
            transact(lock, 0);
        }
        Ok(counter.between(from, counter.now()) / TURNS)
    })?;
    bench.report("transaction", &[("lock", name.into())], &samples);
    Ok(())
}

fn together(bench: &mut Bench, name: &'static str, lock: &'static Place<impl Lock>) -> Result {
    let crew = Crew::gather(bench, TURNS, |_, core| Ok(move || transact(lock, core)))?;
    crew.measure(|cores, pace| {
        let parameters = [("lock", name.into()), ("cores", cores.into())];
        bench.report_as("latency", &parameters, "ps", &pace.time);
        bench.report_as("throughput", &parameters, "1/s", &pace.rate);
    });
    Ok(())
}

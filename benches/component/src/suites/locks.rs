//! The kernel's locks, used by programs: cores in turn have an empty critical section.

use super::benchmarks;
use crate::bench::{Bench, MOST_CORES};
use crate::crew::Crew;
use crate::measure::repeated;
use crate::sync::{Clh, CoreToken, Guarded, Lock, Mcs, Ticket};
use userlib::Result;

benchmarks![transaction: 3, contention: 3];

/// Transactions in a row.
const TURNS: usize = 10_000;

/// A lock, and the nothing behind it, in cache lines of its own.
#[repr(align(64))]
struct Place<L>(Guarded<(), L>);

static TICKET: Place<Ticket<MOST_CORES>> = Place(Guarded::new(Ticket::new(), ()));
static MCS: Place<Mcs<MOST_CORES>> = Place(Guarded::new(Mcs::new(), ()));
static CLH: Place<Clh<MOST_CORES>> = Place(Guarded::new(Clh::new(), ()));

/// What a transaction costs when nobody else wants the lock.
fn transaction(bench: &mut Bench, variant: usize) -> Result {
    match variant {
        0 => alone(bench, "ticket", &TICKET),
        1 => alone(bench, "MCS", &MCS),
        _ => alone(bench, "CLH", &CLH),
    }
}

/// How long it takes when one core, two or more want the lock all the time.
fn contention(bench: &mut Bench, variant: usize) -> Result {
    match variant {
        0 => together(bench, "ticket", &TICKET),
        1 => together(bench, "MCS", &MCS),
        _ => together(bench, "CLH", &CLH),
    }
}

/// Gets the lock and lets go of it.
fn transact(lock: &Place<impl Lock>, core: usize) {
    // SAFETY: each core has one thread that does this.
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
